/**
 * Field: one value of a message, and how it is read from and written to the bytes of a telegram.
 */
import type { FieldDataType, NumberType } from './field-data-type.ts'
import { REMAINDER_LENGTH } from './field-data-type.ts'
import { decodeCalendarValue, encodeCalendarValue } from './calendar-codec.ts'
import type { DefinitionErrorCode } from './definition-error.ts'
import {
  UNKNOWN_VALUE_TEXT,
  checkNumberRange,
  isReplacementValue,
  parseRawNumber,
  parseTemParameter,
  formatRawNumber,
  formatTemParameter,
  readRawNumber,
  writeRawNumber,
} from './number-codec.ts'
import { scanDecimal } from './scan-number.ts'
import { decodeFieldText, encodeFieldText } from './text-codec.ts'

/** `m`: in the initiator's part of a telegram; `s`: in the answer. Templates have none. */
export type FieldPart = 'm' | 's'

export type FieldAttributes = Readonly<Record<string, string>>

export interface DefinedField {
  readonly name: string
  readonly part: FieldPart | undefined
  readonly type: FieldDataType
  /** The length in bytes; `REMAINDER_LENGTH` for the rest of the data. */
  readonly length: number
  readonly values: ReadonlyMap<number, string> | undefined
  readonly constant: { readonly text: string; readonly isVerified: boolean } | undefined
  /** Unit, comment and other columns. */
  readonly attributes: FieldAttributes
}

/** The value of a field. `text` is empty for a constant, whose value is known anyway. */
export interface FieldValueReading {
  readonly text: string
  readonly value: number | string | null
  /** The digits of a number as ebusd prints them. */
  readonly printed: string
  /** The raw number of a value that is shown by its name. */
  readonly raw: number | undefined
}

export function isIgnoredField(field: DefinedField): boolean {
  return field.type.kind === 'text' && field.type.isIgnored
}

export function isRemainderField(field: DefinedField): boolean {
  return field.length === REMAINDER_LENGTH && field.type.kind === 'text'
}

/** The caller has checked that the bytes are there. */
export function readField(
  field: DefinedField,
  data: Uint8Array,
  offset: number,
): FieldValueReading | DefinitionErrorCode {
  const { type, constant } = field
  if (constant !== undefined) return readConstant(field, data, offset)
  switch (type.kind) {
    case 'number':
      return readNumber(field, type, data, offset)
    case 'calendar': {
      const text = decodeCalendarValue(type, data, offset)
      return text === undefined ? 'out-of-range' : textReading(text)
    }
    case 'text': {
      const end = isRemainderField(field) ? data.length : offset + field.length
      return textReading(decodeFieldText(type, data.subarray(offset, end)))
    }
  }
}

function textReading(text: string): FieldValueReading {
  return { text, value: text, printed: text, raw: undefined }
}

const NULL_READING: FieldValueReading = {
  text: UNKNOWN_VALUE_TEXT,
  value: null,
  printed: UNKNOWN_VALUE_TEXT,
  raw: undefined,
}

function readNumber(
  field: DefinedField,
  type: NumberType,
  data: Uint8Array,
  offset: number,
): FieldValueReading | DefinitionErrorCode {
  const raw = readRawNumber(type, data, { offset, length: field.length })
  if (raw === 'out-of-range') return raw
  if (field.values !== undefined) {
    const name = field.values.get(raw)
    if (name !== undefined) return { text: name, value: name, printed: name, raw }
    // A number without a name is shown unchanged, whatever the limits of its type.
    return raw === type.replacement ? NULL_READING : numberReading(String(raw))
  }
  if (isReplacementValue(type, raw)) return NULL_READING
  if (type.isTemParameter) return textReading(formatTemParameter(raw, field.part === 'm'))
  const range = checkNumberRange(type, raw)
  // A float that is not a number has no value; it must not make the other fields unreadable.
  if (range === 'empty') return NULL_READING
  if (range !== undefined) return range
  const printed = formatRawNumber(type, raw)
  return type.isPadded && type.divisor === 1 ? textReading(printed) : numberReading(printed)
}

function numberReading(printed: string): FieldValueReading {
  return { text: printed, value: Number(printed), printed, raw: undefined }
}

function readConstant(field: DefinedField, data: Uint8Array, offset: number): FieldValueReading | DefinitionErrorCode {
  const reading = readField({ ...field, constant: undefined }, data, offset)
  if (typeof reading === 'string') return reading
  const { constant } = field
  if (constant?.isVerified === true && reading.printed.trim() !== constant.text) return 'out-of-range'
  return { ...reading, text: '' }
}

/** The raw pattern of a number field, for conditions; `undefined` for a field without one. */
export function readRawFieldNumber(field: DefinedField, data: Uint8Array, offset: number): number | undefined {
  if (field.type.kind !== 'number') return undefined
  const raw = readRawNumber(field.type, data, { offset, length: field.length })
  return raw === 'out-of-range' ? undefined : raw
}

/** Writes a text into `data`; returns how many bytes the field takes. */
export function writeField(
  field: DefinedField,
  text: string,
  { data, offset }: { readonly data: number[]; readonly offset: number },
): number | DefinitionErrorCode {
  const { type, length } = field
  if (type.kind === 'number') {
    const raw = field.constant === undefined ? rawOf(field, type, text) : rawOf(field, type, field.constant.text)
    if (typeof raw === 'string') return raw
    return writeRawNumber(type, raw, { data, offset, length }) ?? length
  }
  const shown = field.constant?.text ?? text
  const bytes = type.kind === 'calendar' ? encodeCalendarValue(type, shown) : encodeFieldText(type, shown, length)
  if (typeof bytes === 'string') return bytes
  for (const [index, byte] of bytes.entries()) data[offset + index] = byte
  return bytes.length
}

function rawOf(field: DefinedField, type: NumberType, text: string): number | DefinitionErrorCode {
  if (field.values !== undefined) return listedRaw(field.values, type, text)
  return type.isTemParameter ? parseTemParameter(type, text, field.part === 'm') : parseRawNumber(type, text)
}

/** Finds a value by its name, else by a number that is listed. */
function listedRaw(values: ReadonlyMap<number, string>, type: NumberType, text: string): number | DefinitionErrorCode {
  if (text === UNKNOWN_VALUE_TEXT) return type.replacement
  let found: number | undefined
  for (const [key, name] of values) if (name === text && (found === undefined || key < found)) found = key
  if (found !== undefined) return found
  const { value, end } = scanDecimal(text)
  if (end === 0 || (end < text.length && text[end] !== '.')) return 'invalid-number'
  return values.has(value) ? value : 'not-found'
}
