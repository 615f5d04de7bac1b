/**
 * Number types: whole numbers, whole numbers with a divisor, and IEEE floats.
 *
 *   UCH SCH UIN SIN ULG …  whole      D1C D2B D2C FLT  whole, divided      EXP EXR  binary32
 */
import type { Datatype } from './datatype.ts'
import { OUT_OF_RANGE, defineDatatype, throwUnencodableValue } from './datatype.ts'

interface Whole {
  readonly bytes: number
  readonly signed?: boolean
  readonly bigEndian?: boolean
  /** When false, no bit pattern means "nothing": every pattern is a number. */
  readonly replaced?: boolean
  readonly divisor?: number
  /** The highest raw value, given only where it is lower than the bits would allow. */
  readonly max?: number
}

const WHOLE: Readonly<Record<string, Whole>> = {
  UCH: { bytes: 1, replaced: true },
  U1L: { bytes: 1 },
  SCH: { bytes: 1, signed: true, replaced: true },
  D1B: { bytes: 1, signed: true, replaced: true },
  S1L: { bytes: 1, signed: true },
  D1C: { bytes: 1, replaced: true, divisor: 2, max: 200 },
  UIN: { bytes: 2, replaced: true },
  UIR: { bytes: 2, replaced: true, bigEndian: true },
  U2L: { bytes: 2 },
  U2B: { bytes: 2, bigEndian: true },
  SIN: { bytes: 2, signed: true, replaced: true },
  SIR: { bytes: 2, signed: true, replaced: true, bigEndian: true },
  S2L: { bytes: 2, signed: true },
  S2B: { bytes: 2, signed: true, bigEndian: true },
  D2B: { bytes: 2, signed: true, replaced: true, divisor: 256 },
  D2C: { bytes: 2, signed: true, replaced: true, divisor: 16 },
  FLT: { bytes: 2, signed: true, replaced: true, divisor: 1_000 },
  FLR: { bytes: 2, signed: true, replaced: true, bigEndian: true, divisor: 1_000 },
  U3N: { bytes: 3, replaced: true },
  U3R: { bytes: 3, replaced: true, bigEndian: true },
  U3L: { bytes: 3 },
  U3B: { bytes: 3, bigEndian: true },
  S3N: { bytes: 3, signed: true, replaced: true },
  S3R: { bytes: 3, signed: true, replaced: true, bigEndian: true },
  S3L: { bytes: 3, signed: true },
  S3B: { bytes: 3, signed: true, bigEndian: true },
  ULG: { bytes: 4, replaced: true },
  ULR: { bytes: 4, replaced: true, bigEndian: true },
  U4L: { bytes: 4 },
  U4B: { bytes: 4, bigEndian: true },
  SLG: { bytes: 4, signed: true, replaced: true },
  SLR: { bytes: 4, signed: true, replaced: true, bigEndian: true },
  S4L: { bytes: 4, signed: true },
  S4B: { bytes: 4, signed: true, bigEndian: true },
}

/** `divisor` is multiplied with the divisor of the type itself; a negative one multiplies the value instead. */
export function createNumberDatatype(name: string, divisor: number): Datatype<number> | undefined {
  if (name === 'EXP' || name === 'EXR') return floatType(name, divisor)
  const whole = WHOLE[name]
  return whole === undefined ? undefined : wholeType(name, whole, divisor)
}

function wholeType(name: string, whole: Whole, divisor: number): Datatype<number> {
  const { bytes: length, signed = false, bigEndian = false, replaced = false } = whole
  const span = 2 ** (8 * length)
  const [lowest, highest] = signed ? [-span / 2, span / 2 - 1] : [0, span - 1]
  // The bit pattern that means "nothing": all ones, or the most negative number.
  const replacement = signed ? lowest : highest
  const min = replaced && signed ? lowest + 1 : lowest
  const max = whole.max ?? (replaced && !signed ? highest - 1 : highest)
  const scale = scaling((whole.divisor ?? 1) * (divisor > 0 ? divisor : 1), divisor)
  return defineDatatype<number>({
    name,
    length,
    read(bytes) {
      let raw = 0
      for (let index = 0; index < length; index++)
        raw = raw * 256 + (bytes[bigEndian ? index : length - 1 - index] ?? 0)
      if (raw > highest) raw -= span
      if (replaced && raw === replacement) return undefined
      return raw < min || raw > max ? OUT_OF_RANGE : scale.fromRaw(raw)
    },
    encode(value) {
      if (value === undefined && !replaced) throwUnencodableValue(name, value)
      const raw = value === undefined ? replacement : Math.round(scale.toRaw(value))
      if (value !== undefined && !(raw >= min && raw <= max)) throwUnencodableValue(name, value)
      const bytes = new Uint8Array(length)
      for (let index = 0, left = raw < 0 ? raw + span : raw; index < length; index++, left = Math.floor(left / 256))
        bytes[bigEndian ? length - 1 - index : index] = left % 256
      return bytes
    },
  })
}

/** The float 7FC00000 (NaN), which means "nothing". */
const NO_FLOAT = [0x7f, 0xc0, 0x00, 0x00] as const

function floatType(name: 'EXP' | 'EXR', divisor: number): Datatype<number> {
  const littleEndian = name === 'EXP'
  const scale = scaling(divisor > 0 ? divisor : 1, divisor)
  return defineDatatype<number>({
    name,
    length: 4,
    read(bytes) {
      if (NO_FLOAT.every((byte, index) => bytes[littleEndian ? 3 - index : index] === byte)) return undefined
      const raw = new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, littleEndian)
      return Number.isFinite(raw) ? scale.fromRaw(raw) : OUT_OF_RANGE
    },
    encode(value) {
      if (value === undefined) return Uint8Array.from(littleEndian ? NO_FLOAT.toReversed() : NO_FLOAT)
      const raw = Math.fround(scale.toRaw(value))
      if (!Number.isFinite(raw)) throwUnencodableValue(name, value)
      const bytes = new Uint8Array(4)
      new DataView(bytes.buffer).setFloat32(0, raw, littleEndian)
      return bytes
    },
  })
}

/** Combines both divisors into one division, so that 215 tenths are exactly 21.5. */
function scaling(
  divide: number,
  divisor: number,
): { readonly fromRaw: (raw: number) => number; readonly toRaw: (value: number) => number } {
  const multiply = divisor < 0 ? -divisor : 1
  return { fromRaw: (raw) => (raw * multiply) / divide, toRaw: (value) => (value * divide) / multiply }
}
