/**
 * Measurements: numbers about a house, extracted from the answers of the families' tools. The shapes are the contracts'
 * (spec 1 semantic payloads, spec 4 devices); what is missing or malformed is skipped.
 *
 *   ebus/zone-1/current_temp_c · ebus/dhw/current_temp_c · ebus/boiler/flow_temperature_c · homeseer/4711
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'

export interface Measurement {
  readonly id: string
  readonly value: number
}

/** A periodic call for measurements: the tool, its arguments, and how to read the answer. */
export interface MeasurementCall {
  readonly tool: string
  readonly arguments: JsonObject
  readonly measurements: (data: Json) => readonly Measurement[]
}

const BOILER = ['flow_temperature_c', 'modulation_pct', 'water_pressure_bar', 'flame_active']
const MAX_DEVICES = 300
const TEMPERATURE = 'temperature'

export const MEASUREMENT_CALLS: readonly MeasurementCall[] = [
  {
    tool: 'ebus.v1.semantic.snapshot.get',
    arguments: { planes: ['zones', 'dhw', 'boiler_status', 'system'], allow_partial: true },
    // A saved snapshot shows the house as it was and not as it is, so it is skipped.
    measurements: (data) =>
      at(data, 'consistency', 'mode') === 'LIVE' ? ebusMeasurements(at(data, 'data', 'planes')) : [],
  },
  {
    tool: 'hs4.devices.list',
    arguments: { capability: TEMPERATURE, limit: MAX_DEVICES },
    measurements: homeseerMeasurements,
  },
]

/** Extracts the measurements from a tool's answer, whoever called the tool. */
export function extractMeasurements(tool: string, data: Json): readonly Measurement[] {
  return MEASUREMENT_CALLS.find((probe) => probe.tool === tool)?.measurements(data) ?? []
}

function ebusMeasurements(planes: Json): readonly Measurement[] {
  const zones = listOf(at(planes, 'zones')).flatMap((zone) => {
    const id = at(zone, 'id')
    if (typeof id !== 'string' || id.length > 64) return []
    return [
      ...number(`ebus/${id}/current_temp_c`, at(zone, 'state', 'current_temp_c')),
      ...number(`ebus/${id}/target_temp_c`, at(zone, 'config', 'target_temp_c')),
      ...number(`ebus/${id}/current_humidity_pct`, at(zone, 'state', 'current_humidity_pct')),
    ]
  })
  const boiler = BOILER.flatMap((field) => number(`ebus/boiler/${field}`, at(planes, 'boiler_status', 'state', field)))
  return [
    ...zones,
    ...boiler,
    ...number('ebus/dhw/current_temp_c', at(planes, 'dhw', 'state', 'current_temp_c')),
    ...number('ebus/outside/temperature_c', at(planes, 'system', 'state', 'outdoor_temperature')),
  ]
}

function homeseerMeasurements(data: Json): readonly Measurement[] {
  return (
    listOf(at(data, 'items'))
      // A list of the whole house includes lamps and locks; charts are drawn of measurements only.
      .filter((device) => listOf(at(device, 'capabilities')).includes(TEMPERATURE))
      .slice(0, MAX_DEVICES)
      .flatMap((device) => {
        const ref = at(device, 'ref')
        return typeof ref === 'number' ? number(`homeseer/${ref}`, at(device, 'value')) : []
      })
  )
}

function number(id: string, value: Json): readonly Measurement[] {
  if (typeof value === 'boolean') return [{ id, value: value ? 1 : 0 }]
  return typeof value === 'number' && Number.isFinite(value) ? [{ id, value }] : []
}

function at(value: Json, ...path: readonly string[]): Json {
  let found = value
  for (const step of path) found = isJsonObject(found) && Object.hasOwn(found, step) ? (found[step] ?? null) : null
  return found
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}
