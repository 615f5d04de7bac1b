/**
 * eBUS section: which buses there are and how they are reached.
 *
 * Pure.
 */
import { z } from 'zod'

const bus = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'lower-case letters, digits and dashes')
    .default('main')
    .describe('What this bus is called where there are several.'),
  adapter: z
    .string()
    .regex(
      /^(enh|ens|tcp|udp|serial|ebusd):.+/,
      'enh:host:port, ens:/dev/tty…, tcp:host:port, udp:host:port, serial:/dev/tty… or ebusd:host:port',
    )
    .describe(
      'The adapter: enhanced protocol over TCP (`enh:host:port`) or serial (`ens:/dev/…`), plain `tcp:`, `udp:`, `serial:`, or a running `ebusd:host:port`.',
    ),
  source: z
    .union([z.literal('auto'), z.int().min(0).max(255)])
    .default('auto')
    .describe('Our address on the bus; `auto` listens first and takes a free one.'),
  readOnly: z.boolean().default(false).describe('Listen only: never send on this bus.'),
  sharedPort: z
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('Offer the adapter to other programs (ebusd) on this loopback port.'),
  warmUpTransactions: z.int().min(1).default(20).describe('Telegrams heard before passive data counts as available.'),
})

export const ebusSection = z
  .strictObject({
    buses: z.array(bus).default([]).describe('The buses; none switches the family off.'),
    snapshotSeconds: z.int().min(10).default(300).describe('How long a captured snapshot is kept.'),
    pollSeconds: z.int().min(5).default(60).describe('How often values that nobody broadcasts are read.'),
  })
  .prefault({})

export type EbusConfig = z.output<typeof ebusSection>
