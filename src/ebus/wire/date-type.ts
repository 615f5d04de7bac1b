/**
 * Date types: days of the calendar and of the week.
 *
 *   BDA  dd mm ww yy  BCD, Monday 1      BDZ  the same, Monday 0      HDA  the same as BDA in binary
 *   :3   dd mm yy                        DAY  days since 1900         DTM  minutes since 2009
 *
 * A date is not validated against the calendar: regulators do send 30.02. Its weekday byte is ignored when it is read
 * and computed when it is written.
 */
import type { CalendarDate, Datatype, BusDateTime, OutOfRange } from './datatype.ts'
import { OUT_OF_RANGE, defineDatatype, throwUnencodableValue } from './datatype.ts'
import { fromBcd, toBcd } from './digit-type.ts'

const CENTURY = 2_000
const NO_PART = 0xff
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const DAY_EPOCH = Date.UTC(1900, 0, 1)
const MINUTE_EPOCH = Date.UTC(2009, 0, 1)

const binary = { fromByte: (byte: number): number | undefined => byte, toByte: (part: number): number => part }
const bcd = { fromByte: fromBcd, toByte: toBcd }

interface DateLayout {
  readonly name: string
  readonly coding: typeof binary
  /** The number that the type writes for Monday; without it the type has no weekday byte. */
  readonly monday: number | undefined
}

export const DATE_DATATYPES: readonly Datatype<CalendarDate>[] = [
  { name: 'BDA', coding: bcd, monday: 1 },
  { name: 'BDZ', coding: bcd, monday: 0 },
  { name: 'HDA', coding: binary, monday: 1 },
  { name: 'BDA:3', coding: bcd, monday: undefined },
  { name: 'HDA:3', coding: binary, monday: undefined },
].map(dateType)

function dateType({ name, coding, monday }: DateLayout): Datatype<CalendarDate> {
  const length = monday === undefined ? 3 : 4
  return defineDatatype<CalendarDate>({
    name,
    length,
    read(bytes) {
      const day = readPart(bytes[0], 31)
      const month = readPart(bytes[1], 12)
      const yy = bytes[length - 1] === NO_PART ? undefined : coding.fromByte(bytes[length - 1] ?? 0)
      if (day === OUT_OF_RANGE || month === OUT_OF_RANGE) return OUT_OF_RANGE
      if (yy === undefined && bytes[length - 1] !== NO_PART) return OUT_OF_RANGE
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
      if (monday === undefined) return Uint8Array.of(write(day), write(month), yy)
      const weekday =
        year === undefined || month === undefined || day === undefined ? 0 : monday + weekdayOf(year, month, day)
      return Uint8Array.of(write(day), write(month), weekday, yy)
    },
  })

  function readPart(byte: number | undefined, max: number): number | undefined | OutOfRange {
    if (byte === undefined || byte === NO_PART || byte === 0) return undefined
    const part = coding.fromByte(byte)
    return part === undefined || part > max ? OUT_OF_RANGE : part
  }
}

export const DAY_DATATYPE: Datatype<CalendarDate> = defineDatatype<CalendarDate>({
  name: 'DAY',
  length: 2,
  read([low = 0, high = 0]) {
    const days = high * 256 + low
    return days === 0xffff ? undefined : calendarDate(DAY_EPOCH + days * DAY_MS)
  },
  encode(value) {
    if (value === undefined) return Uint8Array.of(0xff, 0xff)
    const days = (utc('DAY', value) - DAY_EPOCH) / DAY_MS
    if (days < 0 || days > 0xfffe) throwUnencodableValue('DAY', value)
    return Uint8Array.of(days & 0xff, days >> 8)
  },
})

const LAST_MINUTE = (Date.UTC(2100, 0, 1) - MINUTE_EPOCH) / MINUTE_MS - 1

/** DTM has no bit pattern for "nothing". */
export const DTM_DATATYPE: Datatype<BusDateTime> = defineDatatype<BusDateTime>({
  name: 'DTM',
  length: 4,
  read(bytes) {
    const minutes = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true)
    if (minutes > LAST_MINUTE) return OUT_OF_RANGE
    const instant = new Date(MINUTE_EPOCH + minutes * MINUTE_MS)
    return {
      date: calendarDate(instant.getTime()),
      time: { hour: instant.getUTCHours(), minute: instant.getUTCMinutes(), second: undefined },
    }
  },
  encode(value) {
    if (value === undefined) throwUnencodableValue('DTM', value)
    const minutes = (utc('DTM', value.date) - MINUTE_EPOCH) / MINUTE_MS + value.time.hour * 60 + value.time.minute
    if (minutes < 0 || minutes > LAST_MINUTE) throwUnencodableValue('DTM', value)
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setUint32(0, minutes, true)
    return bytes
  },
})

/** In the decoded value 0 is Monday, whichever number the type writes on the bus for Monday. */
export const WEEKDAY_DATATYPES: readonly Datatype<number>[] = [
  { name: 'BDY', monday: 0, replacement: 7 },
  { name: 'HDY', monday: 1, replacement: 0 },
].map(({ name, monday, replacement }) =>
  defineDatatype<number>({
    name,
    length: 1,
    read([byte = 0]) {
      if (byte === replacement) return undefined
      return byte < monday || byte > monday + 6 ? OUT_OF_RANGE : byte - monday
    },
    encode(value) {
      if (value !== undefined && !(value >= 0 && value <= 6)) throwUnencodableValue(name, value)
      return Uint8Array.of(value === undefined ? replacement : value + monday)
    },
  }),
)

function calendarDate(ms: number): CalendarDate {
  const date = new Date(ms)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

function utc(type: string, { year, month, day }: CalendarDate): number {
  if (year === undefined || month === undefined || day === undefined) throwUnencodableValue(type, { year, month, day })
  return Date.UTC(year, month - 1, day)
}

/** Returns 0 for Monday. An impossible date such as 31.04. counts as the day after 30.04. */
function weekdayOf(year: number, month: number, day: number): number {
  return (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7
}
