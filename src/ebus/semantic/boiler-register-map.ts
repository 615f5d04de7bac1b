/**
 * Boiler register map: the B509 registers of a BAI00 boiler, by their meaning. Codings are those of ebusd's
 * definitions for this boiler: pressure in thousandths with a sensor byte, starts in hundreds, on and off as 0 and 1
 * or as F0 and 0F.
 */
import type { Datatype } from '../wire/datatype.ts'
import { requireNumberDatatype } from '../wire/datatype-parser.ts'
import type { FreshnessClass, DecodedRegisterValue } from './register.ts'

export interface BoilerRegister {
  /** The two bytes in the order of the telegram: 18 00 is 0x1800. */
  readonly number: number
  readonly coding: Coding
  readonly freshness: FreshnessClass
  /** The register that some variants use instead. */
  readonly fallback?: number
}

interface Coding {
  readonly length: number
  /** What may follow the value: nothing, the sensor's state, or the value once more in another form and that state. */
  readonly tail: 'none' | 'sensor' | 'mirror-sensor'
  readonly read: (bytes: Uint8Array) => DecodedRegisterValue | undefined
}

const SENSOR_OK = 0x00

function plain(type: Datatype<number>, factor = 1): Coding {
  const read = (bytes: Uint8Array): number | undefined => {
    const decoded = type.decode(bytes)
    return decoded.ok && decoded.value !== undefined ? Number((decoded.value * factor).toFixed(4)) : undefined
  }
  return { length: type.length, tail: 'none', read }
}

const TEMPERATURE = plain(requireNumberDatatype('D2C'))
const SENSED_TEMPERATURE: Coding = { ...TEMPERATURE, tail: 'sensor' }
const MIRRORED_TEMPERATURE: Coding = { ...TEMPERATURE, tail: 'mirror-sensor' }
const PRESSURE: Coding = { ...plain(requireNumberDatatype('FLT')), tail: 'sensor' }
const BYTE = plain(requireNumberDatatype('UCH'))
const WORD = plain(requireNumberDatatype('UIN'))
const HUNDREDTHS = plain(requireNumberDatatype('UIN,100'))
const TENTHS = plain(requireNumberDatatype('SIN,10'))
const HUNDREDS = plain(requireNumberDatatype('UIN'), 100)
const SWITCH: Coding = { length: 1, tail: 'none', read: readSwitch }

function readSwitch([value]: Uint8Array): boolean | undefined {
  switch (value) {
    case 0x00:
    case 0xf0:
      return false
    case 0x01:
    case 0x0f:
      return true
    default:
      return undefined
  }
}

const register = (number: number, coding: Coding, freshness: FreshnessClass, fallback?: number): BoilerRegister => ({
  number,
  coding,
  freshness,
  ...(fallback === undefined ? {} : { fallback }),
})

export const BOILER_STATE_REGISTERS = {
  flow_temperature_c: register(0x1800, SENSED_TEMPERATURE, 'state_fast'),
  return_temperature_c: register(0x9800, MIRRORED_TEMPERATURE, 'state_slow'),
  central_heating_pump_active: register(0x4400, SWITCH, 'state_fast'),
  water_pressure_bar: register(0x0200, PRESSURE, 'state_fast'),
  external_pump_active: register(0x3f00, SWITCH, 'state_slow'),
  circulation_pump_active: register(0x7b00, SWITCH, 'state_slow'),
  gas_valve_active: register(0xbb00, SWITCH, 'state_fast'),
  flame_active: register(0x0500, SWITCH, 'state_fast'),
  diverter_valve_position_pct: register(0x5400, BYTE, 'state_fast'),
  fan_speed_rpm: register(0x8300, WORD, 'state_fast'),
  target_fan_speed_rpm: register(0x2400, WORD, 'state_slow'),
  ionisation_voltage_ua: register(0xa400, TENTHS, 'state_slow'),
  dhw_water_flow_lpm: register(0x5500, HUNDREDTHS, 'state_fast'),
  dhw_demand_active: register(0x5800, SWITCH, 'state_fast'),
  heating_switch_active: register(0xf203, SWITCH, 'state_slow'),
  storage_load_pump_pct: register(0x9e00, BYTE, 'state_slow'),
  modulation_pct: register(0x2e00, TENTHS, 'state_fast'),
  primary_circuit_flow_lpm: register(0xfb00, HUNDREDTHS, 'state_slow'),
  flow_temp_desired_c: register(0x3900, TEMPERATURE, 'state_slow'),
  dhw_temp_desired_c: register(0xea03, TEMPERATURE, 'state_slow'),
  state_number: register(0xab00, BYTE, 'state_fast'),
} as const

