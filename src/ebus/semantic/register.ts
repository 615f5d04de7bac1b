/**
 * Register: one numbered value of a regulator (B524) and how it is written in bytes.
 */
import { areBytesEqual } from '../../core/bytes.ts'
import type { CalendarDate, TimeOfDay } from '../wire/datatype.ts'
import { parseDatatype, requireNumberDatatype } from '../wire/datatype-parser.ts'

export type RegisterType = 'f32' | 'u8' | 'u16' | 'u32' | 'flag' | 'date' | 'time' | 'text' | 'version'

/** How often something changes, and so how often it is read. */
export const FRESHNESS_CLASSES = ['state_fast', 'state_slow', 'config', 'discovery', 'debug'] as const
export type FreshnessClass = (typeof FRESHNESS_CLASSES)[number]

export interface RegulatorRegister {
  /** 02 is the regulator itself, 06 what is plugged into it or paired with it. */
  readonly opcode: 0x02 | 0x06
  readonly group: number
  readonly number: number
  readonly type: RegisterType
  readonly freshness: FreshnessClass
  /** What a resident may set, within these limits. Everything else belongs to an installer. */
  readonly user?: readonly [min: number, max: number]
  /** A code or a telephone number: it is nobody's business but the owner's, and never read or shown. */
  readonly secret?: true
  /** Hours that begin to run when they are written: what is read back is a little less already. */
  readonly runsDown?: true
}

/** Which register, apart from how its value is written. */
export type RegulatorRegisterId = Pick<RegulatorRegister, 'opcode' | 'group' | 'number'>

/** Kind, group and the two bytes of the register stand in front of the value; a shorter answer holds none. */
export const REGISTER_HEADER_BYTES = 4

export function extractRegisterBytes(answer: Uint8Array): Uint8Array {
  return answer.subarray(REGISTER_HEADER_BYTES)
}

/** The data of a B524 telegram: `op 00 GG II lo hi` reads, `op 01 GG II lo hi value` writes. */
export function encodeRegisterTelegramData(
  { opcode, group, number }: RegulatorRegisterId,
  instance: number,
  written?: Uint8Array,
): Uint8Array {
  const verb = written === undefined ? 0x00 : 0x01
  return Uint8Array.of(opcode, verb, group, instance, number & 0xff, number >> 8, ...(written ?? []))
}

/** One register of one instance, as limits and approvals name it: `b524/02.03.00.0022`. */
export function formatRegisterActuator({ opcode, group, number }: RegulatorRegisterId, instance: number): string {
  const place = [opcode, group, instance].map((part) => part.toString(16).padStart(2, '0'))
  return `b524/${place.join('.')}.${formatRegisterNumber(number)}`
}

/** The same of a register of a boiler, B509. */
export function formatBoilerRegisterActuatorId(number: number): string {
  return `b509/${formatRegisterNumber(number)}`
}

export function formatRegisterNumber(number: number): string {
  return number.toString(16).padStart(4, '0')
}

/** Six minutes: as long as a confirmation can take, and less than the half hour in which such hours are counted. */
const RUN_DOWN_HOURS = 0.1

/** Whether a register that was read back holds what was written to it. */
export function isWrittenValueReadBack(
  { type, runsDown }: RegulatorRegister,
  written: Uint8Array,
  found: Uint8Array,
): boolean {
  if (areBytesEqual(found, written)) return true
  const [sent, stored] = [decodeWrittenNumber(type, written), decodeWrittenNumber(type, found)]
  if (runsDown !== true || sent === undefined || stored === undefined) return false
  return stored <= sent && sent - stored <= RUN_DOWN_HOURS
}

/** Dates and times as people write them: `2026-01-31`, `07:30`. */
export type DecodedRegisterValue = number | boolean | string

const F32 = requireNumberDatatype('EXP')
const U8 = requireNumberDatatype('UCH')
const U16 = requireNumberDatatype('UIN')
const U32 = requireNumberDatatype('ULG')
/** Of values that have one length; flags have two, texts any. */
const LENGTHS: Readonly<Partial<Record<RegisterType, number>>> = {
  f32: F32.length,
  u8: U8.length,
  u16: U16.length,
  u32: U32.length,
  date: 3,
  time: 3,
  version: 3,
}
const DATE = parseDatatype('HDA:3')
const TIME = parseDatatype('HTI')

/** A float of four bytes has seven digits; more would be noise. */
const F32_DIGITS = 7
/** What a date reads as that nobody has set. */
const UNSET_DATE = '2015-01-01'
const NO_INTEGER = 0x7fffffff

