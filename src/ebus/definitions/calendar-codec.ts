/**
 * Calendar codec: dates and times as texts, `31.12.2026` and `23:59:59`. A missing part is `-` in its place.
 *
 * A date is not validated against the calendar. Its weekday byte is ignored when it is read and computed when it is
 * written.
 */
import type { CalendarType } from './field-data-type.ts'
import type { DefinitionErrorCode } from './definition-error.ts'
import { UNKNOWN_VALUE_TEXT } from './number-codec.ts'
import { parseBoundedNumber } from './scan-number.ts'

const CENTURY = 2_000
const DAY_MINUTES = 1_440
/** Modified Julian days of 31.12.1899, from which DAY counts, and of 1.1.2009, from which DTM does. */
const MJD_1900 = 15_020
const MJD_2009 = 54_832

/** Returns `undefined` for bytes that are not a date or time. */
export function decodeCalendarValue(type: CalendarType, data: Uint8Array, offset: number): string | undefined {
  switch (type.holds) {
    case 'moment':
      return readMoment(data, offset)
    case 'date':
      return type.bits === 16 ? readDayCount(data, offset) : readDate(type, data, offset)
    case 'time':
      if (type.stepMinutes === 0) return readClock(type, data, offset)
      return type.bits === 16 ? readMinutes(data, offset) : readSteps(type, data[offset] ?? 0)
  }
}

function readDate(type: CalendarType, data: Uint8Array, offset: number): string | undefined {
  const last = type.bits / 8 - 1
  const day = partByte(type, data[offset] ?? 0)
  const month = partByte(type, data[offset + 1] ?? 0)
  const year = partByte(type, data[offset + last] ?? 0)
  if (day === undefined || month === undefined || year === undefined) return undefined
  const isMissing = (part: number): boolean => part === type.replacement || part === 0
  if ((day > 31 && !isMissing(day)) || (month > 12 && !isMissing(month))) return undefined
  // A year counts as missing only when the month is, too.
  const yearText = isMissing(year) && isMissing(month) ? UNKNOWN_VALUE_TEXT : String(CENTURY + year)
  return `${isMissing(day) ? UNKNOWN_VALUE_TEXT : twoDigits(day)}.${isMissing(month) ? UNKNOWN_VALUE_TEXT : twoDigits(month)}.${yearText}`
}

/** A byte of a date or time; `undefined` for invalid BCD digits. */
function partByte(type: CalendarType, byte: number): number | undefined {
  if (!type.isBcd || byte === type.replacement) return byte
  return byte >> 4 > 9 || (byte & 0xf) > 9 ? undefined : (byte >> 4) * 10 + (byte & 0xf)
}

/** FF counts as missing for each byte, which is why days with such a low byte are printed with `-.` in front. */
function readDayCount(data: Uint8Array, offset: number): string {
  const [low = 0, high = 0] = data.subarray(offset, offset + 2)
  if (low === 0xff && high === 0xff) return '-.-.-'
  return `${low === 0xff ? '-.' : ''}${dateOfMjd(low + high * 256 + MJD_1900)}`
}

function readMoment(data: Uint8Array, offset: number): string {
  const [low = 0, second = 0, third = 0, top = 0] = data.subarray(offset, offset + 4)
  const minutes = low + second * 256 + third * 65_536 + top * 16_777_216
  // ebusd extends the sign of the fourth byte to 64 bits and truncates the days to 32; the resulting years are wrong,
  // but equal to ebusd's.
  const wide = top < 0x80 ? BigInt(minutes) : BigInt.asUintN(64, BigInt(minutes) - (1n << 32n))
  const days = Number(BigInt.asIntN(32, wide / 1_440n))
  const rest = Number(wide % 1_440n)
  return `${dateOfMjd(days + MJD_2009)} ${clockText(Math.floor(rest / 60), rest % 60)}`
}

/** The common formula for modified Julian days. */
function dateOfMjd(mjd: number): string {
  let year = Math.trunc((mjd - 15_078.2) / 365.25)
  const yearDays = Math.trunc(year * 365.25)
  const shifted = Math.trunc((mjd - 14_956.1 - yearDays) / 30.6001)
  const day = mjd - 14_956 - yearDays - Math.trunc(shifted * 30.6001)
  let month = shifted - 1
  if (month >= 13) {
    year++
    month -= 12
  }
  return `${twoDigits(day)}.${twoDigits(month)}.${(year + 1_900) >>> 0}`
}

