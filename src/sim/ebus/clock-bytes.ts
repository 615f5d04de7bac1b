/**
 * Clock bytes: the time as devices on the bus tell it.
 *
 *   ss mm hh dd MM ww yy     in BCD, but for the weekday: Monday is 0
 */
import { toBcd } from '../../ebus/wire/digit-type.ts'
import { computeWeekday } from '../house-control.ts'
import type { SimulatedHouse } from '../house-state.ts'

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
