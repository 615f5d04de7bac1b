/**
 * Zones plane: rooms, or groups of rooms, that are heated together.
 */
import { omitUndefined } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { formatCircuitType } from './circuits-plane.ts'
import { PlaneFieldReader } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources, FieldValueWithFreshness } from './plane-reader.ts'
import type { RegulatorRegister } from './register.ts'
import {
  CIRCUIT_REGISTERS,
  MAX_INSTANCE_COUNT,
  PAIRED_REGULATOR_REGISTER_GROUP,
  SYSTEM_REGISTERS,
  THERMOSTAT_REGISTER_GROUP,
  ZONE_REGISTERS,
  requireRemoteDeviceRegisters,
} from './regulator-register-map.ts'
import type { ZoneOperatingState } from './current-setpoint.ts'
import { isHolidayActive, computeCurrentSetpoint } from './current-setpoint.ts'

/** Values of 03/0006; 700 controllers call 2 day and have a 3, night. */
const MODE = { off: 0, auto: 1, manual: 2, night: 3 } as const
/**
 * Values of 03/000E. 2 is a party on 700 controllers; their successors have none, and some of them say 2 of a quick
 * veto.
 */
const SPECIAL = { party: 2, quickVeto: 3, dayAway: 4, dayAtHome: 5 } as const
const COOLING = 2
const VALVE_OPEN = 1
const HIGHEST_MAPPING = 0x20

export function buildZonesPlane(parts: PlaneSources, nowMs: number): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  if (!parts.topology.zonesKnown) return reader.plane(null)
  const zones = parts.topology.zones().map((instance) => zone(reader, instance, nowMs))
  return reader.plane(zones)
}

export function formatZoneId(instance: number): string {
  return `zone-${instance + 1}`
}

/** In one register, or in two with six letters each: whichever holds more of it. */
export function readZoneName(reader: PlaneFieldReader, instance: number): string {
  const part = (register: RegulatorRegister): string =>
    reader.text(`${formatZoneId(instance)}.name`, register, instance) ?? ''
  const short = part(ZONE_REGISTERS.name).trim()
  const long = `${part(ZONE_REGISTERS.namePart1)}${part(ZONE_REGISTERS.namePart2)}`.trim()
  const name = long.length > short.length ? long : short
  return name === '' ? `Zone ${instance + 1}` : name
}

