/**
 * Time types: times of day.
 *
 *   BTI ss mm hh  BCD       HTI hh mm ss  binary
 */
import { fromBcd, toBcd } from './bcd.ts'
import type { Datatype, TimeOfDay } from './datatype.ts'
import { UNDECODABLE_BYTES, defineDatatype, throwUnencodableValue } from './datatype.ts'

/** Stands in every byte when there is no time. */
const NO_TIME = 0xff

interface ClockLayout {
  readonly name: string
  readonly bcd: boolean
  readonly hourFirst: boolean
}

export const TIME_DATATYPES: readonly Datatype<TimeOfDay>[] = [
  { name: 'BTI', bcd: true, hourFirst: false },
  { name: 'HTI', bcd: false, hourFirst: true },
].map(clockType)

function clockType({ name, bcd, hourFirst }: ClockLayout): Datatype<TimeOfDay> {
  return defineDatatype<TimeOfDay>({
    name,
    length: 3,
    read(bytes) {
      if (bytes.every((byte) => byte === NO_TIME)) return undefined
      const parts = Array.from(bytes, (byte) => (bcd ? fromBcd(byte) : byte))
      const [hour, minute, second] = hourFirst ? parts : parts.toReversed()
      if (hour === undefined || minute === undefined || second === undefined) return UNDECODABLE_BYTES
      const time = { hour, minute, second }
      return isTime(time) ? time : UNDECODABLE_BYTES
    },
    encode(value) {
      if (value === undefined) return new Uint8Array(3).fill(NO_TIME)
      if (!isTime(value)) throwUnencodableValue(name, value)
      const bytes = Uint8Array.from([value.hour, value.minute, value.second], (part) => (bcd ? toBcd(part) : part))
      return hourFirst ? bytes : bytes.toReversed()
    },
  })
}

function isTime({ hour, minute, second }: TimeOfDay): boolean {
  if (hour === 24) return minute === 0 && second === 0
  return hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60
}
