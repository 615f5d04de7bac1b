/**
 * System: what belongs to the whole installation and to no room.
 *
 * Pure.
 */
import { numeric } from '../wire/datatypes.ts'
import { PlaneReader, known, newest } from './plane-reader.ts'
import type { Plane, PlaneParts, Reading } from './plane-reader.ts'
import { CLOCK_KEY } from './read-key.ts'
import { SYSTEM } from './register-map.ts'

const OUTSIDE = numeric('D2B')

export function systemPlane(parts: PlaneParts): Plane {
  const reader = new PlaneReader(parts)
  if (parts.topology.regulator === undefined) return reader.plane(null)
  const state = (field: string): string => `state.${field}`
  const config = (field: string): string => `config.${field}`
  return reader.plane({
    state: known({
      system_off: reader.flag(state('system_off'), SYSTEM.systemOff),
      system_water_pressure: reader.number(state('system_water_pressure'), SYSTEM.waterPressure),
      system_flow_temperature: reader.number(state('system_flow_temperature'), SYSTEM.flowTemperature),
      outdoor_temperature: outdoor(reader, state('outdoor_temperature')),
      outdoor_temperature_avg24h: reader.number(state('outdoor_temperature_avg24h'), SYSTEM.outdoorAverage),
      maintenance_due: reader.flag(state('maintenance_due'), SYSTEM.maintenanceDue),
      hwc_cylinder_temperature_top: reader.number(state('hwc_cylinder_temperature_top'), SYSTEM.cylinderTop),
      hwc_cylinder_temperature_bottom: reader.number(state('hwc_cylinder_temperature_bottom'), SYSTEM.cylinderBottom),
    }),
    config: known({
      adaptive_heating_curve: reader.flag(config('adaptive_heating_curve'), SYSTEM.adaptiveHeatingCurve),
      alternative_point: reader.number(config('alternative_point'), SYSTEM.alternativePoint),
      heating_circuit_bivalence_point: reader.number(
        config('heating_circuit_bivalence_point'),
        SYSTEM.heatingBivalencePoint,
      ),
      dhw_bivalence_point: reader.number(config('dhw_bivalence_point'), SYSTEM.dhwBivalencePoint),
      hc_emergency_temperature: reader.number(config('hc_emergency_temperature'), SYSTEM.emergencyTemperature),
      hwc_max_flow_temp_desired: reader.number(config('hwc_max_flow_temp_desired'), SYSTEM.dhwMaxFlow),
      max_room_humidity: reader.number(config('max_room_humidity'), SYSTEM.maxRoomHumidity),
      maintenance_date: reader.text(config('maintenance_date'), SYSTEM.maintenanceDate),
      installer_name: joined(
        reader.text(config('installer_name'), SYSTEM.installerName1),
        reader.text(config('installer_name'), SYSTEM.installerName2),
      ),
    }),
    properties: known({
      system_scheme: reader.number('properties.system_scheme', SYSTEM.systemScheme),
      module_configuration_vr71: reader.number('properties.module_configuration_vr71', SYSTEM.moduleConfiguration),
    }),
  })
}

/** From the register, or from what the regulator tells everybody each minute, whichever is newer. */
function outdoor(reader: PlaneReader, path: string): number | undefined {
  const told = reader.readingOf(CLOCK_KEY, 'state_fast', (payload) => {
    const decoded = OUTSIDE.decode(payload)
    return decoded.ok && decoded.value !== undefined ? Number(decoded.value.toFixed(3)) : undefined
  })
  const asked = reader.reading(SYSTEM.outdoorTemperature)
  const number: Reading<number> | undefined =
    asked !== undefined && typeof asked.value === 'number' ? { ...asked, value: asked.value } : undefined
  return reader.take(path, newest(number, told))
}

/** Two registers of six characters each; the second is often empty. */
function joined(first: string | undefined, second: string | undefined): string | undefined {
  return first === undefined && second === undefined ? undefined : `${first ?? ''}${second ?? ''}`.trim()
}
