/**
 * Energy telegram: service B516 with selector 10, in both directions.
 *
 *   10 0X FF FF 0Y 0Z WV 3Q     X 0 all 1 day 2 month 3 year   Y 3 electricity 4 gas   Z 0 all 3 heating 4 hot water
 *   answer 0X 00 00 0Y 0Z WV 3Q and a float of Wh; broadcast: selector and float
 *
 * Pure.
 */
import { numeric } from '../../ebus/wire/datatypes.ts'
import type { EnergyMeter, House } from '../house-state.ts'

const SELECTOR_LENGTH = 8
const WH = numeric('EXP')

/** Every series the regulator tells, in the order it tells them. */
export function energySelectors(timeMs: number): readonly Uint8Array[] {
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

/** `undefined` for a series nobody counts. */
export function answerEnergy(house: House, selector: Uint8Array): Uint8Array | undefined {
  const value = readSeries(house, selector)
  if (value === undefined) return undefined
  const [, period = 0, , , source = 0, use = 0, high = 0, low = 0] = selector
  return Uint8Array.from([period, 0, 0, source, use, high, low, ...WH.encode(value)])
}

/** With the pattern for "nothing" where nobody counts. */
export function broadcastEnergy(house: House, selector: Uint8Array): Uint8Array {
  return Uint8Array.from([...selector, ...WH.encode(readSeries(house, selector))])
}

function readSeries(house: House, selector: Uint8Array): number | undefined {
  if (selector.length !== SELECTOR_LENGTH || selector[0] !== 0x10) return undefined
  const [, period = 0, , , source = 0, use = 0, high = 0, low = 0] = selector
  const { gasHeating, gasDhw, electricHeating, electricDhw } = house.energy
  const bySource = new Map([
    [4, [gasHeating, gasDhw]],
    [3, [electricHeating, electricDhw]],
  ])
  const meters = bySource.get(source)
  if (meters === undefined || ![0, 3, 4].includes(use)) return undefined
  // Uses 3 and 4 are the two meters of a source, 0 is their sum.
  const chosen = use === 0 ? meters : meters.slice(use - 3, use - 2)
  const read = reader(period, [high, low], house.timeMs)
  return read === undefined ? undefined : chosen.reduce((sum, meter) => sum + read(meter), 0)
}

function reader(period: number, date: readonly number[], timeMs: number): ((meter: EnergyMeter) => number) | undefined {
  const isNow = when(period, timeMs).every((byte, index) => byte === date[index])
  if (period === 0) return ({ totalWh }) => totalWh
  if (period === 1) return isNow ? ({ todayWh }) => todayWh : undefined
  if (period === 2) return ({ monthWh }) => monthWh
  if (period === 3) return isNow ? ({ yearWh }) => yearWh : ({ lastYearWh }) => lastYearWh
  return undefined
}

/** The last two selector bytes: today, or this year. */
function when(period: number, timeMs: number): readonly [number, number] {
  if (period === 0) return [0x00, 0x30]
  if (period !== 1) return [0x00, 0x32]
  const date = new Date(timeMs)
  const month = date.getUTCMonth() + 1
  const day = date.getUTCDate()
  // Month and day share a byte: the upper half counts half months from January or from August, 3Q says which.
  const late = month > 7
  const high = 2 * (late ? month - 8 : month) + (day > 15 ? 1 : 0)
  return [(high << 4) | (day > 15 ? day - 16 : day), late ? 0x33 : 0x32]
}
