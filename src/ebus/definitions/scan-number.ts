/**
 * Number scanning: parses a number at the start of a text as C does, because definition files and values are written
 * that way.
 *
 *   "  0x1f rest"  integer, base 0   ▸ 31, ends at 6
 *   "12.9"         integer           ▸ 12, ends at 2
 *   "0x1p3" "1e3"  float
 */

export interface ScannedNumber {
  readonly value: number
  /** The index at which the number ends; 0 when there is none. */
  readonly end: number
}

const NOTHING: ScannedNumber = { value: 0, end: 0 }
const DECIMAL = /^[\t-\r ]*([+-]?)(\d+)/
const HEXADECIMAL = /^[\t-\r ]*([+-]?)(?:0[xX](?=[\da-fA-F]))?([\da-fA-F]+)/
const HEX_PREFIX = /^[\t-\r ]*[+-]?0[xX][\da-fA-F]/
const OCTAL = /^[\t-\r ]*([+-]?)(0[0-7]*)/

export function scanDecimal(text: string): ScannedNumber {
  return scan(DECIMAL.exec(text), 10)
}

export function scanHex(text: string): ScannedNumber {
  return scan(HEXADECIMAL.exec(text), 16)
}

/** Hexadecimal after 0x, otherwise decimal, which a person means who writes 010. */
export function scanInteger(text: string): ScannedNumber {
  return HEX_PREFIX.test(text) ? scanHex(text) : scanDecimal(text)
}

/** C's base 0, in which a leading zero means octal. Keys of value lists are written so. */
export function scanListKey(text: string): ScannedNumber {
  if (HEX_PREFIX.test(text)) return scanHex(text)
  const octal = OCTAL.exec(text)
  return octal === null ? scanDecimal(text) : scan(octal, 8)
}

function scan(match: RegExpExecArray | null, base: number): ScannedNumber {
  if (match === null) return NOTHING
  const value = Number.parseInt(match[2] ?? '', base)
  return { value: match[1] === '-' ? -value : value, end: match[0].length }
}

const DECIMAL_FLOAT = /^[\t-\r ]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)$/
const HEX_FLOAT = /^[\t-\r ]*([+-]?)0[xX]([\da-fA-F]*)\.?([\da-fA-F]*)(?:[pP]([+-]?\d+))?$/

/** The whole text as a float; `undefined` for anything else, and for numbers beyond the range of a double. */
export function parseFloatText(text: string): number | undefined {
  const decimal = DECIMAL_FLOAT.exec(text)?.[1]
  if (decimal !== undefined) {
    const value = Number(decimal)
    const isLost = !Number.isFinite(value) || (value === 0 && /[1-9]/.test(decimal.replace(/[eE].*/, '')))
    return isLost ? undefined : value
  }
  const match = HEX_FLOAT.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  if (whole === '' && fraction === '') return undefined
  const digits = Number.parseInt(`${whole}${fraction}`, 16)
  const value = digits * 2 ** (Number(exponent) - 4 * fraction.length)
  if (!Number.isFinite(value)) return undefined
  return sign === '-' ? -value : value
}

/** A whole text as an unsigned number between two limits, for lengths, addresses and parts of dates. */
export function parseBoundedNumber(
  text: string,
  { base, min, max }: { readonly base: 10 | 16; readonly min: number; readonly max: number },
): number | 'invalid-number' | 'out-of-range' {
  const { value, end } = base === 10 ? scanDecimal(text) : scanHex(text)
  if (end === 0 || end !== text.length) return 'invalid-number'
  return value < min || value > max ? 'out-of-range' : value
}

/** What stands before a separator and behind it; nothing behind it where it is not there. */
export function splitAtFirst(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
