/**
 * Setting view: what a resident can set, as clients see it, each with the very call that sets it.
 *
 * Pure.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { known } from '../semantic/plane-reader.ts'
import type { Setting } from '../semantic/settings.ts'

/** For the descriptions and refusals of tools: a model reads those, and no document. */
export const HOW_TO_SET =
  'registry.methods.list of the regulator, plane system, lists under set_ext_register what can be set in this house (`settings`), each with its limits and an example call; ebus://<bus>/settings has the same'

export const settingOutput = z.object({
  name: z.string(),
  of: z.string().describe('The zone, the hot water, or the whole system.'),
  meaning: z.string(),
  unit: z.string().exactOptional(),
  minimum: z.number(),
  maximum: z.number(),
  values: z.record(z.string(), z.string()).exactOptional().describe('What the numbers stand for.'),
  now: z.number().exactOptional().describe('Left out until it was read.'),
  read_back: z
    .object({ tool: z.string(), path: z.string() })
    .exactOptional()
    .describe('The tool that shows it, and where in its data; zones by their id.'),
  example: z
    .object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) })
    .describe('The call that sets it: change params.value, and add an idempotency_key, a new one for each change.'),
})

/** `bus` only where there are several. */
export function settingJson(setting: Setting, bus: string | undefined): JsonObject {
  const { address, limits, words, now, register, instance, shown } = setting
  const [minimum, maximum] = limits
  // What it is already: an example that is sent as it stands changes no value, though hours start a quick veto.
  const value = now !== undefined && now >= minimum && now <= maximum ? now : minimum
  return known({
    name: setting.name,
    of: setting.of,
    meaning: setting.meaning,
    unit: setting.unit,
    minimum,
    maximum,
    values: words,
    now,
    read_back: shown === undefined ? undefined : { tool: `ebus.v1.semantic.${shown.plane}.get`, path: shown.path },
    example: {
      tool: 'ebus.v1.rpc.invoke',
      // Without a key: one that is copied would answer the next change with what became of this one.
      arguments: known({
        address,
        plane: 'system',
        method: 'set_ext_register',
        params: { group: register.group, instance, addr: register.number, value },
        intent: 'MUTATE',
        allow_dangerous: true,
        bus,
      }),
    },
  })
}
