/**
 * Error code decoder: the present and past errors of a device, B503.
 *
 *   00 01 ▸ five numbers of two bytes, FFFF where there is none          19 01 FF FF … is error 281
 *   01 01 II ▸ status, minute, hour, day, month, year, number            02 45 13 08 11 24 B7 04: 1207, 8 November 2024, 13:45
 *
 * Numbers without texts, because the text depends on the product and is not documented. Time and date of an entry are
 * BCD on every device that was recorded with one; ebusd's definitions still read them as binary.
 */
import { requireNumberDatatype } from '../wire/datatype-parser.ts'
import { fromBcd } from '../wire/bcd.ts'

const CODE = requireNumberDatatype('UIN')
const PLACES = 5

/** In the order of the device; empty when it has no errors. `undefined`: the payload is not such a list. */
export function decodeCurrentErrorCodes(payload: Uint8Array): readonly number[] | undefined {
  if (payload.length < PLACES * CODE.length) return undefined
  return Array.from({ length: PLACES }, (_, place) => CODE.decode(payload.subarray(place * CODE.length)))
    .map((decoded) => (decoded.ok ? decoded.value : undefined))
    .filter((code) => code !== undefined)
}

export interface ErrorHistoryEntry {
  readonly status: number
  readonly code: number
  /** By the device's own clock: `2024-11-08T13:45`; `undefined` if it had none. */
  readonly at: string | undefined
}

/** Some devices have two more bytes behind the number. */
const ENTRY_LENGTH = 8

/** `empty`: the device has no such entry. `undefined`: the payload is not an entry. */
export function decodeErrorHistoryEntry(payload: Uint8Array): ErrorHistoryEntry | 'empty' | undefined {
  if (payload.length < ENTRY_LENGTH) return undefined
  const code = CODE.decode(payload.subarray(6))
  if (!code.ok || code.value === undefined) return 'empty'
  return { status: payload[0] ?? 0, code: code.value, at: timeOf(payload.subarray(1, 6)) }
}

function timeOf(bytes: Uint8Array): string | undefined {
  const [minute = 60, hour = 24, day = 0, month = 0, year] = Array.from(bytes, fromBcd)
  if (year === undefined || minute > 59 || hour > 23 || day < 1 || day > 31 || month < 1 || month > 12) return undefined
  const twoDigits = (part: number): string => String(part).padStart(2, '0')
  return `20${twoDigits(year)}-${twoDigits(month)}-${twoDigits(day)}T${twoDigits(hour)}:${twoDigits(minute)}`
}
