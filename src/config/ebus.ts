/**
 * eBUS section: which buses there are and how they are reached.
 */
import { z } from 'zod'

/** Both halves of an initiator's address are one of these. */
const INITIATOR_NIBBLES = new Set([0x0, 0x1, 0x3, 0x7, 0xf])

function mayInitiate(address: number): boolean {
  return INITIATOR_NIBBLES.has(address >> 4) && INITIATOR_NIBBLES.has(address & 0xf)
}

/** ebusd's own notation for devices, so that a line can be copied from one configuration to the other. */
const ADAPTER =
  /^((enh|ens|tcp|udp|ebusd):(\[[0-9a-f:]+\]|[^:/\s]+)(:\d{1,5})?|(enh|ens|serial):(\/\S+|COM\d+)|mdns:([0-9a-f]{12})?(@[0-9a-f.:]+)?)$/i

/** A URL is downloaded once and stored; plain http could be changed in transit. */
const DEFINITIONS = /^(?:\/.*|[a-z]:[\\/].*|https:\/\/[^\s/]+(?:\/\S*)?)$/i

const bus = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'lower-case letters, digits and dashes')
    .default('main')
    .describe('What this bus is called where there are several.'),
  adapter: z
    .string()
    .regex(
      ADAPTER,
      'enh:host[:port], ens:/dev/tty…, tcp:host[:port], udp:host[:port], serial:/dev/tty…, mdns:[id] or ebusd:host[:port]',
    )
    .describe(
      'The adapter: enhanced protocol over TCP (`enh:host:port`) or serial (`ens:/dev/…`), plain `tcp:`, `udp:`, `serial:`, a running `ebusd:host:port`, or `mdns:` for one that announces itself (`mdns:` and its id where there are several). Without a port, 9999, and 8888 for ebusd.',
    ),
  source: z
    .union([
      z.literal('auto'),
      z.int().min(0).max(255).refine(mayInitiate, 'an address that may speak first, such as 0x31'),
    ])
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
  addresses: z
    .array(z.int().min(1).max(253))
    .max(64)
    .optional()
    .describe('Addresses of devices that you know of; they are asked although nobody has heard them.'),
})

export const ebusConfigSchema = z
  .strictObject({
    buses: z
      .array(bus)
      .refine((buses) => new Set(buses.map(({ id }) => id)).size === buses.length, 'every bus needs an id of its own')
      .default([])
      .describe('The buses; none switches the family off.'),
    definitions: z
      .string()
      .regex(DEFINITIONS, 'an absolute path or an https address')
      .optional()
      .describe(
        'ebusd’s message definitions: a folder in its layout, or an https address in the layout that ebusd downloads, which is fetched once. Without it only the built-in registers are known.',
      ),
    snapshotSeconds: z.int().min(10).default(300).describe('How long a captured snapshot is kept.'),
    pollSeconds: z.int().min(1).default(60).describe('How often values that nobody broadcasts are read.'),
    observe: z
      .boolean()
      .default(true)
      .describe('Keep what passes on the buses; without it there are no ebus.v1.bus.* tools.'),
    passiveValues: z
      .enum(['all', 'state', 'off'])
      .default('all')
      .describe('Which values overheard from others count as read: all, only those that are no settings, or none.'),
    warmUpSeconds: z
      .int()
      .min(0)
      .default(30)
      .describe('How long a bus is heard before passive data counts as available.'),
    discovery: z
      .enum(['heard', 'full', 'off'])
      .default('heard')
      .describe(
        'Which addresses are asked for their identity: those that were heard and the usual ones, every address, or none.',
      ),
  })
  .prefault({})

export type EbusConfig = z.output<typeof ebusConfigSchema>
