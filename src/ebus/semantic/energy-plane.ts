/**
 * Energy plane: consumed gas and electricity, in kWh.
 *
 *   today, this year   from B516, which the regulator broadcasts
 *   month, all time    from its registers
 *
 * Each figure has one source, so nothing is counted twice and nothing unknown becomes zero.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { requireNumberDatatype } from '../wire/datatype-parser.ts'
import { readBusTime } from './bus-clock.ts'
import { ENERGY_METER_CODES, ENERGY_USE_CODES, encodeDaySelector, encodeYearSelector } from './energy-selector.ts'
import { PlaneFieldReader, isReadingStale } from './plane-reader.ts'
import type { FieldFreshness, SemanticPlane, PlaneSources, FieldValueWithFreshness } from './plane-reader.ts'
import { toEnergyReadKey } from './read-key.ts'
import type { RegulatorRegister } from './register.ts'
import { SYSTEM_REGISTERS } from './regulator-register-map.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'

const WH = requireNumberDatatype('EXP')
const WH_PER_KWH = 1_000

interface SeriesRegisters {
  readonly lastMonth: RegulatorRegister
  readonly month: RegulatorRegister
  readonly total: RegulatorRegister
}

const REGISTERS: Readonly<Record<string, SeriesRegisters>> = {
  'gas.climate': {
    month: SYSTEM_REGISTERS.gasHeatingMonth,
    lastMonth: SYSTEM_REGISTERS.gasHeatingLastMonth,
    total: SYSTEM_REGISTERS.gasHeatingTotal,
  },
  'gas.dhw': {
    month: SYSTEM_REGISTERS.gasDhwMonth,
    lastMonth: SYSTEM_REGISTERS.gasDhwLastMonth,
    total: SYSTEM_REGISTERS.gasDhwTotal,
  },
  'electric.climate': {
    month: SYSTEM_REGISTERS.electricHeatingMonth,
    lastMonth: SYSTEM_REGISTERS.electricHeatingLastMonth,
    total: SYSTEM_REGISTERS.electricHeatingTotal,
  },
  'electric.dhw': {
    month: SYSTEM_REGISTERS.electricDhwMonth,
    lastMonth: SYSTEM_REGISTERS.electricDhwLastMonth,
    total: SYSTEM_REGISTERS.electricDhwTotal,
  },
}

export function buildEnergyPlane(parts: PlaneSources, nowMs: number): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  const meter = (name: Meter): JsonObject => ({
    dhw: series(reader, { meter: name, use: 'dhw' }, nowMs),
    climate: series(reader, { meter: name, use: 'climate' }, nowMs),
  })
  const data = { gas: meter('gas'), electric: meter('electric'), solar: meter('solar') }
  const plane = reader.plane(data)
  return plane.fields.size === 0 ? reader.plane(null) : plane
}

type Meter = keyof typeof ENERGY_METER_CODES

function series(
  reader: PlaneFieldReader,
  { meter, use }: { readonly meter: Meter; readonly use: 'dhw' | 'climate' },
  nowMs: number,
): JsonObject {
  const path = `${meter}.${use}`
  const selectors = [
    ENERGY_METER_CODES[meter],
    use === 'dhw' ? ENERGY_USE_CODES.dhw : ENERGY_USE_CODES.heating,
  ] as const
  const date = readBusTime(reader.shadow, nowMs)
  const bySelector = (selector: readonly number[]): FieldValueWithFreshness<number> | undefined =>
    reader.readingOf(toEnergyReadKey(selector), 'config', wattHours)
  const registers = REGISTERS[path]
  const byRegister = (register: RegulatorRegister | undefined): FieldValueWithFreshness<number> | undefined => {
    const reading = register === undefined ? undefined : reader.reading(register)
    return reading !== undefined && typeof reading.value === 'number' ? { ...reading, value: reading.value } : undefined
  }
  const take = (
    name: string,
    reading: FieldValueWithFreshness<number> | undefined,
  ): { value: Json; meta: JsonObject } => ({
    value: reader.take(`${path}.${name}`, reading) ?? null,
    meta: metaOf(reading, nowMs),
  })
  const today = take('today', date === undefined ? undefined : bySelector(encodeDaySelector(...selectors, date)))
  const yearly = [
    take('yearly.0', date === undefined ? undefined : bySelector(encodeYearSelector(...selectors, date.year))),
    take('yearly.1', byRegister(registers?.total)),
  ]
  const monthly = [take('monthly.0', byRegister(registers?.lastMonth)), take('monthly.1', byRegister(registers?.month))]
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

/** The age is not included, because the data would change with every call. The envelope's `meta` has it. */
function metaOf(freshness: FieldFreshness | undefined, nowMs: number): JsonObject {
  if (freshness === undefined) return { freshness_state: 'unknown', provenance: 'none', stale: true }
  const stale = isReadingStale(freshness, nowMs)
  return {
    freshness_state: stale ? 'stale' : 'fresh',
    provenance: freshness.source,
    last_observed_utc: formatIsoTime(freshness.atMs),
    stale,
  }
}
