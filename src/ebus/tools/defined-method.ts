/**
 * Defined method: a message of a definition file, called by plane and method of its device. Reads and writes are those
 * of the message tools; the answer has the shape of every other method.
 */
import type { Call } from '../../bus/call.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { listFieldKeys } from '../definitions/message-decoder.ts'
import { isIgnoredField } from '../definitions/field.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { HeatingBusClient } from '../heating-bus-client.ts'
import type { DefinedMethod, DefinedPlane } from '../methods/defined-plane.ts'
import { createDefinedPlanes } from '../methods/defined-plane.ts'
import type { MethodAnswerValues } from '../methods/device-method.ts'
import { STATE_VALUE_MAX_AGE_MS, createMethodAnswerValue } from '../methods/device-method.ts'
import { readDefinedMessage } from './defined-message-read.ts'
import type { PlannedMessageWrite, ScalarValue } from './defined-message-write.ts'
import { planMessageWrite, writeDefinedMessage } from './defined-message-write.ts'
import { createEbusArgumentFault } from './faults.ts'

/** What a call of a defined method comes to on this bus, now. */
export type DefinedMethodCall =
  | {
      readonly kind: 'defined-read'
      readonly heating: HeatingBusClient
      readonly method: DefinedMethod
      readonly input: string
    }
  | { readonly kind: 'defined-write'; readonly heating: HeatingBusClient; readonly write: PlannedMessageWrite }

/** Taken by every method of the contract, and nothing that a message asks for. */
const COMMON = new Set(['source', 'cache_class', 'refresh_class'])

export function findDefinedPlane(
  heating: HeatingBusClient,
  addresses: readonly number[],
  name: string,
): DefinedPlane | undefined {
  return createDefinedPlanes(heating.installation.definitions, addresses).find((plane) => plane.name === name)
}

export function planDefinedMethodCall(
  heating: HeatingBusClient,
  method: DefinedMethod,
  params: JsonObject,
): Result<DefinedMethodCall, Fault> {
  const { definitions } = heating.installation
  if (definitions === undefined) throw new Error('a defined method without definitions')
  const given = scalars(method.message, params)
  if (!given.ok) return given
  if (method.readOnly)
    return ok({ kind: 'defined-read', heating, method, input: questionText(method.message, given.value) })
  if (Object.keys(given.value).length === 0 && settableKeys(method.message).length > 0)
    return fail(createEbusArgumentFault('params', `needs ${settableKeys(method.message).join(', ')}`))
  const write = planMessageWrite({ heating, definitions }, method.message, { value: given.value })
  return write.ok ? ok({ kind: 'defined-write', heating, write: write.value }) : write
}

/** In the order of the message’s fields; `value` stands for the only one. */
function scalars(message: MessageDefinition, params: JsonObject): Result<Readonly<Record<string, ScalarValue>>, Fault> {
  const keys = settableKeys(message)
  const [only] = keys
  const entries = Object.entries(params)
    .filter(([key]) => !COMMON.has(key))
    .map(([key, value]) => [key === 'value' && only !== undefined && keys.length === 1 ? only : key, value] as const)
  for (const [key, value] of entries) {
    if (!keys.includes(key))
      return fail(
        createEbusArgumentFault(`params.${key}`, `is not taken; ${keys.length === 0 ? 'nothing is' : keys.join(', ')}`),
      )
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      return fail(createEbusArgumentFault(`params.${key}`, 'is a number, a text or a boolean'))
  }
  const ordered = keys.flatMap((key) => entries.filter((entry) => entry[0] === key))
  return ok(Object.fromEntries(ordered) as Readonly<Record<string, ScalarValue>>)
}

/** Fields that are always the same stand in the text as well. */
function questionText({ fields }: MessageDefinition, given: Readonly<Record<string, ScalarValue>>): string {
  const keys = listFieldKeys(fields)
  return fields
    .flatMap((field, index) =>
      field.part === 'm' && !isIgnoredField(field)
        ? [field.constant?.text ?? String(given[keys[index] ?? ''] ?? '')]
        : [],
    )
    .join(';')
}

function settableKeys({ fields }: MessageDefinition): readonly string[] {
  const keys = listFieldKeys(fields)
  return fields.flatMap((field, index) =>
    field.part === 'm' && !isIgnoredField(field) && field.constant === undefined ? [keys[index] ?? ''] : [],
  )
}

export interface DefinedMethodAnswer {
  readonly values: MethodAnswerValues
  readonly atMs: number
  readonly fromCache: boolean
}

export async function readDefinedMethod(
  { heating, method, input }: Extract<DefinedMethodCall, { kind: 'defined-read' }>,
  how: {
    readonly maxAgeMs: number | undefined
    readonly deadlineMs: number
    readonly nowMs: number
    readonly call: Call
  },
): Promise<Result<DefinedMethodAnswer, Fault>> {
  const read = await readDefinedMessage(heating, method.message, {
    ...how,
    maxAgeMs: how.maxAgeMs ?? STATE_VALUE_MAX_AGE_MS,
    ...(input === '' ? {} : { input }),
  })
  return read.ok ? ok({ ...read.value, values: namedValues(read.value.values) }) : read
}

export async function writeDefinedMethod(
  write: PlannedMessageWrite,
  call: Call,
): Promise<Result<MethodAnswerValues, Fault>> {
  const outcome = await writeDefinedMessage(write, call)
  if (!outcome.ok) return outcome
  const { before, written, readBack, confirmed } = outcome.value
  return ok({
    ...namedValues(written ?? {}),
    before: createMethodAnswerValue(before),
    read_back: createMethodAnswerValue(readBack),
    confirmed: createMethodAnswerValue(confirmed),
  })
}

function namedValues(values: JsonObject): MethodAnswerValues {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, createMethodAnswerValue(value ?? undefined)]),
  )
}