function zone(reader: PlaneFieldReader, instance: number, nowMs: number): JsonObject {
  const id = formatZoneId(instance)
  const state = (field: string): string => `${id}.state.${field}`
  const config = (field: string): string => `${id}.config.${field}`
  const mapping = reader.number(config('room_temperature_zone_mapping'), ZONE_REGISTERS.sensorMapping, instance)
  const circuit = associatedCircuit(reader, mapping, instance)
  const mode = reader.number(config('operating_mode'), ZONE_REGISTERS.operatingMode, instance)
  const special = reader.number(state('special_function'), ZONE_REGISTERS.specialFunction, instance)
  const valve = reader.number(state('hvac_action'), ZONE_REGISTERS.valve, instance)
  const cooling = reader.peek(CIRCUIT_REGISTERS.state, circuit) === COOLING
  const canCool = reader.reading(CIRCUIT_REGISTERS.coolingEnabled, circuit)?.value === true
  const type = reader.peek(CIRCUIT_REGISTERS.type, circuit)
  const quickVeto = isQuickVeto(reader, special)
  const onHoliday = isHolidayActive(reader, instance, nowMs)
  const holidayStart = reader.text(config('holiday_start_date'), ZONE_REGISTERS.holidayStart, instance)
  // Times of a holiday that nobody has set are midnight, and mean nothing.
  const holidayTime = (field: string, register: RegulatorRegister): string | undefined =>
    holidayStart === undefined ? undefined : reader.text(config(field), register, instance)
  return {
    id,
    name: readZoneName(reader, instance),
    state: omitUndefined({
      current_temp_c: roomValue(reader, 'roomTemperature', { path: state('current_temp_c'), instance, mapping }),
      current_humidity_pct: roomValue(reader, 'humidity', { path: state('current_humidity_pct'), instance, mapping }),
      hvac_action: valve === undefined ? undefined : valve !== VALVE_OPEN ? 'idle' : cooling ? 'cooling' : 'heating',
      special_function: special === undefined ? undefined : String(special),
      ...wantedFields(reader, ordersOf(reader, { mode, special, quickVeto, onHoliday }), { instance, nowMs }),
    }),
    config: omitUndefined({
      operating_mode: modeText(mode, cooling),
      preset: presetText(mode, { special, quickVeto, onHoliday }),
      target_temp_c: targetOf(reader, config('target_temp_c'), instance),
      allowed_modes: type === undefined ? undefined : allowedModes(type, canCool),
      circuit_type: type === undefined ? undefined : formatCircuitType(type),
      associated_circuit: circuit,
      room_temperature_zone_mapping: mapping,
      day_setpoint_c: reader.number(config('day_setpoint_c'), findDaySetpointRegister(reader, instance), instance),
      night_setpoint_c: reader.number(config('night_setpoint_c'), ZONE_REGISTERS.nightSetpoint, instance),
      quick_veto: quickVeto,
      quick_veto_setpoint_c: reader.number(config('quick_veto_setpoint_c'), ZONE_REGISTERS.quickVetoSetpoint, instance),
      quick_veto_duration_h: reader.number(config('quick_veto_duration_h'), ZONE_REGISTERS.quickVetoHours, instance),
      quick_veto_expiry: quickVeto ? vetoExpiry(reader, config('quick_veto_expiry'), instance) : undefined,
      holiday_start_date: holidayStart,
      holiday_end_date: reader.text(config('holiday_end_date'), ZONE_REGISTERS.holidayEnd, instance),
      holiday_setpoint_c: reader.number(config('holiday_setpoint_c'), ZONE_REGISTERS.holidaySetpoint, instance),
      holiday_start_time: holidayTime('holiday_start_time', ZONE_REGISTERS.holidayStartTime),
      holiday_end_time: holidayTime('holiday_end_time', ZONE_REGISTERS.holidayEndTime),
    }),
  }
}

/**
 * Zones and circuits are paired by the mapping where it is a number that can be one, else by place. The mapping is the
 * number of a thermostat as well, so one that names no circuit of this house is nothing but that.
 */
function associatedCircuit(reader: PlaneFieldReader, mapping: number | undefined, instance: number): number {
  if (mapping === undefined || mapping < 1 || mapping > HIGHEST_MAPPING) return instance
  const mapped = mapping - 1
  const isActive = (circuit: number): boolean => (reader.peek(CIRCUIT_REGISTERS.type, circuit) ?? 0) !== 0
  if (!reader.topology.circuitsKnown || isActive(mapped)) return mapped
  const index = reader.peek(ZONE_REGISTERS.index, instance)
  return index !== undefined && isActive(index) ? index : instance
}

interface ZoneNumbers {
  readonly mode: number | undefined
  readonly special: number | undefined
  readonly quickVeto: boolean
  readonly onHoliday: boolean
}

const MODE_WORDS = ['off', 'auto', 'manual', 'night'] as const

function ordersOf(reader: PlaneFieldReader, { mode, special, quickVeto, onHoliday }: ZoneNumbers): ZoneOperatingState {
  const words = new Map<number, ZoneOperatingState['special']>([
    [SPECIAL.party, 'party'],
    [SPECIAL.dayAway, 'day_away'],
    [SPECIAL.dayAtHome, 'day_at_home'],
  ])
  return {
    systemOff: reader.reading(SYSTEM_REGISTERS.systemOff)?.value === true,
    mode: MODE_WORDS[mode ?? MODE.auto] ?? 'auto',
    special: quickVeto ? 'quick_veto' : (words.get(special ?? 0) ?? 'none'),
    onHoliday,
  }
}

