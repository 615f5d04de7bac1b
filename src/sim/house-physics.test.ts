import { describe, expect, it } from 'vitest'

import { createInitialHouseState } from './initial-house-state.ts'
import type { SimulatedHouse } from './house-state.ts'
import { advanceSimulatedHouse } from './house-physics.ts'

const HOUR = 3_600
const MONDAY = Date.UTC(2026, 0, 12)

/** One sample a minute. */
function live(house: SimulatedHouse, hours: number): SimulatedHouse[] {
  const moments: SimulatedHouse[] = []
  for (let minute = 0, now = house; minute < hours * 60; minute++) moments.push((now = advanceSimulatedHouse(now, 60)))
  return moments
}

const withZone = (house: SimulatedHouse, change: Partial<SimulatedHouse['zones'][number]>): SimulatedHouse => ({
  ...house,
  zones: house.zones.map((zone) => ({ ...zone, ...change })),
})

describe('simulated house physics', () => {
  it('is the same in every run for one seed, and differs for another', () => {
    expect(advanceSimulatedHouse(createInitialHouseState(1, MONDAY), 6 * HOUR)).toEqual(
      advanceSimulatedHouse(createInitialHouseState(1, MONDAY), 6 * HOUR),
    )
    expect(advanceSimulatedHouse(createInitialHouseState(1, MONDAY), 6 * HOUR)).not.toEqual(
      advanceSimulatedHouse(createInitialHouseState(2, MONDAY), 6 * HOUR),
    )
  })

  it('stays within plausible values for a week', () => {
    for (const { weather, zones, boiler, dhw, circuits, solar } of live(createInitialHouseState(3, MONDAY), 168)) {
      const inside = [
        weather.outsideCelsius > -25 && weather.outsideCelsius < 40,
        zones.every(({ roomCelsius }) => roomCelsius > 14 && roomCelsius < 26),
        boiler.flowCelsius > -5 && boiler.flowCelsius < 90,
        boiler.modulationPct === 0 || (boiler.modulationPct >= 21 && boiler.modulationPct <= 100),
        boiler.pressureBar > 1 && boiler.pressureBar < 2.5,
        circuits.every(({ flowCelsius }) => flowCelsius > 5 && flowCelsius < 80),
        dhw.topCelsius > 20 && dhw.topCelsius < 80 && dhw.bottomCelsius > 8,
        solar.collectorCelsius > -30 && solar.collectorCelsius < 140,
      ]
      expect(inside).toEqual(inside.map(() => true))
    }
  })

  it('keeps a heated room near its target and lets it cool at night', () => {
    const moments = live(createInitialHouseState(4, MONDAY), 48).slice(24 * 60)
    const at = (hour: number): number => moments[hour * 60]?.zones[0]?.roomCelsius ?? 0
    expect(at(21)).toBeGreaterThan(20.8)
    expect(at(21)).toBeLessThan(22)
    expect(at(5)).toBeLessThan(at(21) - 0.5)
  })

  it('follows a changed program', () => {
    const start = createInitialHouseState(5, MONDAY)
    const warmer = withZone(start, {
      program: Array.from({ length: 7 }, () => [{ startMinute: 0, endMinute: 1_440, celsius: 23 }]),
    })
    const colder = withZone(start, { program: Array.from({ length: 7 }, () => []) })
    const after = (house: SimulatedHouse): number => advanceSimulatedHouse(house, 12 * HOUR).zones[0]?.roomCelsius ?? 0
    expect(after(warmer)).toBeGreaterThan(22)
    expect(after(colder)).toBeLessThan(19)
  })

  it('lets quick veto override manual mode, and off override both', () => {
    const start = createInitialHouseState(6, MONDAY + 3 * HOUR * 1_000)
    const target = (change: Partial<SimulatedHouse['zones'][number]>): number =>
      advanceSimulatedHouse(withZone(start, change), 10).zones[0]?.targetCelsius ?? 0
    expect(target({})).toBe(17)
    expect(target({ mode: 'manual', dayCelsius: 19.5 })).toBe(19.5)
    expect(target({ mode: 'manual', quickVeto: { celsius: 24, untilMs: start.timeMs + 60_000 } })).toBe(24)
    expect(target({ mode: 'off', quickVeto: { celsius: 24, untilMs: start.timeMs + 60_000 } })).toBe(5)
  })

  it('burns gas in cycles to heat, and counts it', () => {
    const moments = live(createInitialHouseState(7, MONDAY), 24)
    const flames = moments.map(({ boiler }) => boiler.flame)
    const ignitions = flames.filter((flame, index) => flame && flames[index - 1] === false).length
    expect(ignitions).toBeGreaterThan(3)
    expect(ignitions).toBeLessThan(120)
    const today = (moments.at(-2)?.energy.gasHeating.todayWh ?? 0) / 1_000
    expect(today).toBeGreaterThan(20)
    expect(today).toBeLessThan(250)
  })

  it('reheats the cylinder after hot water was drawn', () => {
    const moments = live(createInitialHouseState(8, MONDAY), 48)
    expect(moments.some(({ dhw }) => dhw.drawLpm > 0)).toBe(true)
    expect(moments.some(({ boiler }) => boiler.mode === 'dhw' && boiler.flame)).toBe(true)
    expect(moments.at(-1)?.dhw.topCelsius).toBeGreaterThan(38)
  })

  it('resets the daily meter at midnight and the monthly meter on the first', () => {
    const before = advanceSimulatedHouse(createInitialHouseState(9, Date.UTC(2026, 0, 31, 12)), 11 * HOUR)
    const after = advanceSimulatedHouse(before, 2 * HOUR)
    expect(before.energy.gasHeating.todayWh).toBeGreaterThan(after.energy.gasHeating.todayWh)
    expect(after.energy.gasHeating.lastMonthWh).toBeGreaterThanOrEqual(before.energy.gasHeating.monthWh)
    expect(after.energy.gasHeating.totalWh).toBeGreaterThanOrEqual(before.energy.gasHeating.totalWh)
  })
})
