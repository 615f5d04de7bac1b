/**
 * Date types: days of the calendar.
 *
 *   BDA  dd mm ww yy  BCD, Monday 1      HDA:3  dd mm yy  binary
 *
 * A date is not validated against the calendar: regulators do send 30.02. Its weekday byte is ignored when it is read
 * and computed when it is written.
 */
import { fromBcd, toBcd } from './bcd.ts'
import type { CalendarDate, Datatype, UndecodableBytes } from './datatype.ts'
import { UNDECODABLE_BYTES, defineDatatype, throwUnencodableValue } from './datatype.ts'

const CENTURY = 2_000
const NO_PART = 0xff

const binary = { fromByte: (byte: number): number | undefined => byte, toByte: (part: number): number => part }
const bcd = { fromByte: fromBcd, toByte: toBcd }

interface DateLayout {
  readonly name: string
  readonly coding: typeof binary
  readonly hasWeekday: boolean
}

export const DATE_DATATYPES: readonly Datatype<CalendarDate>[] = [
  { name: 'BDA', coding: bcd, hasWeekday: true },
  { name: 'HDA:3', coding: binary, hasWeekday: false },
].map(dateType)

function dateType({ name, coding, hasWeekday }: DateLayout): Datatype<CalendarDate> {
  const length = hasWeekday ? 4 : 3
  return defineDatatype<CalendarDate>({
    name,
    length,
    read(bytes) {
      const day = readPart(bytes[0], 31)
      const month = readPart(bytes[1], 12)
      const yy = bytes[length - 1] === NO_PART ? undefined : coding.fromByte(bytes[length - 1] ?? 0)
      if (day === UNDECODABLE_BYTES || month === UNDECODABLE_BYTES) return UNDECODABLE_BYTES
      if (yy === undefined && bytes[length - 1] !== NO_PART) return UNDECODABLE_BYTES
      // The year byte 00 means 2000 in a complete date, and "no year" in a date whose day or month is missing.
      const year =
        yy === undefined || (yy === 0 && (day === undefined || month === undefined)) ? undefined : CENTURY + yy
      return day === undefined && month === undefined && year === undefined ? undefined : { year, month, day }
    },
    encode(value) {
      const { year, month, day } = value ?? { year: undefined, month: undefined, day: undefined }
      if ((year !== undefined && (year < CENTURY || year > 2_099)) || (month ?? 1) > 12 || (day ?? 1) > 31)
        throwUnencodableValue(name, value)
      const write = (part: number | undefined): number => (part === undefined ? NO_PART : coding.toByte(part))
      const yy = write(year === undefined ? undefined : year - CENTURY)
      if (!hasWeekday) return Uint8Array.of(write(day), write(month), yy)
      const weekday = year === undefined || month === undefined || day === undefined ? 0 : weekdayOf(year, month, day)
      return Uint8Array.of(write(day), write(month), weekday, yy)
    },
  })

  function readPart(byte: number | undefined, max: number): number | undefined | UndecodableBytes {
    if (byte === undefined || byte === NO_PART || byte === 0) return undefined
    const part = coding.fromByte(byte)
    return part === undefined || part > max ? UNDECODABLE_BYTES : part
  }
}

/** 1 is Monday. A 31.04. counts as the day after the 30th. */
function weekdayOf(year: number, month: number, day: number): number {
  return ((new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7) + 1
}
