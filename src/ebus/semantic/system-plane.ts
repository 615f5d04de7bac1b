/**
 * System: what belongs to the whole installation and to no room.
 */
import { omitUndefined } from '../../core/json.ts'
import { requireNumberDatatype } from '../wire/datatype-parser.ts'
import { PlaneFieldReader, pickNewestReading } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources, FieldValueWithFreshness } from './plane-reader.ts'
import { CLOCK_READ_KEY } from './read-key.ts'
import { SYSTEM_REGISTERS } from './regulator-register-map.ts'

const OUTSIDE = requireNumberDatatype('D2B')

export function buildSystemPlane(parts: PlaneSources): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  if (parts.topology.regulator === undefined) return reader.plane(null)
  const state = (field: string): string => `state.${field}`
  const config = (field: string): string => `config.${field}`
  return reader.plane({
    state: omitUndefined({
      system_off: reader.flag(state('system_off'), SYSTEM_REGISTERS.systemOff),
      system_water_pressure: reader.number(state('system_water_pressure'), SYSTEM_REGISTERS.waterPressure),
      system_flow_temperature: reader.number(state('system_flow_temperature'), SYSTEM_REGISTERS.flowTemperature),
      outdoor_temperature: outdoor(reader, state('outdoor_temperature')),
      outdoor_temperature_avg24h: reader.number(state('outdoor_temperature_avg24h'), SYSTEM_REGISTERS.outdoorAverage),
      maintenance_due: reader.flag(state('maintenance_due'), SYSTEM_REGISTERS.maintenanceDue),
      hwc_cylinder_temperature_top: reader.number(state('hwc_cylinder_temperature_top'), SYSTEM_REGISTERS.cylinderTop),
      hwc_cylinder_temperature_bottom: reader.number(
        state('hwc_cylinder_temperature_bottom'),
        SYSTEM_REGISTERS.cylinderBottom,
      ),
    }),
    config: omitUndefined({
      adaptive_heating_curve: reader.flag(config('adaptive_heating_curve'), SYSTEM_REGISTERS.adaptiveHeatingCurve),
      alternative_point: reader.number(config('alternative_point'), SYSTEM_REGISTERS.alternativePoint),
      heating_circuit_bivalence_point: reader.number(
        config('heating_circuit_bivalence_point'),
        SYSTEM_REGISTERS.heatingBivalencePoint,
      ),
      dhw_bivalence_point: reader.number(config('dhw_bivalence_point'), SYSTEM_REGISTERS.dhwBivalencePoint),
      hc_emergency_temperature: reader.number(
        config('hc_emergency_temperature'),
        SYSTEM_REGISTERS.emergencyTemperature,
      ),
      hwc_max_flow_temp_desired: reader.number(config('hwc_max_flow_temp_desired'), SYSTEM_REGISTERS.dhwMaxFlow),
      max_room_humidity: reader.number(config('max_room_humidity'), SYSTEM_REGISTERS.maxRoomHumidity),
      maintenance_date: reader.text(config('maintenance_date'), SYSTEM_REGISTERS.maintenanceDate),
      installer_name: joined(
        reader.text(config('installer_name'), SYSTEM_REGISTERS.installerName1),
        reader.text(config('installer_name'), SYSTEM_REGISTERS.installerName2),
      ),
    }),
    properties: omitUndefined({
      system_scheme: reader.number('properties.system_scheme', SYSTEM_REGISTERS.systemScheme),
      module_configuration_vr71: reader.number(
        'properties.module_configuration_vr71',
        SYSTEM_REGISTERS.moduleConfiguration,
      ),
    }),
  })
}

/** From the register, or from what the regulator tells everybody each minute, whichever is newer. */
function outdoor(reader: PlaneFieldReader, path: string): number | undefined {
  const broadcast = reader.readingOf(CLOCK_READ_KEY, 'state_fast', (payload) => {
    const decoded = OUTSIDE.decode(payload)
    return decoded.ok && decoded.value !== undefined ? Number(decoded.value.toFixed(3)) : undefined
  })
  const polled = reader.reading(SYSTEM_REGISTERS.outdoorTemperature)
  const number: FieldValueWithFreshness<number> | undefined =
    polled !== undefined && typeof polled.value === 'number' ? { ...polled, value: polled.value } : undefined
  return reader.take(path, pickNewestReading(number, broadcast))
}

/** Two registers of six characters each; the second is often empty. */
function joined(first: string | undefined, second: string | undefined): string | undefined {
  return first === undefined && second === undefined ? undefined : `${first ?? ''}${second ?? ''}`.trim()
}