export const BOILER_CONFIG_REGISTERS = {
  flowset_hc_max_c: register(0x0e04, TEMPERATURE, 'config', 0xa500),
  flowset_hwc_max_c: register(0x0f04, TEMPERATURE, 'config'),
  partload_hc_kw: register(0x0704, BYTE, 'config'),
  partload_hwc_kw: register(0x0804, BYTE, 'config'),
  hours_till_service: register(0x2004, WORD, 'discovery'),
} as const

export const BOILER_DIAGNOSTIC_REGISTERS = {
  central_heating_hours: register(0x2800, WORD, 'config'),
  dhw_hours: register(0x2200, WORD, 'config'),
  central_heating_starts: register(0x2900, HUNDREDS, 'config'),
  dhw_starts: register(0x2300, HUNDREDS, 'config'),
  pump_hours: register(0x1400, WORD, 'config'),
  fan_hours: register(0x1b00, WORD, 'config'),
  deactivations_ifc: register(0x1f00, BYTE, 'config'),
  deactivations_templimiter: register(0x2000, BYTE, 'config'),
} as const

export const BOILER_REGISTER_COUNT = [
  BOILER_STATE_REGISTERS,
  BOILER_CONFIG_REGISTERS,
  BOILER_DIAGNOSTIC_REGISTERS,
].flatMap((part) => Object.keys(part)).length

/** The units, by the ending of a field's name. */
const UNITS: readonly (readonly [ending: string, unit: string])[] = [
  ['_c', '°C'],
  ['_bar', 'bar'],
  ['_pct', '%'],
  ['_rpm', 'rpm'],
  ['_lpm', 'l/min'],
  ['_ua', 'µA'],
  ['_kw', 'kW'],
  ['_hours', 'h'],
  ['hours_till_service', 'h'],
]

interface NamedBoilerRegister {
  readonly name: string
  readonly register: BoilerRegister
  readonly unit: string | undefined
  readonly secret: boolean
}

/**
 * Never read, never shown. 4904 is a password in four of twenty boiler types and the pump mode in ten. Which it is
 * depends on the article number, so the content is never shown.
 */
const SECRETS = {
  installer_code: register(0x4904, BYTE, 'discovery'),
  phone_number: register(0x8104, { length: 8, tail: 'none', read: () => undefined }, 'discovery'),
} as const

const NAMES: ReadonlyMap<number, NamedBoilerRegister> = new Map(
  [BOILER_STATE_REGISTERS, BOILER_CONFIG_REGISTERS, BOILER_DIAGNOSTIC_REGISTERS, SECRETS].flatMap((part) =>
    Object.entries<BoilerRegister>(part).flatMap(([name, known]) => {
      const unit = UNITS.find(([ending]) => name.endsWith(ending))?.[1]
      const numbers = known.fallback === undefined ? [known.number] : [known.number, known.fallback]
      return numbers.map((number) => [number, { name, register: known, unit, secret: part === SECRETS }] as const)
    }),
  ),
)

export function findBoilerRegister(number: number): NamedBoilerRegister | undefined {
  return NAMES.get(number)
}

/**
 * The value in an answer to `0D hi lo`. Most devices answer with the value alone; some repeat the number in front, or
 * the whole request. An answer with the length of the value is the value alone, because its bytes may look like a
 * number.
 */
export function decodeBoilerValue(known: BoilerRegister, answer: Uint8Array): DecodedRegisterValue | undefined {
  const { coding, number, fallback = number } = known
  const plain = readLayout(coding, answer)
  if (plain !== undefined) return plain.value
  for (const requested of new Set([number, fallback]))
    for (const echo of [
      Uint8Array.of(requested >> 8, requested & 0xff),
      Uint8Array.of(READ, requested >> 8, requested & 0xff),
    ]) {
      const bytes = answer.subarray(echo.length)
      const found = echo.every((byte, index) => byte === answer[index]) ? readLayout(coding, bytes) : undefined
      if (found !== undefined) return found.value
    }
  // A single byte 00 where more is expected, or an undocumented form.
  return undefined
}

/** The B509 command that reads a register. */
const READ = 0x0d

/** Returns `undefined` for bytes of another form; the result has no value if the sensor has none. */
function readLayout(
  { length, tail, read }: Coding,
  bytes: Uint8Array,
): { readonly value: DecodedRegisterValue | undefined } | undefined {
  if (bytes.length === length) return { value: read(bytes) }
  if (tail === 'none') return undefined
  // Two of twenty boiler types leave the mirrored value out.
  const lengths = tail === 'mirror-sensor' ? [2 * length + 1, length + 1] : [length + 1]
  if (!lengths.includes(bytes.length)) return undefined
  return { value: bytes.at(-1) === SENSOR_OK ? read(bytes.subarray(0, length)) : undefined }
}
