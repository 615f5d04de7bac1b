/**
 * Solar and cylinders: what a function module measures where its configuration says what that is.
 *
 * Pure.
 */
import { fm5Mode } from './fm5.ts'
import { PlaneReader, known } from './plane-reader.ts'
import type { Plane, PlaneParts } from './plane-reader.ts'
import { CYLINDER, SOLAR } from './register-map.ts'

const CYLINDERS = 2

export function fm5ModePlane(parts: PlaneParts): Plane {
  return new PlaneReader(parts).plane(fm5Mode(parts.topology, parts.shadow) ?? 'ABSENT')
}

export function solarPlane(parts: PlaneParts): Plane {
  const reader = new PlaneReader(parts)
  const mode = fm5Mode(parts.topology, parts.shadow)
  if (mode !== 'INTERPRETED') return reader.plane(mode === undefined ? null : {})
  const data = known({
    collector_temperature_c: reader.number('collector_temperature_c', SOLAR.collector),
    return_temperature_c: reader.number('return_temperature_c', SOLAR.return),
    pump_active: reader.flag('pump_active', SOLAR.pump),
    current_yield: reader.number('current_yield', SOLAR.yield),
    pump_hours: reader.number('pump_hours', SOLAR.pumpHours),
    solar_enabled: reader.flag('solar_enabled', SOLAR.enabled),
    function_mode: reader.flag('function_mode', SOLAR.functionMode),
  })
  return reader.plane(reader.isKnown(SOLAR.collector) ? data : null)
}

/** A cylinder without a temperature that can be read is a setting, not a cylinder. */
export function cylindersPlane(parts: PlaneParts): Plane {
  const reader = new PlaneReader(parts)
  const mode = fm5Mode(parts.topology, parts.shadow)
  if (mode === undefined || (mode === 'INTERPRETED' && !reader.isKnown(CYLINDER.temperature))) return reader.plane(null)
  const instances = mode === 'INTERPRETED' ? Array.from({ length: CYLINDERS }, (_, instance) => instance) : []
  return reader.plane(
    instances
      .filter((instance) => reader.peek(CYLINDER.temperature, instance) !== undefined)
      .map((instance) => {
        const path = (field: string): string => `${instance}.${field}`
        return {
          index: instance,
          ...known({
            temperature_c: reader.number(path('temperature_c'), CYLINDER.temperature, instance),
            max_setpoint_c: reader.number(path('max_setpoint_c'), CYLINDER.maxSetpoint, instance),
            charge_hysteresis_c: reader.number(path('charge_hysteresis_c'), CYLINDER.hysteresis, instance),
            charge_offset_c: reader.number(path('charge_offset_c'), CYLINDER.offset, instance),
          }),
        }
      }),
  )
}
