/**
 * Register name: what a B524 register is called where telegrams are listed, and in which unit it counts.
 *
 *   zone.room_temperature  °C      system.gas_heating_month  kWh
 *
 * Beside the registers that the planes are made of there are those that other devices ask for and that are known all
 * the same: a telegram about one of them is understood, and nothing is ever read for it.
 */
import type { RegulatorRegister, RegisterType } from './register.ts'
import {
  CIRCUIT_REGISTERS,
  CYLINDER_REGISTERS,
  HOT_WATER_REGISTERS,
  REMOTE_REGISTER_GROUP_NUMBERS,
  SOLAR_REGISTERS,
  SYSTEM_REGISTERS,
  ZONE_REGISTERS,
  requireRemoteDeviceRegisters,
  packRegisterIdForAnyInstance,
} from './regulator-register-map.ts'

export interface RegisterNameAndType {
  readonly name: string
  readonly type: RegisterType
  readonly unit: string | undefined
  readonly secret: boolean
}

type Row = readonly [number: number, name: string, type: RegisterType, secret?: boolean]

const ALSO_KNOWN: Readonly<Record<string, readonly Row[]>> = {
  system: [
    [0x02, 'continuous_heating_below', 'f32'],
    [0x03, 'frost_override_hours', 'u16'],
    [0x0a, 'parallel_loading', 'u16'],
    [0x0f, 'hybrid_manager', 'u16'],
    [0x10, 'tariff_aux', 'u16'],
    [0x16, 'quick_mode_active', 'flag'],
    [0x17, 'max_charge_minutes', 'u16'],
    [0x18, 'charge_lock_minutes', 'u16'],
    [0x1b, 'pump_overrun_minutes', 'u16'],
    [0x27, 'cylinder_charge_hysteresis', 'f32'],
    [0x29, 'cylinder_charge_offset', 'f32'],
    [0x2a, 'legionella_time', 'time'],
    [0x2b, 'legionella_weekday', 'u16'],
    [0x34, 'date', 'date'],
    [0x35, 'time', 'time'],
    [0x3d, 'solar_yield', 'u32'],
    [0x3e, 'environmental_yield', 'u32'],
    [0x48, 'energy_manager_state', 'u16'],
    [0x4d, 'multi_relay', 'u16'],
    [0x5c, 'electric_total', 'u32'],
    [0x5d, 'gas_total', 'u32'],
    [0x74, 'quick_mode', 'u8'],
    [0x9f, 'heating_cylinder_top', 'f32'],
    [0xa0, 'heating_cylinder_bottom', 'f32'],
    [0xda, 'manual_cooling_start', 'date'],
    [0xdb, 'manual_cooling_end', 'date'],
  ],
  dhw: [
    [0x01, 'enabled', 'flag'],
    [0x02, 'circulation_pump', 'flag'],
    [0x06, 'reheating', 'flag'],
    [0x08, 'flow_desired', 'f32'],
    [0x0b, 'bank_holiday_start', 'date'],
    [0x0c, 'bank_holiday_end', 'date'],
    [0x10, 'holiday_start_time', 'time'],
    [0x11, 'holiday_end_time', 'time'],
  ],
  circuit: [
    [0x03, 'room_influence', 'u16'],
    [0x04, 'return_target', 'f32'],
    [0x05, 'dew_point_monitoring', 'flag'],
    [0x0a, 'dew_point_offset', 'f32'],
    [0x0b, 'excess_temperature', 'f32'],
    [0x0c, 'fixed_day_setpoint', 'f32'],
    [0x0d, 'fixed_setback_setpoint', 'f32'],
    [0x0e, 'setback_mode', 'u16'],
    [0x11, 'cooling_flow_min', 'f32'],
    [0x1a, 'mixer_movement', 'f32'],
    [0x1c, 'heating_curve_adaption', 'f32'],
    [0x1f, 'room_setpoint', 'f32'],
  ],
  zone: [
    [0x01, 'cooling_mode', 'u16'],
    [0x02, 'cooling_setback', 'f32'],
    [0x0c, 'bank_holiday_start', 'date'],
    [0x0d, 'bank_holiday_end', 'date'],
    [0x15, 'cooling_current_setpoint', 'f32'],
    [0x1b, 'status', 'u8'],
    [0x23, 'cooling_setpoint', 'f32'],
  ],
  solar: [
    [0x04, 'switch_on_difference', 'f32'],
    [0x05, 'collector_limit', 'f32'],
    [0x06, 'cylinder_limit', 'f32'],
  ],
  remote: [
    [0x03, 'error', 'u8'],
    [0x0e, 'temperature_offset', 'f32'],
    [0x12, 'status', 'u8'],
  ],
}

