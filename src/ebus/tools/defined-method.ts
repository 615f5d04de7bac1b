/**
 * Defined method: a message of a definition file, called by plane and method of its device. Reads and writes are those
 * of the message tools; the answer has the shape of every other method.
 *
 * Pure, given its house.
 */
import type { Call } from '../../bus/call.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { fieldKeys } from '../definitions/decode.ts'
import { isIgnoredField } from '../definitions/field.ts'
import type { MessageDefinition } from '../definitions/message-definition.ts'
import type { HeatingBus } from '../heating-bus-client.ts'
import type { DefinedMethod, DefinedPlane } from '../registry/defined-plane.ts'
import { definedPlanes } from '../registry/defined-plane.ts'
import type { NamedValues } from '../registry/method.ts'
import { STATE_MAX_AGE_MS, validValue } from '../registry/method.ts'
import { readDefinedValues } from './defined-read.ts'
import type { PlannedWrite, ScalarValue } from './defined-write.ts'
import { planDefinedWrite, writeDefined } from './defined-write.ts'
import { ebusArgumentFault } from './faults.ts'

/** What a call of a defined method comes to on this bus, now. */
export type DefinedCall =
  | {
      readonly kind: 'defined-read'
      readonly heating: HeatingBus
      readonly method: DefinedMethod
      readonly input: string
    }
  | { readonly kind: 'defined-write'; readonly heating: HeatingBus; readonly write: PlannedWrite }

/** Taken by every method of the contract, and nothing that a message asks for. */
const COMMON = new Set(['source', 'cache_class', 'refresh_class'])

export function findDefinedPlane(
  heating: HeatingBus,
  addresses: readonly number[],
  name: string,
): DefinedPlane | undefined {
  return definedPlanes(heating.installation.definitions, addresses).find((plane) => plane.name === name)
}

export function planDefinedCall(
  heating: HeatingBus,
  method: DefinedMethod,
  params: JsonObject,
): Result<DefinedCall, Fault> {
  const { definitions } = heating.installation
  if (definitions === undefined) throw new Error('a defined method without definitions')
  const given = scalars(method.message, params)
  if (!given.ok) return given
  if (method.readOnly)
    return ok({ kind: 'defined-read', heating, method, input: questionText(method.message, given.value) })
  if (Object.keys(given.value).length === 0 && settableKeys(method.message).length > 0)
    return fail(ebusArgumentFault('params', `needs ${settableKeys(method.message).join(', ')}`))
  const write = planDefinedWrite({ heating, definitions }, method.message, { value: given.value })
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
        ebusArgumentFault(`params.${key}`, `is not taken; ${keys.length === 0 ? 'nothing is' : keys.join(', ')}`),
      )
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      return fail(ebusArgumentFault(`params.${key}`, 'is a number, a text or a boolean'))
  }
  const ordered = keys.flatMap((key) => entries.filter((entry) => entry[0] === key))
  return ok(Object.fromEntries(ordered) as Readonly<Record<string, ScalarValue>>)
}

/** Fields that are always the same stand in the text as well. */
function questionText({ fields }: MessageDefinition, given: Readonly<Record<string, ScalarValue>>): string {
  const keys = fieldKeys(fields)
  return fields
    .flatMap((field, index) =>
      field.part === 'm' && !isIgnoredField(field)
        ? [field.constant?.text ?? String(given[keys[index] ?? ''] ?? '')]
        : [],
    )
    .join(';')
}

function settableKeys({ fields }: MessageDefinition): readonly string[] {
  const keys = fieldKeys(fields)
  return fields.flatMap((field, index) =>
    field.part === 'm' && !isIgnoredField(field) && field.constant === undefined ? [keys[index] ?? ''] : [],
  )
}

export interface DefinedAnswer {
  readonly values: NamedValues
  readonly atMs: number
  readonly fromCache: boolean
}

export async function readDefinedMethod(
  { heating, method, input }: Extract<DefinedCall, { kind: 'defined-read' }>,
  how: {
    readonly maxAgeMs: number | undefined
    readonly deadlineMs: number
    readonly nowMs: number
    readonly call: Call
  },
): Promise<Result<DefinedAnswer, Fault>> {
  const read = await readDefinedValues(heating, method.message, {
    ...how,
    maxAgeMs: how.maxAgeMs ?? STATE_MAX_AGE_MS,
    ...(input === '' ? {} : { input }),
  })
  return read.ok ? ok({ ...read.value, values: namedValues(read.value.values) }) : read
}

export async function writeDefinedMethod(write: PlannedWrite, call: Call): Promise<Result<NamedValues, Fault>> {
  const outcome = await writeDefined(write, call)
  if (!outcome.ok) return outcome
  const { before, written, readBack, confirmed } = outcome.value
  const named = (value: Json | undefined): NamedValues[string] => ({ value: value ?? null, valid: value !== undefined })
  return ok({
    ...namedValues(written ?? {}),
    before: named(before),
    read_back: named(readBack),
    confirmed: named(confirmed),
  })
}

function namedValues(values: JsonObject): NamedValues {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      value === null ? { value: null, valid: false } : validValue(value),
    ]),
  )
}
