/**
 * Clock bytes: the time as devices on the bus tell it.
 *
 *   ss mm hh dd MM ww yy     in BCD, but for the weekday: Monday is 0
 *
 * Pure.
 */
import { toBcd } from '../../ebus/wire/digit-type.ts'
import { weekdayOf } from '../house-control.ts'
import type { House } from '../house-state.ts'

export function clockBytes({ timeMs }: House): readonly number[] {
  const date = new Date(timeMs)
  const parts = [
    date.getUTCSeconds(),
    date.getUTCMinutes(),
    date.getUTCHours(),
    date.getUTCDate(),
    date.getUTCMonth() + 1,
  ]
  return [...parts.map(toBcd), weekdayOf(timeMs), toBcd(date.getUTCFullYear() % 100)]
}