/** The regulator's own figure where it gives one: it also knows what nobody has read. */
function wantedFields(
  reader: PlaneFieldReader,
  orders: ZoneOperatingState,
  { instance, nowMs }: { readonly instance: number; readonly nowMs: number },
): Readonly<Record<string, Json | undefined>> {
  const dayCelsius = reader.peek(findDaySetpointRegister(reader, instance), instance)
  const wanted = computeCurrentSetpoint(reader, orders, { instance, dayCelsius, nowMs })
  const setpoint = reader.number(
    `${formatZoneId(instance)}.state.wanted_now_c`,
    ZONE_REGISTERS.currentSetpoint,
    instance,
  )
  return { wanted_now_c: setpoint ?? wanted.celsius, wanted_because: wanted.reason, wanted_slot: wanted.slot }
}

/** What nobody has set yet counts as automatic, as the regulator itself does. */
function modeText(mode: number | undefined, cooling: boolean): string {
  if (mode === MODE.off) return 'off'
  if (mode !== MODE.manual && mode !== MODE.night) return 'auto'
  return cooling ? 'cool' : 'heat'
}

function presetText(mode: number | undefined, { special, quickVeto, onHoliday }: Omit<ZoneNumbers, 'mode'>): string {
  if (quickVeto) return 'quickveto'
  if (special === SPECIAL.dayAway || onHoliday) return 'away'
  return mode === undefined || mode === MODE.auto ? 'schedule' : 'manual'
}

/** A circuit of fixed value does not cool: whether one cools is a setting of its own. */
function allowedModes(type: number, canCool: boolean): readonly string[] {
  if (type === 0) return ['off']
  return canCool ? ['off', 'auto', 'heat', 'cool'] : ['off', 'auto', 'heat']
}

/** What the room shall be by day, or, where that is not known, what it shall be now. */
function targetOf(reader: PlaneFieldReader, path: string, instance: number): number | undefined {
  const day = reader.number(path, findDaySetpointRegister(reader, instance), instance)
  return day ?? reader.number(path, ZONE_REGISTERS.currentSetpoint, instance)
}

/** Where this regulator keeps the setpoint by day; one of an unknown family shows it by which of the two it answers. */
export function findDaySetpointRegister(reader: PlaneFieldReader, instance: number): RegulatorRegister {
  if (reader.topology.regulator?.timers === 'b524') return ZONE_REGISTERS.earlierDaySetpoint
  const answers = (register: RegulatorRegister): boolean => reader.reading(register, instance) !== undefined
  return !answers(ZONE_REGISTERS.daySetpoint) && answers(ZONE_REGISTERS.earlierDaySetpoint)
    ? ZONE_REGISTERS.earlierDaySetpoint
    : ZONE_REGISTERS.daySetpoint
}

function isQuickVeto(reader: PlaneFieldReader, special: number | undefined): boolean {
  return special === SPECIAL.quickVeto || (special === SPECIAL.party && reader.topology.regulator?.timers !== 'b524')
}

function vetoExpiry(reader: PlaneFieldReader, path: string, instance: number): string | undefined {
  const date = reader.text(path, ZONE_REGISTERS.quickVetoEndDate, instance)
  const time = reader.text(path, ZONE_REGISTERS.quickVetoEndTime, instance)
  return date === undefined || time === undefined ? undefined : `${date}T${time}`
}

/** The zone's own value, else that of the thermostat it listens to; nothing is read for that alone. */
function roomValue(
  reader: PlaneFieldReader,
  field: 'roomTemperature' | 'humidity',
  {
    path,
    instance,
    mapping,
  }: { readonly path: string; readonly instance: number; readonly mapping: number | undefined },
): number | undefined {
  const own = reader.number(path, ZONE_REGISTERS[field], instance)
  if (own !== undefined || mapping === undefined || mapping < 1 || mapping > MAX_INSTANCE_COUNT) return own
  const thermostat: FieldValueWithFreshness | undefined =
    mapping === 1
      ? reader.reading(requireRemoteDeviceRegisters(PAIRED_REGULATOR_REGISTER_GROUP)[field])
      : reader.reading(requireRemoteDeviceRegisters(THERMOSTAT_REGISTER_GROUP)[field], mapping - 1)
  const value = reader.take(path, thermostat)
  return typeof value === 'number' ? value : undefined
}
