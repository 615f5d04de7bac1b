/**
 * Energy: what was burnt and what was drawn, in kWh.
 *
 *   today, this year   from B516, which the regulator tells everybody
 *   month, all time    from its registers
 *
 * Each figure has one owner, so nothing is counted twice and nothing unknown becomes zero.
 *
 * Pure.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { numeric } from '../wire/datatypes.ts'
import { busTime } from './bus-clock.ts'
import { METER, USE, daySelector, yearSelector } from './energy-selector.ts'
import { PlaneReader, isStale } from './plane-reader.ts'
import type { FieldFreshness, Plane, PlaneParts, Reading } from './plane-reader.ts'
import { energyKey } from './read-key.ts'
import type { Register } from './register.ts'
import { SYSTEM } from './register-map.ts'

const WH = numeric('EXP')
const WH_PER_KWH = 1_000

interface SeriesRegisters {
  readonly lastMonth: Register
  readonly month: Register
  readonly total: Register
}

const REGISTERS: Readonly<Record<string, SeriesRegisters>> = {
  'gas.climate': {
    month: SYSTEM.gasHeatingMonth,
    lastMonth: SYSTEM.gasHeatingLastMonth,
    total: SYSTEM.gasHeatingTotal,
  },
  'gas.dhw': { month: SYSTEM.gasDhwMonth, lastMonth: SYSTEM.gasDhwLastMonth, total: SYSTEM.gasDhwTotal },
  'electric.climate': {
    month: SYSTEM.electricHeatingMonth,
    lastMonth: SYSTEM.electricHeatingLastMonth,
    total: SYSTEM.electricHeatingTotal,
  },
  'electric.dhw': {
    month: SYSTEM.electricDhwMonth,
    lastMonth: SYSTEM.electricDhwLastMonth,
    total: SYSTEM.electricDhwTotal,
  },
}

export function energyPlane(parts: PlaneParts, nowMs: number): Plane {
  const reader = new PlaneReader(parts)
  const meter = (name: Meter): JsonObject => ({
    dhw: series(reader, { meter: name, use: 'dhw' }, nowMs),
    climate: series(reader, { meter: name, use: 'climate' }, nowMs),
  })
  const data = { gas: meter('gas'), electric: meter('electric'), solar: meter('solar') }
  const plane = reader.plane(data)
  return plane.fields.size === 0 ? reader.plane(null) : plane
}

type Meter = keyof typeof METER

function series(
  reader: PlaneReader,
  { meter, use }: { readonly meter: Meter; readonly use: 'dhw' | 'climate' },
  nowMs: number,
): JsonObject {
  const path = `${meter}.${use}`
  const selectors = [METER[meter], use === 'dhw' ? USE.dhw : USE.heating] as const
  const date = busTime(reader.shadow, nowMs)
  const told = (selector: readonly number[]): Reading<number> | undefined =>
    reader.readingOf(energyKey(selector), 'config', wattHours)
  const registers = REGISTERS[path]
  const asked = (register: Register | undefined): Reading<number> | undefined => {
    const reading = register === undefined ? undefined : reader.reading(register)
    return reading !== undefined && typeof reading.value === 'number' ? { ...reading, value: reading.value } : undefined
  }
  const take = (name: string, reading: Reading<number> | undefined): { value: Json; meta: JsonObject } => ({
    value: reader.take(`${path}.${name}`, reading) ?? null,
    meta: metaOf(reading, nowMs),
  })
  const today = take('today', date === undefined ? undefined : told(daySelector(...selectors, date)))
  const yearly = [
    take('yearly.0', date === undefined ? undefined : told(yearSelector(...selectors, date.year))),
    take('yearly.1', asked(registers?.total)),
  ]
  const monthly = [take('monthly.0', asked(registers?.lastMonth)), take('monthly.1', asked(registers?.month))]
  const [thisYear, allTime] = yearly
  const [lastMonth, thisMonth] = monthly
  return {
    unit: 'kWh',
    by_period: {
      today: today.value,
      this_month: thisMonth?.value ?? null,
      last_month: lastMonth?.value ?? null,
      this_year: thisYear?.value ?? null,
      all_time: allTime?.value ?? null,
    },
    today: today.value,
    yearly: yearly.map(({ value }) => value),
    monthly: monthly.map(({ value }) => value),
    today_meta: today.meta,
    yearly_meta: yearly.map(({ meta }) => meta),
    monthly_meta: monthly.map(({ meta }) => meta),
  }
}

function wattHours(payload: Uint8Array): number | undefined {
  const decoded = WH.decode(payload)
  return decoded.ok && decoded.value !== undefined ? Number((decoded.value / WH_PER_KWH).toFixed(3)) : undefined
}

/** No age in here: it would make the data another one with every call. The envelope's `meta` has it. */
function metaOf(freshness: FieldFreshness | undefined, nowMs: number): JsonObject {
  if (freshness === undefined) return { freshness_state: 'unknown', provenance: 'none', stale: true }
  const stale = isStale(freshness, nowMs)
  return {
    freshness_state: stale ? 'stale' : 'fresh',
    provenance: freshness.source,
    last_observed_utc: new Date(freshness.atMs).toISOString(),
    stale,
  }
}
