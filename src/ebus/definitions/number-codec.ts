/**
 * Number codec: from bytes to a raw pattern, from the pattern to digits, and back.
 *
 *   bytes ⇄ raw (unsigned, as it stands on the bus) ⇄ text
 *
 * Division is done in binary32, as in ebusd: a 32 bit counter with a divisor loses its last digits that way, and both
 * programs must show the same value.
 */
import type { NumberType } from './field-data-type.ts'
import type { DefinitionErrorCode } from './definition-error.ts'
import { formatFixedNumber, formatGeneralNumber } from './print-number.ts'
import { parseFloatText, scanDecimal, scanInteger } from './scan-number.ts'

export const UNKNOWN_VALUE_TEXT = '-'

const view = new DataView(new ArrayBuffer(4))

function floatFromPattern(raw: number): number {
  view.setUint32(0, raw)
  return view.getFloat32(0)
}

function patternFromFloat(value: number): number {
  view.setFloat32(0, value)
  return view.getUint32(0)
}

/** The caller has checked that there are `length` bytes. Invalid digits are out of range. */
export function readRawNumber(
  type: NumberType,
  data: Uint8Array,
  { offset, length }: { readonly offset: number; readonly length: number },
): number | 'out-of-range' {
  if (type.coding === 'bcd' || type.coding === 'hcd') return readDigits(type, data, offset, length)
  if (length === 1) {
    const byte = data[offset] ?? 0
    return type.bits < 8 ? (byte >> type.firstBit) & (2 ** type.bits - 1) : byte
  }
  let raw = 0
  if (type.isBigEndian) for (let index = 0; index < length; index++) raw = raw * 256 + (data[offset + index] ?? 0)
  else for (let index = length - 1; index >= 0; index--) raw = raw * 256 + (data[offset + index] ?? 0)
  return raw
}

function readDigits(type: NumberType, data: Uint8Array, offset: number, length: number): number | 'out-of-range' {
  let raw = 0
  let weight = 1
  for (let index = 0; index < length; index++) {
    const byte = data[offset + (type.isBigEndian ? length - 1 - index : index)] ?? 0
    if (!type.isRequired && byte === (type.replacement & 0xff)) return type.replacement
    if (type.coding === 'hcd' ? byte > 99 : byte >> 4 > 9 || (byte & 0xf) > 9) return 'out-of-range'
    raw += weight * (type.coding === 'hcd' ? byte : (byte >> 4) * 10 + (byte & 0xf))
    weight *= 100
  }
  return raw
}

export function isReplacementValue(type: NumberType, raw: number): boolean {
  return !type.isRequired && raw === type.replacement
}

/** Returns `empty` for a float that is not a number. Limits of signed types are patterns, too. */
export function checkNumberRange(type: NumberType, raw: number): 'empty' | 'out-of-range' | undefined {
  if (type.coding === 'float') {
    const value = floatFromPattern(raw)
    if (!Number.isFinite(value)) return 'empty'
    return value < floatFromPattern(type.min) || value > floatFromPattern(type.max) ? 'out-of-range' : undefined
  }
  if (!type.isSigned) return raw < type.min || raw > type.max ? 'out-of-range' : undefined
  const isNegative = hasSignBit(type, raw)
  const reachesMin = hasSignBit(type, type.min) ? !isNegative || raw >= type.min : !isNegative && raw >= type.min
  const keepsMax = hasSignBit(type, type.max) ? isNegative && raw <= type.max : isNegative || raw <= type.max
  return reachesMin && keepsMax ? undefined : 'out-of-range'
}

function hasSignBit(type: NumberType, raw: number): boolean {
  return Math.floor(raw / 2 ** (type.bits - 1)) % 2 === 1
}

/** The number that a pattern stands for, before formatting. */
export function scaleRawNumber(type: NumberType, raw: number): number {
  const value = type.coding === 'float' ? floatFromPattern(raw) : Math.fround(signedValue(type, raw))
  if (value === 0 || type.divisor === 1) return value
  return Math.fround(type.divisor < 0 ? value * Math.fround(-type.divisor) : value / Math.fround(type.divisor))
}

function signedValue(type: NumberType, raw: number): number {
  return type.isSigned && hasSignBit(type, raw) ? raw - 2 ** type.bits : raw
}

/** The digits of a pattern that is in range and not the replacement value. */
/** The limits of a number in the unit of its field; `undefined` if two numbers cannot express them. */
export function computeFieldLimits(type: NumberType): { readonly min: number; readonly max: number } | undefined {
  if (type.coding === 'float' || type.isTemParameter) return undefined
  if (isReplacementValue(type, type.min) || isReplacementValue(type, type.max)) return undefined
  return { min: Number(formatRawNumber(type, type.min)), max: Number(formatRawNumber(type, type.max)) }
}