/** `undefined`: no value, in whichever way the register says so. */
export function decodeRegisterValue(type: RegisterType, bytes: Uint8Array): DecodedRegisterValue | undefined {
  switch (type) {
    case 'f32': {
      const value = numberOf(F32, bytes)
      return value === undefined ? undefined : Number(value.toPrecision(F32_DIGITS))
    }
    case 'u8':
      return numberOf(U8, bytes)
    case 'u16':
      return numberOf(U16, bytes)
    case 'u32': {
      const value = numberOf(U32, bytes)
      return value === NO_INTEGER ? undefined : value
    }
    case 'flag':
      return flagOf(bytes)
    case 'date':
      return dateOf(bytes)
    case 'time':
      return timeOf(bytes)
    case 'text':
      return textOf(bytes)
    case 'version':
      return versionOf(bytes)
  }
}

/**
 * The number that a write carries, for a look at its limits. `undefined` where a byte is missing or left over: the
 * whole payload goes out, so the whole payload has to be the number.
 */
export function decodeWrittenNumber(type: RegisterType, bytes: Uint8Array): number | undefined {
  const value = fitsRegisterType(type, bytes) ? decodeRegisterValue(type, bytes) : undefined
  return typeof value === 'boolean' ? Number(value) : typeof value === 'number' ? value : undefined
}

/** The bytes of a number, for a write; `undefined` where this type cannot hold it. */
export function encodeNumericRegisterValue(type: RegisterType, value: number): Uint8Array | undefined {
  if (type === 'flag') return value === 0 || value === 1 ? Uint8Array.of(value) : undefined
  if (type === 'f32') return Number.isFinite(Math.fround(value)) ? F32.encode(value) : undefined
  const whole = type === 'u8' ? U8 : type === 'u16' ? U16 : type === 'u32' ? U32 : undefined
  // All ones are how a register says that it has no value.
  if (whole === undefined || !Number.isInteger(value) || value < 0 || value >= 256 ** whole.length - 1) return undefined
  return whole.encode(value)
}

/** The bytes of a date such as `2026-12-20`; `undefined` where it is none. */
export function encodeDateRegisterValue(text: string): Uint8Array | undefined {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.slice(1).map(Number)
  if (parts === undefined) return undefined
  const [year = 0, month = 0, day = 0] = parts
  if (year < 2_000 || year > 2_099 || month < 1 || month > 12 || day < 1) return undefined
  // 31 February is no date: the day before the first of the next month is the last that there is.
  if (day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return undefined
  return DATE?.encode({ year, month, day })
}

/** Whether these bytes are one value and nothing else. */
export function fitsRegisterType(type: RegisterType, bytes: Uint8Array): boolean {
  if (type === 'text') return bytes.length > 0
  if (type === 'flag') return bytes.length === 1 || (bytes.length === 2 && bytes[1] === 0x00)
  return bytes.length === LENGTHS[type]
}

function numberOf(type: ReturnType<typeof requireNumberDatatype>, bytes: Uint8Array): number | undefined {
  const decoded = type.decode(bytes)
  return decoded.ok ? decoded.value : undefined
}

/** Flags come as one byte or two; FF is no flag. */
function flagOf(bytes: Uint8Array): boolean | undefined {
  const [value] = bytes
  return value === 0x00 ? false : value === 0x01 ? true : undefined
}

function dateOf(bytes: Uint8Array): string | undefined {
  const decoded = DATE?.decode(bytes)
  if (decoded?.ok !== true || decoded.value === undefined) return undefined
  const { year, month, day } = decoded.value as CalendarDate
  if (year === undefined || month === undefined || day === undefined) return undefined
  const text = `${year}-${twoDigits(month)}-${twoDigits(day)}`
  return text === UNSET_DATE ? undefined : text
}

function timeOf(bytes: Uint8Array): string | undefined {
  const decoded = TIME?.decode(bytes)
  if (decoded?.ok !== true || decoded.value === undefined) return undefined
  const { hour, minute } = decoded.value as TimeOfDay
  return `${twoDigits(hour)}:${twoDigits(minute)}`
}

/** Up to the first zero; blanks stay, they may be the end of a first half. Latin-1: regulators have German names. */
function textOf(bytes: Uint8Array): string | undefined {
  const end = bytes.indexOf(0)
  const letters = Array.from(end < 0 ? bytes : bytes.subarray(0, end), (byte) =>
    byte < 0x20 || (byte >= 0x7f && byte < 0xa0) ? ' ' : String.fromCharCode(byte),
  )
  const text = letters.join('')
  return text.trim() === '' || /^ÿ+$/.test(text) ? undefined : text
}

/** Three bytes, binary, not BCD. */
function versionOf(bytes: Uint8Array): string | undefined {
  const [major = 0xff, minor = 0xff, patch = 0xff] = bytes
  return bytes.length < 3 || (major === 0xff && minor === 0xff && patch === 0xff)
    ? undefined
    : `${major}.${minor}.${patch}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
