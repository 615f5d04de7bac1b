/**
 * Message decoder: decodes a telegram by its definition. A field that cannot be decoded fails the whole message, as in
 * ebusd.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { DefinitionErrorCode } from './definition-error.ts'
import type { DefinedField, FieldPart, FieldValueReading } from './field.ts'
import { isIgnoredField, isRemainderField, readField, readRawFieldNumber } from './field.ts'
import { FieldCursor } from './field-layout.ts'
import type { MessageDefinition } from './message-definition.ts'

export interface DecodedMessageField {
  /** The name of the field, or its number where names are missing or not unique. */
  readonly key: string
  readonly field: DefinedField
  readonly reading: FieldValueReading
}

export interface DecodedMessage {
  readonly fields: readonly DecodedMessageField[]
  /** No field has a value. */
  readonly isEmpty: boolean
}

/** The data of both parts, without header. The command begins with the id. */
export interface TelegramData {
  readonly command: Uint8Array
  readonly response: Uint8Array
}

interface PlacedField {
  readonly key: string
  readonly field: DefinedField
  readonly part: FieldPart
  readonly offset: number
  readonly isIgnored: boolean
  /** How many bytes the part must have for this field. */
  readonly needed: number
}

/** Cached: fields of the command first, then of the response. */
const layouts = new WeakMap<MessageDefinition, readonly PlacedField[]>()

function layoutOf(message: MessageDefinition): readonly PlacedField[] {
  let layout = layouts.get(message)
  if (layout === undefined) layouts.set(message, (layout = placeFields(message)))
  return layout
}

function placeFields(message: MessageDefinition): PlacedField[] {
  const keys = listFieldKeys(message.fields)
  // The data of a chain begins behind the whole id of its parts.
  const idLength = message.chain[0]?.id.length ?? message.id.length
  const placed: PlacedField[] = []
  for (const part of ['m', 's'] as const) {
    const cursor = new FieldCursor(part === 'm' ? idLength : 0)
    for (const [index, field] of message.fields.entries()) {
      if (field.part !== part) continue
      const offset = cursor.begin(field)
      const isRest = isRemainderField(field)
      const isIgnored = isIgnoredField(field)
      const needed = offset + (isRest ? 1 : field.length)
      placed.push({ key: keys[index] ?? '', field, part, offset, isIgnored, needed })
      // Nothing is left for a field after one that takes the rest.
      cursor.end(field, isRest ? Number.POSITIVE_INFINITY : field.length)
    }
  }
  return placed
}

/** Names if all are present and unique, otherwise numbers over both parts. Ignored fields have none. */
export function listFieldKeys(fields: readonly DefinedField[]): readonly string[] {
  const shown = fields.filter((field) => !isIgnoredField(field))
  const names = new Set(shown.map(({ name }) => name))
  const isNamed = !names.has('') && names.size === shown.length
  let index = 0
  return fields.map((field) => {
    if (isIgnoredField(field)) return ''
    return isNamed ? field.name : String(index++)
  })
}

export function decodeMessage(
  message: MessageDefinition,
  { command, response }: TelegramData,
): Result<DecodedMessage, DefinitionErrorCode> {
  const fields: DecodedMessageField[] = []
  for (const { key, field, part, offset, isIgnored, needed } of layoutOf(message)) {
    const data = part === 'm' ? command : response
    if (needed > data.length) return fail('invalid-position')
    if (isIgnored) continue
    const reading = readField(field, data, offset)
    if (typeof reading === 'string') return fail(reading)
    fields.push({ key, field, reading })
  }
  return ok({ fields, isEmpty: fields.length === 0 && message.fields.length !== 1 })
}

/** Decodes one field alone, even if another one cannot be decoded; `undefined` when there is none with that name. */
export function decodeField(
  message: MessageDefinition,
  name: string,
  { command, response }: TelegramData,
): Result<FieldValueReading, DefinitionErrorCode> | undefined {
  const placed = layoutOf(message).find(({ key, isIgnored }) => !isIgnored && key === name)
  if (placed === undefined) return undefined
  const data = placed.part === 'm' ? command : response
  if (placed.needed > data.length) return fail('invalid-position')
  const reading = readField(placed.field, data, placed.offset)
  return typeof reading === 'string' ? fail(reading) : ok(reading)
}

/** The raw number of a field, or of the first one with a number; for conditions. */
export function decodeRawFieldNumber(message: MessageDefinition, name: string, data: TelegramData): number | undefined {
  for (const { field, part, offset, isIgnored, needed } of layoutOf(message)) {
    if (isIgnored || (name !== '' && field.name !== name) || field.type.kind !== 'number') continue
    const bytes = part === 'm' ? data.command : data.response
    return needed > bytes.length ? undefined : readRawFieldNumber(field, bytes, offset)
  }
  return undefined
}

/** Values joined by `;`, as ebusd's `read` prints them. */
export function formatDecodedMessage({ fields }: DecodedMessage): string {
  return joinTexts(fields, ({ text }) => text)
}

/** Like `formatDecodedMessage`, with numbers instead of the names of values. */
export function formatDecodedMessageNumerically({ fields }: DecodedMessage): string {
  return joinTexts(fields, ({ text, raw }) => (raw === undefined ? text : String(raw)))
}

function joinTexts(fields: readonly DecodedMessageField[], show: (reading: FieldValueReading) => string): string {
  let text = ''
  let previous: FieldPart | undefined
  let isFollowing = false
  for (const { field, reading } of fields) {
    // There is a separator between the parts only if the first one printed anything.
    if (previous !== undefined && previous !== field.part) isFollowing = text !== ''
    text += isFollowing ? `;${show(reading)}` : show(reading)
    isFollowing = true
    previous = field.part
  }
  return text
}
