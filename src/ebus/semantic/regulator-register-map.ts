/**
 * Regulator register map: the B524 registers that the semantic planes are made of, by group.
 *
 *   02/00 system   02/01 hot water   02/02 circuits   02/03 zones   02/04 solar   02/05 cylinders   06/GG remote slots
 *
 * Numbers and types are facts about 720- and 700-family regulators; which of them a resident may set is the map of what
 * the regulator's own panel offers without an installer's code.
 */
import type { FreshnessClass, RegulatorRegister, RegisterType } from './register.ts'

type Row = readonly [
  number: number,
  type: RegisterType,
  freshness: FreshnessClass,
  rule?: readonly [number, number] | 'secret' | RunningDown,
]

interface RunningDown {
  readonly user: readonly [number, number]
  readonly runsDown: true
}

function group<Name extends string>(
  opcode: RegulatorRegister['opcode'],
  number: number,
  rows: Readonly<Record<Name, Row>>,
): Readonly<Record<Name, RegulatorRegister>> {
  const registers = Object.entries<Row>(rows).map(([name, [rr, type, freshness, rule]]) => [
    name,
    {
      opcode,
      group: number,
      number: rr,
      type,
      freshness,
      ...(rule === undefined ? {} : rule === 'secret' ? { secret: true } : 'user' in rule ? rule : { user: rule }),
    },
  ])
  return Object.fromEntries(registers) as Record<Name, RegulatorRegister>
}

export const SYSTEM_REGISTERS = group(0x02, 0x00, {
  dhwBivalencePoint: [0x01, 'f32', 'config'],
  systemOff: [0x07, 'flag', 'state_slow', [0, 1]],
  maxRoomHumidity: [0x0e, 'u16', 'config'],
  adaptiveHeatingCurve: [0x14, 'flag', 'config'],
  alternativePoint: [0x22, 'f32', 'config'],
  heatingBivalencePoint: [0x23, 'f32', 'config'],
  emergencyTemperature: [0x26, 'f32', 'config'],
  maintenanceDate: [0x2c, 'date', 'config'],
  moduleConfiguration: [0x2f, 'u16', 'discovery'],
  systemScheme: [0x36, 'u16', 'discovery'],
  waterPressure: [0x39, 'f32', 'state_slow'],
  dhwMaxFlow: [0x46, 'f32', 'config'],
  flowTemperature: [0x4b, 'f32', 'state_fast'],
  gasHeatingMonth: [0x4e, 'u32', 'config'],
  electricHeatingMonth: [0x4f, 'u32', 'config'],
  electricDhwMonth: [0x50, 'u32', 'config'],
  gasDhwMonth: [0x51, 'u32', 'config'],
  gasHeatingLastMonth: [0x52, 'u32', 'config'],
  electricHeatingLastMonth: [0x53, 'u32', 'config'],
  electricDhwLastMonth: [0x54, 'u32', 'config'],
  gasDhwLastMonth: [0x55, 'u32', 'config'],
  gasHeatingTotal: [0x56, 'u32', 'config'],
  electricHeatingTotal: [0x57, 'u32', 'config'],
  electricDhwTotal: [0x58, 'u32', 'config'],
  gasDhwTotal: [0x59, 'u32', 'config'],
  installerName1: [0x6c, 'text', 'config'],
  installerName2: [0x6d, 'text', 'config'],
  installerPhone1: [0x6f, 'text', 'config', 'secret'],
  installerPhone2: [0x70, 'text', 'config', 'secret'],
  outdoorTemperature: [0x73, 'f32', 'state_fast'],
  installerMenuCode: [0x76, 'u16', 'config', 'secret'],
  outdoorAverage: [0x95, 'f32', 'state_slow'],
  maintenanceDue: [0x96, 'flag', 'state_slow'],
  cylinderTop: [0x9d, 'f32', 'state_slow'],
  cylinderBottom: [0x9e, 'f32', 'state_slow'],
})

export const HOT_WATER_REGISTERS = group(0x02, 0x01, {
  operatingMode: [0x03, 'u16', 'state_slow', [0, 2]],
  target: [0x04, 'f32', 'state_slow', [35, 70]],
  current: [0x05, 'f32', 'state_fast'],
  holidayStart: [0x09, 'date', 'config'],
  holidayEnd: [0x0a, 'date', 'config'],
  specialFunction: [0x0d, 'u8', 'state_slow', [0, 6]],
  status: [0x0f, 'u16', 'state_slow'],
})

export const CIRCUIT_REGISTERS = group(0x02, 0x02, {
  type: [0x02, 'u16', 'discovery'],
  coolingEnabled: [0x06, 'flag', 'config'],
  flowSetpoint: [0x07, 'f32', 'state_fast'],
  flowTemperature: [0x08, 'f32', 'state_fast'],
  heatingCurve: [0x0f, 'f32', 'config'],
  flowMax: [0x10, 'f32', 'config'],
  flowMin: [0x12, 'f32', 'config'],
  summerLimit: [0x14, 'f32', 'config'],
  roomControl: [0x15, 'u16', 'config'],
  state: [0x1b, 'u8', 'state_fast'],
  frostProtection: [0x1d, 'f32', 'config'],
  pump: [0x1e, 'flag', 'state_fast'],
  calculatedFlow: [0x20, 'f32', 'state_fast'],
  mixerPosition: [0x21, 'f32', 'state_fast'],
  humidity: [0x22, 'f32', 'state_slow'],
  dewPoint: [0x23, 'f32', 'state_slow'],
  pumpHours: [0x24, 'u32', 'config'],
  pumpStarts: [0x25, 'u32', 'config'],
})

