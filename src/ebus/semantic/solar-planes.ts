/**
 * Solar planes: what a function module measures where its configuration says what that is.
 */
import { omitUndefined } from '../../core/json.ts'
import { resolveFm5Mode } from './fm5-module.ts'
import { PlaneFieldReader } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources } from './plane-reader.ts'
import { CYLINDER_REGISTERS, SOLAR_REGISTERS } from './regulator-register-map.ts'

const CYLINDERS = 2

export function buildFm5ModePlane(parts: PlaneSources): SemanticPlane {
  return new PlaneFieldReader(parts).plane(resolveFm5Mode(parts.topology, parts.shadow) ?? 'ABSENT')
}

export function buildSolarPlane(parts: PlaneSources): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  const mode = resolveFm5Mode(parts.topology, parts.shadow)
  if (mode !== 'INTERPRETED') return reader.plane(mode === undefined ? null : {})
  const data = omitUndefined({
    collector_temperature_c: reader.number('collector_temperature_c', SOLAR_REGISTERS.collector),
    return_temperature_c: reader.number('return_temperature_c', SOLAR_REGISTERS.return),
    pump_active: reader.flag('pump_active', SOLAR_REGISTERS.pump),
    current_yield: reader.number('current_yield', SOLAR_REGISTERS.yield),
    pump_hours: reader.number('pump_hours', SOLAR_REGISTERS.pumpHours),
    solar_enabled: reader.flag('solar_enabled', SOLAR_REGISTERS.enabled),
    function_mode: reader.flag('function_mode', SOLAR_REGISTERS.functionMode),
  })
  return reader.plane(reader.isKnown(SOLAR_REGISTERS.collector) ? data : null)
}

/** A cylinder without a temperature that can be read is a setting, not a cylinder. */
export function buildCylindersPlane(parts: PlaneSources): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  const mode = resolveFm5Mode(parts.topology, parts.shadow)
  if (mode === undefined || (mode === 'INTERPRETED' && !reader.isKnown(CYLINDER_REGISTERS.temperature)))
    return reader.plane(null)
  const instances = mode === 'INTERPRETED' ? Array.from({ length: CYLINDERS }, (_, instance) => instance) : []
  return reader.plane(
    instances
      .filter((instance) => reader.peek(CYLINDER_REGISTERS.temperature, instance) !== undefined)
      .map((instance) => {
        const path = (field: string): string => `${instance}.${field}`
        return {
          index: instance,
          ...omitUndefined({
            temperature_c: reader.number(path('temperature_c'), CYLINDER_REGISTERS.temperature, instance),
            max_setpoint_c: reader.number(path('max_setpoint_c'), CYLINDER_REGISTERS.maxSetpoint, instance),
            charge_hysteresis_c: reader.number(path('charge_hysteresis_c'), CYLINDER_REGISTERS.hysteresis, instance),
            charge_offset_c: reader.number(path('charge_offset_c'), CYLINDER_REGISTERS.offset, instance),
          }),
        }
      }),
  )
}
