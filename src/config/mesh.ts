/**
 * Mesh section: other Hearthbus nodes.
 *
 * Pure.
 */
import { z } from 'zod'

export const meshSection = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Offer capabilities to, and use those of, other nodes.'),
    host: z.string().default('0.0.0.0').describe('Address of the mesh listener.'),
    port: z.int().min(0).max(65_535).default(7080).describe('Port of the mesh listener.'),
  })
  .prefault({})

export type MeshConfig = z.output<typeof meshSection>