export function formatRawNumber(type: NumberType, raw: number): string {
  if (type.coding === 'float') {
    const value = scaleRawNumber(type, raw)
    if (type.digits > 0) return formatFixedNumber(value, type.digits + 6)
    return value === 0 ? formatFixedNumber(value, 1) : formatGeneralNumber(value)
  }
  if (type.divisor === 1) {
    const text = String(signedValue(type, raw))
    return type.isPadded ? text.padStart(type.bits / 4, '0') : text
  }
  const value = scaleRawNumber(type, raw)
  if (type.divisor > 1) return formatFixedNumber(value, type.digits)
  // Large counters with a multiplier are printed in ebusd's exponent form.
  return type.bits === 32 && value >= 0 ? formatGeneralNumber(value) : formatFixedNumber(value, 0)
}

/** The pattern for a text. `-` is the replacement value if the type has one. */
export function parseRawNumber(type: NumberType, text: string): number | DefinitionErrorCode {
  if (!type.isRequired && text === UNKNOWN_VALUE_TEXT) return type.replacement
  if (text === '') return 'end-of-input'
  const raw = type.coding === 'float' || type.divisor !== 1 ? parseScaled(type, text) : parseWhole(type, text)
  if (typeof raw !== 'number') return raw
  return checkNumberRange(type, raw) === undefined ? raw : 'out-of-range'
}

/** A fraction is cut off. */
function parseWhole(type: NumberType, text: string): number | DefinitionErrorCode {
  const { value, end } = scanInteger(text)
  const raw = patternOf(type, value)
  if (raw === undefined) return 'out-of-range'
  return end === 0 || (end < text.length && text[end] !== '.') ? 'invalid-number' : raw
}

function parseScaled(type: NumberType, text: string): number | DefinitionErrorCode {
  const value = parseFloatText(text)
  if (value === undefined) return 'invalid-number'
  const unscaled = type.divisor < 0 ? value / -type.divisor : value * type.divisor
  if (type.coding === 'float') return patternFromFloat(unscaled)
  return patternOf(type, roundHalfAway(unscaled)) ?? 'out-of-range'
}

function patternOf(type: NumberType, value: number): number | undefined {
  const span = 2 ** type.bits
  if (!type.isSigned) return value < 0 || value >= span ? undefined : value + 0
  if (value < -span / 2 || value >= span / 2) return undefined
  return value < 0 ? value + span : value + 0
}

function roundHalfAway(value: number): number {
  const whole = Math.trunc(value)
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole
}

/** Bits are added to the byte's present content; everything else replaces it. */
export function writeRawNumber(
  type: NumberType,
  raw: number,
  { data, offset, length }: { readonly data: number[]; readonly offset: number; readonly length: number },
): DefinitionErrorCode | undefined {
  if (type.bits < 8) {
    if (raw >= 2 ** type.bits) return 'out-of-range'
    data[offset] = (data[offset] ?? 0) | (raw << type.firstBit)
    return undefined
  }
  const hasDigits = type.coding === 'bcd' || type.coding === 'hcd'
  let left = raw
  for (let index = 0; index < length; index++) {
    const at = offset + (type.isBigEndian ? length - 1 - index : index)
    if (!hasDigits || isReplacementValue(type, raw)) {
      data[at] = left % 256
      left = Math.floor(left / 256)
      continue
    }
    const pair = left % 100
    data[at] = type.coding === 'bcd' ? (Math.floor(pair / 10) << 4) | (pair % 10) : pair
    left = Math.floor(left / 100)
  }
  return undefined
}

/** TEM parameter `GG-NNN`; the position of the two numbers depends on the sender. */
export function formatTemParameter(raw: number, isCommand: boolean): string {
  const group = isCommand ? raw & 0x1f : (raw >> 7) & 0x1f
  const number = isCommand ? (raw >> 8) & 0x7f : raw & 0x7f
  return `${String(group).padStart(2, '0')}-${String(number).padStart(3, '0')}`
}

export function parseTemParameter(type: NumberType, text: string, isCommand: boolean): number | DefinitionErrorCode {
  if (text === UNKNOWN_VALUE_TEXT) return type.replacement
  const [groupText = '', numberText = ''] = text.split('-')
  for (const part of [groupText, numberText]) {
    if (part === '') return 'end-of-input'
    if (scanDecimal(part).end !== part.length) return 'invalid-number'
  }
  const [group, number] = [Number(groupText), Number(numberText)]
  if (!(group >= 0 && group <= 0x1f && number >= 0 && number <= 0x7f)) return 'out-of-range'
  return isCommand ? group + number * 256 : group * 128 + number
}
