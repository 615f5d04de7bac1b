/**
 * Energy selector: the meter and the period of a B516 telegram.
 *
 *   10 0X FF FF 0Y 0Z LL HH     X 0 all, 1 day, 2 month, 3 year   Y 1 solar, 2 environment, 3 electricity, 4 gas
 *                               Z 0 all, 3 heating, 4 hot water, 5 cooling
 *
 * HHLL is a date: yyyyyyy mmmm ddddd, years since 2000. 33 35 is 19 September 2026, 61 30 is March 2024 (a month is
 * named by its first day), 00 34 is the year 2026, 00 00 is all time.
 */
import type { BusDate } from './bus-clock.ts'

export const ENERGY_PERIOD_CODES = { all: 0, day: 1, month: 2, year: 3 } as const
export const ENERGY_METER_CODES = { solar: 1, environment: 2, electric: 3, gas: 4 } as const
export const ENERGY_USE_CODES = { all: 0, heating: 3, dhw: 4, cooling: 5 } as const

const CENTURY = 2_000

type Selector = readonly [period: number, meter: number, use: number, high: number, low: number]

/** Two bytes, the lower one first; 0 stands for an unused day or month. */
function packDate({ year, month, day }: BusDate): readonly [low: number, high: number] {
  const packed = ((year - CENTURY) << 9) | (month << 5) | day
  return [packed & 0xff, (packed >> 8) & 0xff]
}

/** `2026-09-19`, `2024-03` or `2026`, depending on the period; `undefined` for all time. */
export function formatEnergyDate(period: number, low: number, high: number): string | undefined {
  const packed = high * 256 + low
  const parts = [CENTURY + (packed >> 9), (packed >> 5) & 0x0f, packed & 0x1f]
  const length =
    period === ENERGY_PERIOD_CODES.day
      ? 3
      : period === ENERGY_PERIOD_CODES.month
        ? 2
        : period === ENERGY_PERIOD_CODES.year
          ? 1
          : 0
  if (length === 0) return undefined
  return parts
    .slice(0, length)
    .map((part) => String(part).padStart(2, '0'))
    .join('-')
}

export function encodeDaySelector(meter: number, use: number, date: BusDate): Selector {
  return [ENERGY_PERIOD_CODES.day, meter, use, ...packDate(date)]
}

export function encodeYearSelector(meter: number, use: number, year: number): Selector {
  return [ENERGY_PERIOD_CODES.year, meter, use, ...packDate({ year, month: 0, day: 0 })]
}

/** The selectors that are read: today and this year, for the existing meters. */
export function listEnergySelectors(date: BusDate): readonly Selector[] {
  return [ENERGY_METER_CODES.gas, ENERGY_METER_CODES.electric].flatMap((meter) =>
    [ENERGY_USE_CODES.heating, ENERGY_USE_CODES.dhw].flatMap((use) => [
      encodeDaySelector(meter, use, date),
      encodeYearSelector(meter, use, date.year),
    ]),
  )
}
