/**
 * Time types: times of day.
 *
 *   BTI ss mm hh  BCD       HTI hh mm ss  binary     VTI ss mm hh  binary
 *   BTM mm hh     BCD       HTM hh mm     binary     VTM mm hh     binary
 *   MIN minutes since midnight     TTM, TTH, TTQ  steps of 10, 30 and 15 minutes
 */
import type { Datatype, TimeOfDay } from './datatype.ts'
import { OUT_OF_RANGE, defineDatatype, throwUnencodableValue } from './datatype.ts'
import { fromBcd, toBcd } from './digit-type.ts'

const DAY_MINUTES = 1_440

interface ClockLayout {
  readonly name: string
  readonly bcd: boolean
  readonly hourFirst: boolean
  readonly seconds: boolean
  /** Every byte has this value when there is no time. */
  readonly replacement: number
}

interface StepLayout {
  readonly name: string
  readonly length: number
  readonly stepMinutes: number
  /** The number of low bits that carry the value; the higher bits are ignored. */
  readonly bits?: number
  readonly lastStep: number
  readonly replacement: number
}

export const TIME_DATATYPES: readonly Datatype<TimeOfDay>[] = [
  clockType({ name: 'BTI', bcd: true, hourFirst: false, seconds: true, replacement: 0xff }),
  clockType({ name: 'HTI', bcd: false, hourFirst: true, seconds: true, replacement: 0xff }),
  clockType({ name: 'VTI', bcd: false, hourFirst: false, seconds: true, replacement: 0x63 }),
  clockType({ name: 'BTM', bcd: true, hourFirst: false, seconds: false, replacement: 0xff }),
  clockType({ name: 'HTM', bcd: false, hourFirst: true, seconds: false, replacement: 0xff }),
  clockType({ name: 'VTM', bcd: false, hourFirst: false, seconds: false, replacement: 0xff }),
  stepType({ name: 'MIN', length: 2, stepMinutes: 1, lastStep: DAY_MINUTES, replacement: 0xffff }),
  stepType({ name: 'TTM', length: 1, stepMinutes: 10, lastStep: 143, replacement: 0x90 }),
  // TTH and TTQ use 0 both for midnight and for "no time"; the decoder reads it as "no time".
  stepType({ name: 'TTH', length: 1, stepMinutes: 30, bits: 6, lastStep: 48, replacement: 0 }),
  stepType({ name: 'TTQ', length: 1, stepMinutes: 15, bits: 7, lastStep: 96, replacement: 0 }),
]

function clockType({ name, bcd, hourFirst, seconds, replacement }: ClockLayout): Datatype<TimeOfDay> {
  const length = seconds ? 3 : 2
  return defineDatatype<TimeOfDay>({
    name,
    length,
    read(bytes) {
      if (bytes.every((byte) => byte === replacement)) return undefined
      const parts = [...bytes].map((byte) => (bcd ? fromBcd(byte) : byte))
      const [hour, minute, second = 0] = hourFirst ? parts : parts.toReversed()
      if (parts.includes(undefined) || hour === undefined || minute === undefined) return OUT_OF_RANGE
      const time = { hour, minute, second: seconds ? second : undefined }
      return isTime(time) ? time : OUT_OF_RANGE
    },
    encode(value) {
      if (value === undefined) return new Uint8Array(length).fill(replacement)
      if (!isTime(value)) throwUnencodableValue(name, value)
      const parts = seconds ? [value.hour, value.minute, value.second ?? 0] : [value.hour, value.minute]
      const bytes = Uint8Array.from(parts, (part) => (bcd ? toBcd(part) : part))
      return hourFirst ? bytes : bytes.toReversed()
    },
  })
}

function stepType({ name, length, stepMinutes, bits, lastStep, replacement }: StepLayout): Datatype<TimeOfDay> {
  const mask = bits === undefined ? 0xffff : 2 ** bits - 1
  return defineDatatype<TimeOfDay>({
    name,
    length,
    ...(bits === undefined ? {} : { bits: { first: 0, count: bits } }),
    read([low = 0, high = 0]) {
      const step = (high * 256 + low) & mask
      if (step === replacement) return undefined
      if (step > lastStep) return OUT_OF_RANGE
      const minutes = step * stepMinutes
      return { hour: Math.floor(minutes / 60), minute: minutes % 60, second: undefined }
    },
    encode(value) {
      if (value !== undefined && !isTime(value)) throwUnencodableValue(name, value)
      const step = value === undefined ? replacement : (value.hour * 60 + value.minute) / stepMinutes
      if (!Number.isInteger(step) || (value !== undefined && step > lastStep)) throwUnencodableValue(name, value)
      return Uint8Array.of(step & 0xff, step >> 8).subarray(0, length)
    },
  })
}

function isTime({ hour, minute, second = 0 }: TimeOfDay): boolean {
  if (hour === 24) return minute === 0 && second === 0
  return hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60
}
