/**
 * HomeSeer section. Each key has its `HS4_*` or `MCP_*` variable from spec 4, which overrides it.
 *
 * Pure.
 */
import { z } from 'zod'

export const homeseerSection = z
  .strictObject({
    url: z
      .url()
      .optional()
      .describe('Address of HomeSeer’s web server, e.g. http://192.168.1.5; absent switches the family off.'),
  })
  .prefault({})

export type HomeseerConfig = z.output<typeof homeseerSection>
