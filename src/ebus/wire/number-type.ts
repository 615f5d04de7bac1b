/**
 * Number types: whole numbers, whole numbers with a divisor, and IEEE floats.
 *
 *   UCH SCH UIN SIN ULG …  whole      D1C D2B D2C FLT  whole, divided      EXP  binary32      BI3:2  bits 3 and 4
 */
import type { Datatype } from './datatype.ts'
import { UNDECODABLE_BYTES, defineDatatype, throwUnencodableValue } from './datatype.ts'

interface Whole {
  readonly bytes: number
  readonly signed?: boolean
  /** Without one, every pattern of bits is a number. */
  readonly replaced?: boolean
  readonly divisor?: number
  /** The highest raw value, given only where it is lower than the bits would allow. */
  readonly max?: number
}

const WHOLE: Readonly<Record<string, Whole>> = {
  UCH: { bytes: 1, replaced: true },
  U1L: { bytes: 1 },
  SCH: { bytes: 1, signed: true, replaced: true },
  D1C: { bytes: 1, replaced: true, divisor: 2, max: 200 },
  UIN: { bytes: 2, replaced: true },
  U2L: { bytes: 2 },
  SIN: { bytes: 2, signed: true, replaced: true },
  D2B: { bytes: 2, signed: true, replaced: true, divisor: 256 },
  D2C: { bytes: 2, signed: true, replaced: true, divisor: 16 },
  FLT: { bytes: 2, signed: true, replaced: true, divisor: 1_000 },
  ULG: { bytes: 4, replaced: true },
  U4L: { bytes: 4 },
}

/** `divisor` is multiplied with the divisor of the type itself; a negative one multiplies the value instead. */
export function createNumberDatatypeByName(name: string, divisor: number): Datatype<number> | undefined {
  if (name === 'EXP') return floatType(divisor)
  const whole = WHOLE[name]
  return whole === undefined ? undefined : wholeType(name, whole, divisor)
}

function wholeType(name: string, whole: Whole, divisor: number): Datatype<number> {
  const { bytes: length, signed = false, replaced = false } = whole
  const span = 2 ** (8 * length)
  const [lowest, highest] = signed ? [-span / 2, span / 2 - 1] : [0, span - 1]
  // The bit pattern that means "nothing": all ones, or the most negative number.
  const replacement = signed ? lowest : highest
  const min = replaced && signed ? lowest + 1 : lowest
  const max = whole.max ?? (replaced && !signed ? highest - 1 : highest)
  // One division instead of two, so that 215 tenths are exactly 21.5.
  const scale = (whole.divisor ?? 1) * divisor
  return defineDatatype<number>({
    name,
    length,
    read(bytes) {
      let raw = 0
      for (let index = length - 1; index >= 0; index--) raw = raw * 256 + (bytes[index] ?? 0)
      if (raw > highest) raw -= span
      if (replaced && raw === replacement) return undefined
      return raw < min || raw > max ? UNDECODABLE_BYTES : raw / scale
    },
    encode(value) {
      if (value === undefined && !replaced) throwUnencodableValue(name, value)
      const raw = value === undefined ? replacement : Math.round(value * scale)
      if (value !== undefined && !(raw >= min && raw <= max)) throwUnencodableValue(name, value)
      const bytes = new Uint8Array(length)
      for (let index = 0, left = raw < 0 ? raw + span : raw; index < length; index++, left = Math.floor(left / 256))
        bytes[index] = left % 256
      return bytes
    },
  })
}

/** 7FC00000. */
const NO_FLOAT = [0x00, 0x00, 0xc0, 0x7f] as const

function floatType(divisor: number): Datatype<number> {
  return defineDatatype<number>({
    name: 'EXP',
    length: 4,
    read(bytes) {
      if (NO_FLOAT.every((byte, index) => bytes[index] === byte)) return undefined
      const raw = new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, true)
      return Number.isFinite(raw) ? raw / divisor : UNDECODABLE_BYTES
    },
    encode(value) {
      if (value === undefined) return Uint8Array.from(NO_FLOAT)
      const raw = Math.fround(value * divisor)
      if (!Number.isFinite(raw)) throwUnencodableValue('EXP', value)
      const bytes = new Uint8Array(4)
      new DataView(bytes.buffer).setFloat32(0, raw, true)
      return bytes
    },
  })
}

/** `count` bits from bit `first` upwards. */
export function createBitsDatatype(first: number, count: number): Datatype<number> | undefined {
  if (first > 7 || count < 1 || first + count > 8) return undefined
  const name = `BI${first}:${count}`
  const mask = 2 ** count - 1
  return defineDatatype<number>({
    name,
    length: 1,
    bits: { first, count },
    read: ([byte = 0]) => (byte >> first) & mask,
    encode(value) {
      if (value === undefined || !Number.isInteger(value) || value < 0 || value > mask)
        throwUnencodableValue(name, value)
      return Uint8Array.of(value << first)
    },
  })
}