/** A float is a temperature unless it stands here; anything else has no unit unless it stands here. */
const UNITS: Readonly<Record<string, readonly string[]>> = {
  '': ['heating_curve', 'heating_curve_adaption', 'mixer_movement', 'yield'],
  bar: ['water_pressure'],
  '%': ['humidity', 'max_room_humidity', 'mixer_position'],
  h: ['quick_veto_hours', 'pump_hours', 'frost_override_hours'],
  min: ['max_charge_minutes', 'charge_lock_minutes', 'pump_overrun_minutes'],
  K: [
    'hysteresis',
    'offset',
    'cylinder_charge_hysteresis',
    'cylinder_charge_offset',
    'dew_point_offset',
    'temperature_offset',
    'switch_on_difference',
    'excess_temperature',
  ],
  kWh: ['gas', 'electric'].flatMap((meter) => [
    `${meter}_total`,
    ...['heating', 'dhw'].flatMap((use) => ['month', 'last_month', 'total'].map((span) => `${meter}_${use}_${span}`)),
  ]),
}

const UNIT_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(UNITS).flatMap(([unit, names]) => names.map((name) => [name, unit] as const)),
)

const GROUPS: readonly (readonly [string, Readonly<Record<string, RegulatorRegister>>])[] = [
  ['system', SYSTEM_REGISTERS],
  ['dhw', HOT_WATER_REGISTERS],
  ['circuit', CIRCUIT_REGISTERS],
  ['zone', ZONE_REGISTERS],
  ['solar', SOLAR_REGISTERS],
  ['cylinder', CYLINDER_REGISTERS],
  ...REMOTE_REGISTER_GROUP_NUMBERS.map((group) => ['remote', requireRemoteDeviceRegisters(group)] as const),
]

/** Kept elsewhere by other families of regulators, and the same thing. */
const SAME_THING: Readonly<Record<string, string>> = { earlierDaySetpoint: 'day_setpoint' }

const NAMES: ReadonlyMap<number, RegisterNameAndType> = new Map(
  GROUPS.flatMap(([prefix, registers]) => named(prefix, registers)),
)

function named(
  prefix: string,
  registers: Readonly<Record<string, RegulatorRegister>>,
): (readonly [number, RegisterNameAndType])[] {
  const rows = Object.entries(registers).map(([key, { number, type, secret = false }]): Row => [
    number,
    SAME_THING[key] ?? snakeCase(key),
    type,
    secret,
  ])
  const [first] = Object.values(registers)
  if (first === undefined) return []
  const { opcode, group } = first
  return [...rows, ...(ALSO_KNOWN[prefix] ?? [])].map(([number, name, type, secret = false]) => [
    packRegisterIdForAnyInstance(opcode, group, number),
    { name: `${prefix}.${name}`, type, unit: unitOf(name, type), secret },
  ])
}

export function findRegisterNameAndType(
  opcode: number,
  group: number,
  number: number,
): RegisterNameAndType | undefined {
  return NAMES.get(packRegisterIdForAnyInstance(opcode, group, number))
}

function unitOf(name: string, type: RegisterType): string | undefined {
  const unit = UNIT_OF.get(name) ?? (type === 'f32' ? '°C' : '')
  return unit === '' ? undefined : unit
}

function snakeCase(key: string): string {
  return key.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase()
}
