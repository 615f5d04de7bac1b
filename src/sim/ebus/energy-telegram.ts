/**
 * Energy telegram: service B516 with selector 10, in both directions.
 *
 *   10 0X FF FF 0Y 0Z LL HH     X 0 all 1 day 2 month 3 year   Y 3 electricity 4 gas   Z 0 all 3 heating 4 hot water
 *   answer 0X 00 0X 0Y 0Z LL HH and a float of Wh; broadcast: selector and float
 *
 * HHLL is a date, yyyyyyy mmmm ddddd with years since 2000: a month is named by its first day, a year by month and day
 * 0, all time by 0. An answer about all time has the date of today.
 */
import { requireNumberDatatype } from '../../ebus/wire/datatype-parser.ts'
import type { SimulatedEnergyMeter, SimulatedHouse } from '../house-state.ts'

const SELECTOR_LENGTH = 8
const WH = requireNumberDatatype('EXP')

/** Every series that the regulator broadcasts, in its order. */
export function listBroadcastEnergySelectors(timeMs: number): readonly Uint8Array[] {
  // Day, year, all time; gas before electricity, heating before hot water.
  const periods = [1, 3, 0]
  const sources = [4, 3]
  const uses = [3, 4]
  return periods.flatMap((period) =>
    sources.flatMap((source) =>
      uses.map((use) => Uint8Array.from([0x10, period, 0xff, 0xff, source, use, ...when(period, timeMs)])),
    ),
  )
}

/** Returns `undefined` for a series without a meter. */
export function encodeEnergyAnswer(house: SimulatedHouse, selector: Uint8Array): Uint8Array | undefined {
  const value = readSeries(house, selector)
  if (value === undefined) return undefined
  const [, period = 0, , , source = 0, use = 0, low = 0, high = 0] = selector
  const date = period === 0 ? packDate(partsOf(house.timeMs)) : [low, high]
  return Uint8Array.from([period, 0, period, source, use, ...date, ...WH.encode(value)])
}

/** With the value for "nothing" if there is no meter. */
export function encodeEnergyBroadcast(house: SimulatedHouse, selector: Uint8Array): Uint8Array {
  return Uint8Array.from([...selector, ...WH.encode(readSeries(house, selector))])
}

function readSeries(house: SimulatedHouse, selector: Uint8Array): number | undefined {
  if (selector.length !== SELECTOR_LENGTH || selector[0] !== 0x10) return undefined
  const [, period = 0, , , source = 0, use = 0, low = 0, high = 0] = selector
  const { gasHeating, gasDhw, electricHeating, electricDhw } = house.energy
  const bySource = new Map([
    [4, [gasHeating, gasDhw]],
    [3, [electricHeating, electricDhw]],
  ])
  const meters = bySource.get(source)
  if (meters === undefined || ![0, 3, 4].includes(use)) return undefined
  // Uses 3 and 4 are the two meters of a source, 0 is their sum.
  const chosen = use === 0 ? meters : meters.slice(use - 3, use - 2)
  const read = reader(period, [low, high], house.timeMs)
  return read === undefined ? undefined : chosen.reduce((sum, meter) => sum + read(meter), 0)
}

function reader(
  period: number,
  date: readonly number[],
  timeMs: number,
): ((meter: SimulatedEnergyMeter) => number) | undefined {
  const isAt = (time: readonly number[]): boolean => time.every((byte, index) => byte === date[index])
  const { year, month } = partsOf(timeMs)
  if (period === 0) return ({ totalWh }) => totalWh
  if (period === 1) return isAt(when(1, timeMs)) ? ({ todayWh }) => todayWh : undefined
  if (period === 2) {
    if (isAt(when(2, timeMs))) return ({ monthWh }) => monthWh
    const before = month === 1 ? { year: year - 1, month: 12, day: 1 } : { year, month: month - 1, day: 1 }
    return isAt(packDate(before)) ? ({ lastMonthWh }) => lastMonthWh : undefined
  }
  if (period !== 3) return undefined
  if (isAt(when(3, timeMs))) return ({ yearWh }) => yearWh
  return isAt(packDate({ year: year - 1, month: 0, day: 0 })) ? ({ lastYearWh }) => lastYearWh : undefined
}

/** The last two selector bytes for the present: today, this month, this year, or all time. */
function when(period: number, timeMs: number): readonly [number, number] {
  const { year, month, day } = partsOf(timeMs)
  switch (period) {
    case 1:
      return packDate({ year, month, day })
    case 2:
      return packDate({ year, month, day: 1 })
    case 3:
      return packDate({ year, month: 0, day: 0 })
    default:
      return [0, 0]
  }
}

interface DateParts {
  readonly year: number
  readonly month: number
  readonly day: number
}

function partsOf(timeMs: number): DateParts {
  const date = new Date(timeMs)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

function packDate({ year, month, day }: DateParts): readonly [low: number, high: number] {
  const packed = ((year - 2_000) << 9) | (month << 5) | day
  return [packed & 0xff, (packed >> 8) & 0xff]
}
