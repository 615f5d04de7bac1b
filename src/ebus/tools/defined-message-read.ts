/**
 * Defined message read: the values of a message by its definition, from what was heard where that is fresh enough,
 * else from the device. Shared by every tool that reads by definition.
 */
import { toAccountKey } from '../../bus/caller.ts'
import type { Call } from '../../bus/call.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { LastMessageData } from '../definitions/message-chain.ts'
import { decodeMessage } from '../definitions/message-decoder.ts'
import { formatDefinitionErrorCode } from '../definitions/definition-error.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import { createUndecodableMessageFault } from './definition-lookup.ts'
import { createEbusArgumentFault, createEbusNotFoundFault, createBusReadFault } from './faults.ts'
import { toMessageUnitsJson, toMessageValuesJson } from './message-definition-view.ts'

export interface DefinedReadOptions {
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

export interface DefinedMessageValues {
  readonly values: JsonObject
  readonly units: JsonObject
  readonly atMs: number
  readonly fromCache: boolean
}

export async function readDefinedMessage(
  heating: HeatingBusClient,
  message: MessageDefinition,
  options: DefinedReadOptions,
): Promise<Result<DefinedMessageValues, Fault>> {
  const { nowMs, maxAgeMs, field, input } = options
  const known = input === undefined ? heating.installation.definitions?.last(message) : undefined
  const isFresh = known !== undefined && nowMs - known.atMs <= maxAgeMs
  const data = isFresh ? ok(known) : await readFromDevice(heating, message, options)
  if (!data.ok) return data
  const decoded = decodeMessage(message, data.value)
  if (!decoded.ok) return fail(createUndecodableMessageFault(message, formatDefinitionErrorCode(decoded.fault)))
  const fields = decoded.value.fields.filter(({ key }) => field === undefined || key === field)
  if (fields.length === 0 && field !== undefined)
    return fail(
      createEbusArgumentFault('field', `the message has ${decoded.value.fields.map(({ key }) => key).join(', ')}`),
    )
  const shown = { ...decoded.value, fields }
  return ok({
    values: toMessageValuesJson(message, shown),
    units: toMessageUnitsJson(shown),
    atMs: data.value.atMs,
    fromCache: isFresh,
  })
}

/** A message that is only heard cannot be asked for. */
async function readFromDevice(
  heating: HeatingBusClient,
  message: MessageDefinition,
  { input, maxAgeMs, deadlineMs, call }: DefinedReadOptions,
): Promise<Result<LastMessageData, Fault>> {
  if (message.isPassive)
    return fail(
      createEbusNotFoundFault(
        `${message.circuit} ${message.name} is only heard, and was not within ${Math.round(maxAgeMs / 1_000)} s.`,
      ),
    )
  const read = await heating.messages.read(message, input ?? '', {
    deadlineMs,
    caller: toAccountKey(call.caller),
    signal: call.signal,
    repeatable: true,
  })
  if (read.ok) return read
  if (typeof read.fault === 'string')
    return fail(createEbusArgumentFault('input', formatDefinitionErrorCode(read.fault)))
  return fail(createBusReadFault(read.fault, message.zz ?? 0))
}