function mjdOfDate(year: number, month: number, day: number): number {
  const shift = month <= 2 ? 1 : 0
  const years = (year < 100 ? year + CENTURY : year) - 1_900
  return 14_956 + day + Math.trunc((years - shift) * 365.25) + Math.trunc((month + 1 + shift * 12) * 30.6001)
}

function readClock(type: CalendarType, data: Uint8Array, offset: number): string | undefined {
  const length = type.bits / 8
  let text = ''
  let hour = 0
  for (let index = 0; index < length; index++) {
    const part = partByte(type, data[offset + (type.isReversed ? length - 1 - index : index)] ?? 0)
    if (part === undefined) return undefined
    if (index > 0) text += ':'
    if (part === type.replacement) {
      text += UNKNOWN_VALUE_TEXT
      continue
    }
    if (index === 0) hour = part
    if (index === 0 ? part > 24 : part > 59 || (hour === 24 && part > 0)) return undefined
    text += twoDigits(part)
  }
  return text
}

/** FF counts as missing for each byte: a low byte of FF alone is printed as `-` in front. */
function readMinutes(data: Uint8Array, offset: number): string | undefined {
  const [low = 0, high = 0] = data.subarray(offset, offset + 2)
  const prefix = low === 0xff ? UNKNOWN_VALUE_TEXT : ''
  if (high === 0xff) return `${prefix}:${UNKNOWN_VALUE_TEXT}`
  const minutes = low + high * 256
  return minutes > DAY_MINUTES ? undefined : `${prefix}${clockText(Math.floor(minutes / 60), minutes % 60)}`
}

/** The whole byte is compared with the replacement value, even if other fields share it. */
function readSteps(type: CalendarType, byte: number): string | undefined {
  if (byte === type.replacement) return '-:-'
  const minutes = (type.bits < 8 ? byte & (2 ** type.bits - 1) : byte) * type.stepMinutes
  return minutes > DAY_MINUTES ? undefined : clockText(Math.floor(minutes / 60), minutes % 60)
}

function clockText(hour: number, minute: number): string {
  return `${twoDigits(hour)}:${twoDigits(minute)}`
}

function twoDigits(value: number): string {
  return String(value >>> 0).padStart(2, '0')
}

type Bytes = readonly number[] | DefinitionErrorCode

/** The bytes for a text. Anything after the last part is ignored. */
export function encodeCalendarValue(type: CalendarType, text: string): Bytes {
  switch (type.holds) {
    case 'moment':
      return writeMoment(text)
    case 'date':
      return writeDate(type, text)
    case 'time':
      return writeTime(type, text)
  }
}

const YEAR = { base: 10, min: 0, max: 2_099 } as const
const CLOCK_PART = { base: 10, min: 0, max: 59 } as const

type Parts = readonly (number | undefined)[] | DefinitionErrorCode

/** `undefined` stands for a part that is `-`. */
function parseParts(
  parts: readonly (string | undefined)[],
  bounds: typeof YEAR | typeof CLOCK_PART,
  isInRange: (value: number, index: number, first: number | undefined) => boolean,
): Parts {
  const values: (number | undefined)[] = []
  for (const [index, part] of parts.entries()) {
    if (part === undefined) return 'end-of-input'
    if (part === UNKNOWN_VALUE_TEXT) {
      values.push(undefined)
      continue
    }
    const value = parseBoundedNumber(part, bounds)
    if (typeof value === 'string') return value
    if (!isInRange(value, index, values[0])) return 'out-of-range'
    values.push(value)
  }
  return values
}

function parseDay(parts: readonly (string | undefined)[]): Parts {
  return parseParts(parts, YEAR, (value, index) => index >= 2 || (value >= 1 && value <= (index === 0 ? 31 : 12)))
}

function parseClock(parts: readonly (string | undefined)[]): Parts {
  return parseParts(parts, CLOCK_PART, (value, index, hour) => (index === 0 ? value <= 24 : hour !== 24 || value === 0))
}

