/**
 * Defined read: the values of a message by its definition, from what was heard where that is fresh enough, else from the
 * device. Shared by every tool that reads by definition.
 *
 * Pure, given its bus.
 */
import { accountKey } from '../../bus/caller.ts'
import type { Call } from '../../bus/call.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { LastData } from '../definitions/bus-definitions.ts'
import { decodeMessage } from '../definitions/decode.ts'
import { errorText } from '../definitions/definition-error.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { HeatingBus } from '../heating-bus-client.ts'
import { undecodableFault } from './defined-bus.ts'
import { ebusArgumentFault, notFoundFault, busReadFault } from './faults.ts'
import { unitsJson, valuesJson } from './message-view.ts'

export interface DefinedReadWish {
  readonly maxAgeMs: number
  readonly deadlineMs: number
  /** Wall clock. */
  readonly nowMs: number
  readonly call: Call
  /** Values of the fields that the question itself takes. */
  readonly input?: string
  /** Only this field. */
  readonly field?: string
}

export interface DefinedValues {
  readonly values: JsonObject
  readonly units: JsonObject
  readonly atMs: number
  readonly fromCache: boolean
}

export async function readDefinedValues(
  heating: HeatingBus,
  message: MessageDefinition,
  wish: DefinedReadWish,
): Promise<Result<DefinedValues, Fault>> {
  const { nowMs, maxAgeMs, field, input } = wish
  const known = input === undefined ? heating.installation.definitions?.last(message) : undefined
  const isFresh = known !== undefined && nowMs - known.atMs <= maxAgeMs
  const data = isFresh ? ok(known) : await askDevice(heating, message, wish)
  if (!data.ok) return data
  const decoded = decodeMessage(message, data.value)
  if (!decoded.ok) return fail(undecodableFault(message, errorText(decoded.fault)))
  const fields = decoded.value.fields.filter(({ key }) => field === undefined || key === field)
  if (fields.length === 0 && field !== undefined)
    return fail(ebusArgumentFault('field', `the message has ${decoded.value.fields.map(({ key }) => key).join(', ')}`))
  const shown = { ...decoded.value, fields }
  return ok({
    values: valuesJson(message, shown),
    units: unitsJson(shown),
    atMs: data.value.atMs,
    fromCache: isFresh,
  })
}

/** A message that is only heard cannot be asked for. */
async function askDevice(
  heating: HeatingBus,
  message: MessageDefinition,
  { input, maxAgeMs, deadlineMs, call }: DefinedReadWish,
): Promise<Result<LastData, Fault>> {
  if (message.isPassive)
    return fail(
      notFoundFault(
        `${message.circuit} ${message.name} is only heard, and was not within ${Math.round(maxAgeMs / 1_000)} s.`,
      ),
    )
  const read = await heating.readDefined(message, input ?? '', {
    deadlineMs,
    caller: accountKey(call.caller),
    signal: call.signal,
    repeatable: true,
  })
  if (read.ok) return read
  if (typeof read.fault === 'string') return fail(ebusArgumentFault('input', errorText(read.fault)))
  return fail(busReadFault(read.fault, message.zz ?? 0))
}