export const ZONE_REGISTERS = group(0x02, 0x03, {
  holidayStart: [0x03, 'date', 'config'],
  holidayEnd: [0x04, 'date', 'config'],
  holidaySetpoint: [0x05, 'f32', 'config', [5, 30]],
  operatingMode: [0x06, 'u16', 'state_slow', [0, 2]],
  // 700 controllers keep it here, 720 controllers at 22.
  earlierDaySetpoint: [0x07, 'f32', 'state_slow', [5, 30]],
  quickVetoSetpoint: [0x08, 'f32', 'config', [5, 30]],
  nightSetpoint: [0x09, 'f32', 'config', [5, 30]],
  specialFunction: [0x0e, 'u8', 'state_slow', [0, 5]],
  roomTemperature: [0x0f, 'f32', 'state_fast'],
  valve: [0x12, 'u8', 'state_fast'],
  sensorMapping: [0x13, 'u16', 'config'],
  currentSetpoint: [0x14, 'f32', 'state_fast'],
  name: [0x16, 'text', 'config'],
  namePart1: [0x17, 'text', 'config'],
  namePart2: [0x18, 'text', 'config'],
  index: [0x1c, 'u8', 'discovery'],
  quickVetoEndTime: [0x1e, 'time', 'config'],
  holidayEndTime: [0x20, 'time', 'config'],
  holidayStartTime: [0x21, 'time', 'config'],
  daySetpoint: [0x22, 'f32', 'state_slow', [15, 30]],
  quickVetoEndDate: [0x24, 'date', 'config'],
  quickVetoHours: [0x26, 'f32', 'config', { user: [0, 12], runsDown: true }],
  humidity: [0x28, 'f32', 'state_slow'],
})

export const SOLAR_REGISTERS = group(0x02, 0x04, {
  enabled: [0x01, 'flag', 'config'],
  functionMode: [0x02, 'flag', 'config'],
  collector: [0x03, 'f32', 'state_slow'],
  return: [0x07, 'f32', 'state_slow'],
  pump: [0x08, 'flag', 'state_slow'],
  yield: [0x09, 'f32', 'config'],
  pumpHours: [0x0b, 'u32', 'config'],
})

export const CYLINDER_REGISTERS = group(0x02, 0x05, {
  maxSetpoint: [0x01, 'f32', 'config'],
  hysteresis: [0x02, 'f32', 'config'],
  offset: [0x03, 'f32', 'config'],
  temperature: [0x04, 'f32', 'state_slow'],
})

/** Sources, regulators, thermostats, function modules, clocks and base stations. */
export const REMOTE_REGISTER_GROUP_NUMBERS: readonly number[] = [0x01, 0x02, 0x09, 0x0a, 0x0c, 0x0e, 0x0f]
export const PAIRED_REGULATOR_REGISTER_GROUP = 0x09
export const THERMOSTAT_REGISTER_GROUP = 0x0a
export const FUNCTION_MODULE_REGISTER_GROUP = 0x0c

const REMOTE_ROWS = {
  connected: [0x01, 'flag', 'discovery'],
  classAddress: [0x02, 'u8', 'discovery'],
  firmware: [0x04, 'version', 'discovery'],
  humidity: [0x07, 'f32', 'state_slow'],
  roomTemperature: [0x0f, 'f32', 'state_slow'],
  remoteAddress: [0x19, 'u8', 'discovery'],
  paired: [0x1e, 'flag', 'discovery'],
  reception: [0x1f, 'u8', 'config'],
  hardware: [0x23, 'u16', 'discovery'],
  zone: [0x25, 'u8', 'discovery'],
} as const satisfies Record<string, Row>

export type RemoteDeviceRegisters = Readonly<Record<keyof typeof REMOTE_ROWS, RegulatorRegister>>

const REMOTES: ReadonlyMap<number, RemoteDeviceRegisters> = new Map(
  REMOTE_REGISTER_GROUP_NUMBERS.map((number) => [number, group(0x06, number, REMOTE_ROWS)]),
)

export function requireRemoteDeviceRegisters(number: number): RemoteDeviceRegisters {
  const registers = REMOTES.get(number)
  if (registers === undefined) throw new RangeError(`group ${number} has no remote slots`)
  return registers
}

/** Slots, circuits and zones are numbered from 0. */
export const MAX_INSTANCE_COUNT = 11

const ALL: ReadonlyMap<number, RegulatorRegister> = new Map(
  [
    SYSTEM_REGISTERS,
    HOT_WATER_REGISTERS,
    CIRCUIT_REGISTERS,
    ZONE_REGISTERS,
    SOLAR_REGISTERS,
    CYLINDER_REGISTERS,
    ...REMOTES.values(),
  ]
    .flatMap((registers) => Object.values<RegulatorRegister>(registers))
    .map((register) => [packRegisterIdForAnyInstance(register.opcode, register.group, register.number), register]),
)

export const REGULATOR_REGISTER_COUNT = ALL.size

export function findRegulatorRegister(
  opcode: number,
  groupNumber: number,
  number: number,
): RegulatorRegister | undefined {
  return ALL.get(packRegisterIdForAnyInstance(opcode, groupNumber, number))
}

/** One number for each register, whatever the instance. */
export function packRegisterIdForAnyInstance(opcode: number, groupNumber: number, number: number): number {
  return opcode * 2 ** 24 + groupNumber * 2 ** 16 + number
}
