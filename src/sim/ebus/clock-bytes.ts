/**
 * Clock bytes: the time as devices send it on the bus.
 *
 *   ss mm hh dd MM ww yy     in BCD, but for the weekday: Monday is 0
 */
import { requireNumberDatatype } from '../../ebus/wire/datatype-parser.ts'
import { toBcd } from '../../ebus/wire/bcd.ts'
import { computeWeekday } from '../house-control.ts'
import type { SimulatedHouse } from '../house-state.ts'

const d2b = requireNumberDatatype('D2B')

export function encodeClockBytes({ timeMs }: SimulatedHouse): readonly number[] {
  const date = new Date(timeMs)
  const parts = [
    date.getUTCSeconds(),
    date.getUTCMinutes(),
    date.getUTCHours(),
    date.getUTCDate(),
    date.getUTCMonth() + 1,
  ]
  return [...parts.map(toBcd), computeWeekday(timeMs), toBcd(date.getUTCFullYear() % 100)]
}

/** B504 00: the receiver's state, the time and the outside temperature. */
export function encodeDateTimeBlock(house: SimulatedHouse): Uint8Array {
  return Uint8Array.from([0x03, ...encodeClockBytes(house), ...d2b.encode(house.weather.outsideCelsius)])
}
