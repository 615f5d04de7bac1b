/**
 * Installer setting: the installer's settings of regulator and boiler that can be changed by name, with their limits
 * and how they are written.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { requireNumberDatatype } from '../wire/datatype-parser.ts'
import { BOILER_CONFIG_REGISTERS, decodeBoilerValue } from './boiler-register-map.ts'
import type { BoilerRegister } from './boiler-register-map.ts'
import type { RegisterReadKey } from './read-key.ts'
import { toBoilerReadKey, toRegisterReadKey } from './read-key.ts'
import type { RegulatorRegister, DecodedRegisterValue } from './register.ts'
import {
  decodeRegisterValue,
  encodeDateRegisterValue,
  encodeNumericRegisterValue,
  isWrittenValueReadBack,
  formatRegisterActuator,
  encodeRegisterTelegramData,
  extractRegisterBytes,
  formatBoilerRegisterActuatorId,
} from './register.ts'
import { SYSTEM_REGISTERS } from './regulator-register-map.ts'

/** One setting of one device: the telegram that sets it, the one that reads it back, and the comparison. */
export interface InstallerSetting {
  readonly limits: readonly [min: number, max: number] | 'date' | 'switch'
  readonly unit?: string
  readonly secondary: number
  /** As limits and approvals name it, the same as with the number of the register. */
  readonly actuator: string
  readonly encode: (value: DecodedRegisterValue) => Uint8Array | undefined
  readonly command: (bytes: Uint8Array) => Uint8Array
  readonly key: (address: number) => RegisterReadKey
  readonly decode: (payload: Uint8Array) => DecodedRegisterValue | undefined
  readonly holds: (written: Uint8Array, payload: Uint8Array) => boolean
}

function regulatorField(
  register: RegulatorRegister,
  limits: InstallerSetting['limits'],
  unit?: string,
): InstallerSetting {
  const { type } = register
  return {
    limits,
    ...(unit === undefined ? {} : { unit }),
    secondary: 0x24,
    actuator: formatRegisterActuator(register, 0),
    encode: (value) =>
      typeof value === 'string' ? encodeDateRegisterValue(value) : encodeNumericRegisterValue(type, Number(value)),
    command: (bytes) => encodeRegisterTelegramData(register, 0, bytes),
    key: (address) => toRegisterReadKey(address, register),
    decode: (payload) => decodeRegisterValue(type, extractRegisterBytes(payload)),
    holds: (written, payload) => isWrittenValueReadBack(register, written, extractRegisterBytes(payload)),
  }
}

const SIXTEENTHS = requireNumberDatatype('D2C')

function boilerField(register: BoilerRegister, limits: readonly [number, number], unit: string): InstallerSetting {
  const { number, coding } = register
  const encode = (value: DecodedRegisterValue): Uint8Array =>
    coding.length === 1 ? Uint8Array.of(Math.round(Number(value))) : SIXTEENTHS.encode(Number(value))
  return {
    limits,
    unit,
    secondary: 0x09,
    actuator: formatBoilerRegisterActuatorId(number),
    encode,
    command: (bytes) => Uint8Array.of(0x0e, number >> 8, number & 0xff, ...bytes),
    key: (address) => toBoilerReadKey(address, number),
    decode: (payload) => decodeBoilerValue(register, payload),
    holds: (written, payload) => decodeBoilerValue(register, payload) === decodeBoilerValue(register, written),
  }
}

/** By the names in `system.config`. The limits are those of the regulator's own installer menu. */
export const SYSTEM_INSTALLER_SETTINGS: Readonly<Record<string, InstallerSetting>> = {
  adaptive_heating_curve: regulatorField(SYSTEM_REGISTERS.adaptiveHeatingCurve, 'switch'),
  alternative_point: regulatorField(SYSTEM_REGISTERS.alternativePoint, [-21, 40], '°C'),
  heating_circuit_bivalence_point: regulatorField(SYSTEM_REGISTERS.heatingBivalencePoint, [-20, 30], '°C'),
  dhw_bivalence_point: regulatorField(SYSTEM_REGISTERS.dhwBivalencePoint, [-20, 50], '°C'),
  hc_emergency_temperature: regulatorField(SYSTEM_REGISTERS.emergencyTemperature, [20, 80], '°C'),
  hwc_max_flow_temp_desired: regulatorField(SYSTEM_REGISTERS.dhwMaxFlow, [15, 80], '°C'),
  max_room_humidity: regulatorField(SYSTEM_REGISTERS.maxRoomHumidity, [0, 100], '%'),
  maintenance_date: regulatorField(SYSTEM_REGISTERS.maintenanceDate, 'date'),
}

/** By the names in `boiler_status.config`. */
export const BOILER_INSTALLER_SETTINGS: Readonly<Record<string, InstallerSetting>> = {
  flowset_hc_max_c: boilerField(BOILER_CONFIG_REGISTERS.flowset_hc_max_c, [30, 80], '°C'),
  flowset_hwc_max_c: boilerField(BOILER_CONFIG_REGISTERS.flowset_hwc_max_c, [35, 75], '°C'),
  partload_hc_kw: boilerField(BOILER_CONFIG_REGISTERS.partload_hc_kw, [1, 50], 'kW'),
  partload_hwc_kw: boilerField(BOILER_CONFIG_REGISTERS.partload_hwc_kw, [1, 50], 'kW'),
}

/** `hcEmergencyTemperature` and `hc_emergency_temperature` are the same. */
export function normaliseInstallerSettingName(name: string): string {
  return name
    .trim()
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
}

/** The given value in the field's type; a sentence when it does not fit. */
export function parseInstallerSettingValue(
  { limits, unit }: InstallerSetting,
  given: string | number | boolean,
): Result<DecodedRegisterValue, string> {
  if (limits === 'date') {
    const text = String(given).trim()
    return encodeDateRegisterValue(text) === undefined ? fail('a date such as 2026-12-20') : ok(text)
  }
  if (limits === 'switch') {
    const on = new Map<unknown, boolean>([
      [true, true],
      [false, false],
      [1, true],
      [0, false],
    ]).get(typeof given === 'string' ? SWITCH_WORDS.get(given.trim().toLowerCase()) : given)
    return on === undefined ? fail('on or off') : ok(on)
  }
  const number = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  const [min, max] = limits
  if (typeof number !== 'number' || !Number.isFinite(number) || number < min || number > max)
    return fail(`${min} to ${max}${unit === undefined ? '' : ` ${unit}`}`)
  return ok(number)
}

const SWITCH_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['on', true],
  ['true', true],
  ['1', true],
  ['off', false],
  ['false', false],
  ['0', false],
])
