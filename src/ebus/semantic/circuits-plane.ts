/**
 * Circuits plane: heating circuits with their own pump, and the device that manages each.
 */
import { omitUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { resolveFm5Mode } from './fm5-module.ts'
import { PlaneFieldReader } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources } from './plane-reader.ts'
import { CIRCUIT_REGISTERS, SYSTEM_REGISTERS } from './regulator-register-map.ts'
import { DHW_CIRCUIT_INSTANCE } from './topology.ts'

const TYPES = ['inactive', 'heating', 'fixed_value', 'dhw', 'return_increase'] as const
const STATES = ['standby', 'heating', 'cooling'] as const
const ROOM_CONTROLS = ['off', 'modulating', 'thermostat'] as const
const PLAUSIBLE_CELSIUS: readonly [number, number] = [5, 95]

/** The system scheme and module configuration with which only the function module runs the circuits. */
const MODULE_SCHEME = 1
const MODULE_CONFIGURATION = 2

export function formatCircuitType(type: number): string {
  return TYPES[type] ?? `type_${type}`
}

export function buildCircuitsPlane(parts: PlaneSources): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  if (!parts.topology.circuitsKnown) return reader.plane(null)
  const instances = parts.topology.circuits().filter((instance) => isThere(reader, instance))
  return reader.plane(instances.map((instance) => circuit(reader, instance)))
}

/** Circuit 9 has no type even if it is the one for hot water; a plausible temperature shows that it exists. */
function isThere(reader: PlaneFieldReader, instance: number): boolean {
  if (instance !== DHW_CIRCUIT_INSTANCE || (reader.peek(CIRCUIT_REGISTERS.type, instance) ?? 0) !== 0) return true
  const [min, max] = PLAUSIBLE_CELSIUS
  return [CIRCUIT_REGISTERS.flowTemperature, CIRCUIT_REGISTERS.calculatedFlow].some((register) => {
    const celsius = reader.peek(register, instance)
    return celsius !== undefined && celsius >= min && celsius <= max
  })
}

function circuit(reader: PlaneFieldReader, instance: number): JsonObject {
  const state = (field: string): string => `${instance}.state.${field}`
  const config = (field: string): string => `${instance}.config.${field}`
  const type = reader.number(`${instance}.circuit_type`, CIRCUIT_REGISTERS.type, instance)
  const mixer = reader.number(state('mixer_position_pct'), CIRCUIT_REGISTERS.mixerPosition, instance)
  const circuitState = reader.number(state('circuit_state'), CIRCUIT_REGISTERS.state, instance)
  const roomControl = reader.number(config('room_temp_control'), CIRCUIT_REGISTERS.roomControl, instance)
  return {
    index: instance,
    circuit_type: instance === DHW_CIRCUIT_INSTANCE && (type ?? 0) === 0 ? 'dhw' : formatCircuitType(type ?? 0),
    has_mixer: mixer !== undefined,
    state: omitUndefined({
      pump_active: reader.flag(state('pump_active'), CIRCUIT_REGISTERS.pump, instance),
      mixer_position_pct: mixer,
      flow_temperature_c: reader.number(state('flow_temperature_c'), CIRCUIT_REGISTERS.flowTemperature, instance),
      flow_setpoint_c: reader.number(state('flow_setpoint_c'), CIRCUIT_REGISTERS.flowSetpoint, instance),
      calc_flow_temp_c: reader.number(state('calc_flow_temp_c'), CIRCUIT_REGISTERS.calculatedFlow, instance),
      circuit_state: circuitState === undefined ? undefined : (STATES[circuitState] ?? `state_${circuitState}`),
      humidity: reader.number(state('humidity'), CIRCUIT_REGISTERS.humidity, instance),
      dew_point: reader.number(state('dew_point'), CIRCUIT_REGISTERS.dewPoint, instance),
      pump_hours: reader.number(state('pump_hours'), CIRCUIT_REGISTERS.pumpHours, instance),
      pump_starts: reader.number(state('pump_starts'), CIRCUIT_REGISTERS.pumpStarts, instance),
    }),
    config: omitUndefined({
      heating_curve: reader.number(config('heating_curve'), CIRCUIT_REGISTERS.heatingCurve, instance),
      flow_temp_max_c: reader.number(config('flow_temp_max_c'), CIRCUIT_REGISTERS.flowMax, instance),
      flow_temp_min_c: reader.number(config('flow_temp_min_c'), CIRCUIT_REGISTERS.flowMin, instance),
      summer_limit_c: reader.number(config('summer_limit_c'), CIRCUIT_REGISTERS.summerLimit, instance),
      frost_prot_c: reader.number(config('frost_prot_c'), CIRCUIT_REGISTERS.frostProtection, instance),
      room_temp_control: roomControl === undefined ? undefined : (ROOM_CONTROLS[roomControl] ?? `mode_${roomControl}`),
      cooling_enabled: reader.flag(config('cooling_enabled'), CIRCUIT_REGISTERS.coolingEnabled, instance),
    }),
    managing_device: managingDevice(reader),
  }
}

/** Named only if the topology is unambiguous; a guess would be worse than nothing. */
function managingDevice(reader: PlaneFieldReader): JsonObject {
  const { topology, shadow } = reader
  const mode = resolveFm5Mode(topology, shadow)
  const { regulator, module } = topology
  const scheme = reader.peek(SYSTEM_REGISTERS.systemScheme)
  const configuration = reader.peek(SYSTEM_REGISTERS.moduleConfiguration)
  if (mode === 'INTERPRETED' && scheme === MODULE_SCHEME && configuration === MODULE_CONFIGURATION)
    return omitUndefined({
      role: 'FUNCTION_MODULE',
      device_id: module?.identity?.deviceId ?? 'VR_71',
      address: module?.address ?? 0x26,
    })
  // Without any module, only the regulator can be the manager.
  if (mode === 'ABSENT' && regulator !== undefined)
    return omitUndefined({ role: 'REGULATOR', device_id: regulator.deviceId, address: regulator.address })
  return { role: 'UNKNOWN' }
}