/** Splits as ebusd reads a stream up to each separator: a text that ends there has no further part. */
function streamParts(text: string, separator: string, count: number): (string | undefined)[] {
  const parts = text.split(separator)
  if (parts.at(-1) === '') parts.pop()
  return Array.from({ length: count }, (_, index) => parts[index])
}

function writeDate(type: CalendarType, text: string): Bytes {
  const values = parseDay(streamParts(text, '.', 3))
  if (typeof values === 'string') return values
  const [day, month, year] = values
  if (type.bits === 16) return writeDayCount(day, month, year)
  const yy = year === undefined ? undefined : year >= CENTURY ? year - CENTURY : year
  if (yy !== undefined && yy > 99) return 'out-of-range'
  const write = (part: number | undefined): number => writePart(type, part)
  if (type.bits === 24) return [write(day), write(month), write(yy)]
  return [write(day), write(month), weekdayByte(type, { year, month, day }), write(yy)]
}

function writePart(type: CalendarType, part: number | undefined): number {
  if (part === undefined) return type.replacement
  return type.isBcd ? (Math.floor(part / 10) << 4) | (part % 10) : part
}

function weekdayByte(
  type: CalendarType,
  date: { readonly year: number | undefined; readonly month: number | undefined; readonly day: number | undefined },
): number {
  if (date.year === undefined) return 0
  const mjd = mjdOfDate(date.year, date.month ?? type.replacement, date.day ?? type.replacement)
  const sinceSunday = (mjd + 3) % 7
  if (type.isMondayZero) return (6 + sinceSunday) % 7
  return sinceSunday === 0 ? 7 : sinceSunday
}

function writeDayCount(day: number | undefined, month: number | undefined, year: number | undefined): Bytes {
  if (day === undefined && month === undefined) return [0xff, 0xff]
  // A date with missing parts has no number.
  if (day === undefined || month === undefined || year === undefined) return 'invalid-number'
  const days = mjdOfDate(year, month, day) - MJD_1900
  return days < 0 || days > 0xffff ? 'out-of-range' : [days & 0xff, days >> 8]
}

/** There is no pattern for a time with missing parts. */
function writeMoment(text: string): Bytes {
  if (/(?:^|[. :])-(?:[. :]|$)/.test(text)) return 'invalid-number'
  const parts = streamParts(text, '.', 3)
  const [yearText, ...rest] = (parts[2] ?? '').split(' ')
  const date = parseDay([parts[0], parts[1], parts[2] === undefined ? undefined : yearText])
  if (typeof date === 'string') return date
  const [day, month, year] = date
  if (day === undefined || month === undefined || year === undefined) return 'invalid-number'
  const days = mjdOfDate(year, month, day) - MJD_2009
  if (days < 0 || year - (year >= CENTURY ? CENTURY : 0) > 99) return 'out-of-range'
  const clock = parseClock(streamParts(rest.join(' '), ':', 2))
  if (typeof clock === 'string') return clock
  const [hour, minute] = clock
  if (hour === undefined || minute === undefined) return 'invalid-number'
  const minutes = days * DAY_MINUTES + hour * 60 + minute
  return [minutes & 0xff, (minutes >> 8) & 0xff, (minutes >> 16) & 0xff, (minutes >>> 24) & 0xff]
}

function writeTime(type: CalendarType, text: string): Bytes {
  const isClock = type.stepMinutes === 0
  const clock = parseClock(streamParts(text, ':', isClock ? type.bits / 8 : 2))
  if (typeof clock === 'string') return clock
  if (isClock) {
    const bytes = clock.map((part) => writePart(type, part))
    return type.isReversed ? bytes.toReversed() : bytes
  }
  const [hour, minute] = clock
  if (hour === undefined && minute === undefined) return type.bits === 16 ? [0xff, 0xff] : [type.replacement]
  if (minute === undefined) return type.replacement === hour ? [type.replacement] : 'invalid-number'
  const minutes = (hour ?? type.replacement) * 60 + minute
  if (type.bits === 16) return hour === undefined ? 'invalid-number' : [minutes & 0xff, minutes >> 8]
  const steps = Math.floor((minutes + Math.floor(type.stepMinutes / 2)) / type.stepMinutes)
  return steps > 144 ? 'out-of-range' : [steps]
}
