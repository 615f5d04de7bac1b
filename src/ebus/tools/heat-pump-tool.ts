/**
 * Heat pump: what a heat pump does and needs, from the messages that the map names for it. What was not heard lately is
 * asked at once, as far as the time of the call allows.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import { accountKey } from '../../bus/caller.ts'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import type { BusDefinitions, LastData } from '../definitions/bus-definitions.ts'
import { decodeMessage } from '../definitions/decode.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { HeatingBus } from '../heating-bus-client.ts'
import type { MappedSource } from '../semantic/heat-pump-messages.ts'
import { HEAT_PUMP_MAP } from '../semantic/heat-pump-messages.ts'
import { busArgument } from './arguments.ts'
import { definitionsOf } from './defined-bus.ts'
import { answered, ebusFamily } from './envelope.ts'
import type { House } from './house.ts'
import { besideLive } from './house.ts'

const MAX_AGE_MS = 120_000
const READ_MS = 2_000
const ALL_MS = 20_000

const value = z.object({
  value: z.union([z.number(), z.string()]).nullable(),
  source: z.string().describe('The message that it came from.'),
  age_seconds: z.int(),
})

const tool = defineTool({
  name: 'ebus.v1.messages.heat_pump.get',
  title: 'Read a heat pump by definition',
  description:
    'Compressor, source and sink temperatures, flow, power, energy, COP, defrosting and backup heater of a heat pump of any maker that the owner’s definition files describe, each value with the message that it came from. Null when there is no heat pump that a definition describes.',
  input: z.strictObject({ bus: busArgument }),
  output: answered(z.record(z.string(), z.record(z.string(), value)).nullable()),
  effect: 'reads',
  family: ebusFamily,
})

export function heatPumpTool(house: House): Capability {
  return tool.handledBy((wish, call) => readHeatPump(house, wish.bus, call))
}

async function readHeatPump(house: House, bus: string | undefined, call: Call): Promise<Outcome> {
  const found = definitionsOf(house, bus)
  if (!found.ok) return found
  const { heating, definitions } = found.value
  const endMs = house.clock.monotonic() + ALL_MS
  const data: Record<string, Record<string, JsonObject>> = {}
  for (const { group, name, sources } of HEAT_PUMP_MAP)
    for (const source of sources) {
      const message = definitions.named(source.circuit, source.message, 'read')
      if (message === undefined) continue
      const mayAsk = house.clock.monotonic() < endMs && !call.signal.aborted
      const last = await freshData({ house, heating, definitions, message, call, mayAsk })
      const read = last === undefined ? undefined : valueOf(message, source, last)
      if (last === undefined || read === undefined) continue
      ;(data[group] ??= {})[name] = {
        value: read,
        source: `${message.circuit}.${message.name}`,
        age_seconds: Math.max(0, Math.round((house.clock.now() - last.atMs) / 1_000)),
      }
      break
    }
  const isThere = Object.keys(data).length > 0
  return ok({ data: { ...besideLive(house, heating, house.clock.now()), data: isThere ? data : null } })
}

interface FreshRead {
  readonly house: House
  readonly heating: HeatingBus
  readonly definitions: BusDefinitions
  readonly message: MessageDefinition
  readonly call: Call
  readonly mayAsk: boolean
}

/** What is old is better than nothing, and says how old it is. */
async function freshData({
  house,
  heating,
  definitions,
  message,
  call,
  mayAsk,
}: FreshRead): Promise<LastData | undefined> {
  const known = definitions.last(message)
  if (known !== undefined && house.clock.now() - known.atMs <= MAX_AGE_MS) return known
  if (!mayAsk || message.isPassive) return known
  const wish = { deadlineMs: READ_MS, caller: accountKey(call.caller), signal: call.signal, repeatable: true }
  const read = await heating.readDefined(message, '', wish)
  return read.ok ? read.value : known
}

/** `undefined` for an answer that does not fit the definition. */
function valueOf(message: MessageDefinition, source: MappedSource, data: LastData): number | string | null | undefined {
  const decoded = decodeMessage(message, data)
  if (!decoded.ok) return undefined
  const { fields } = decoded.value
  const found = source.field === undefined ? fields[0] : fields.find(({ key }) => key === source.field)
  const read = found?.reading.value
  return typeof read === 'number' && source.factor !== undefined ? Number((read * source.factor).toFixed(6)) : read
}
