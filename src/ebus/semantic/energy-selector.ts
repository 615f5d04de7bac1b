/**
 * Energy selector: which meter and which time a B516 telegram is about.
 *
 *   10 0X FF FF 0Y 0Z WV 3Q     X 0 all, 1 day, 2 month, 3 year   Y 1 solar, 3 electricity, 4 gas
 *                               Z 3 heating, 4 hot water
 *
 * The date of a day sits in five nibbles: W twice the month (from August on, twice the months since), one more for days
 * past the fifteenth; V the day; Q 2 or 3 for this year, 0 or 1 for the last.
 *
 * Pure.
 */
import { fromBcd } from '../wire/digit-type.ts'
import { CLOCK_KEY } from './read-key.ts'
import type { Shadow } from './shadow.ts'
import { CLOCK_SLACK_MS } from './shadow.ts'

export const PERIOD = { all: 0, day: 1, month: 2, year: 3 } as const
export const METER = { solar: 1, environment: 2, electric: 3, gas: 4 } as const
export const USE = { all: 0, heating: 3, dhw: 4, cooling: 5 } as const

export interface BusDate {
  readonly year: number
  readonly month: number
  readonly day: number
}

type Selector = readonly [period: number, meter: number, use: number, high: number, low: number]

/** This year, without a date. */
export const THIS_YEAR: readonly [number, number] = [0x00, 0x32]

export function daySelector(meter: number, use: number, { month, day }: BusDate): Selector {
  const late = month > 7
  const high = 2 * (late ? month - 8 : month) + (day > 15 ? 1 : 0)
  return [PERIOD.day, meter, use, (high << 4) | (day > 15 ? day - 16 : day), late ? 0x33 : 0x32]
}

export function yearSelector(meter: number, use: number): Selector {
  return [PERIOD.year, meter, use, ...THIS_YEAR]
}

/** What is worth asking for: today and this year, of what there is. */
export function energySelectors(date: BusDate): readonly Selector[] {
  return [METER.gas, METER.electric].flatMap((meter) =>
    [USE.heating, USE.dhw].flatMap((use) => [daySelector(meter, use, date), yearSelector(meter, use)]),
  )
}

const CENTURY = 2_000

/**
 * Today, by the regulator's own clock as it tells everybody: ss mm hh dd MM ww yy behind two bytes of weather. What it
 * told last is carried on to now: a clock that was last heard before midnight names yesterday.
 */
export function busDate(shadow: Shadow, nowMs: number): BusDate | undefined {
  const entry = shadow.get(CLOCK_KEY)
  if (entry === undefined || entry.payload.length < 9) return undefined
  const sinceMs = nowMs - entry.atMs
  // Heard in what is now the future: our own clock went back, and nobody knows how long ago that was.
  if (sinceMs < -CLOCK_SLACK_MS) return undefined
  const told = Array.from(entry.payload.subarray(2, 9), fromBcd)
  const [second = 60, minute = 60, hour = 24, day = 0, month = 0, , year] = told
  if (second > 59 || minute > 59 || hour > 23 || day < 1 || day > 31 || month < 1 || month > 12) return undefined
  if (year === undefined) return undefined
  const now = new Date(Date.UTC(CENTURY + year, month - 1, day, hour, minute, second) + Math.max(0, sinceMs))
  return { year: now.getUTCFullYear(), month: now.getUTCMonth() + 1, day: now.getUTCDate() }
}
