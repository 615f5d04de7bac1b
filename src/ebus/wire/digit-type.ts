/**
 * Digit types: numbers written two decimal digits to the byte, and single bits.
 *
 *   BCD 0x42 = 42      HCD 0x2A = 42      PIN 0x01 0x42 = "0142"      BI3:2 = bits 3 and 4
 */
import type { Datatype, OutOfRange } from './datatype.ts'
import { OUT_OF_RANGE, defineDatatype, throwUnencodableValue } from './datatype.ts'

const NO_DIGITS = 0xff

/** Reads the two digits of a BCD byte as a number; returns `undefined` when a nibble is not a decimal digit. */
export function fromBcd(byte: number): number | undefined {
  const [tens, ones] = [byte >> 4, byte & 0xf]
  return tens > 9 || ones > 9 ? undefined : tens * 10 + ones
}

export function toBcd(number: number): number {
  return (Math.floor(number / 10) << 4) | (number % 10)
}

/**
 * The least significant byte comes first. A byte FF means "nothing", unless a less significant byte was already
 * invalid.
 */
export function createBcdDatatype(length: number): Datatype<number> {
  return defineDatatype<number>({
    name: length === 1 ? 'BCD' : `BCD:${length}`,
    length,
    read: (bytes) => readBcd(bytes),
    encode: (value) => writeDigits(`BCD:${length}`, value, { length, toByte: toBcd }),
  })
}

/** Each byte holds a number from 0 to 99 in binary; the type has no bit pattern for "nothing". */
export function createHcdDatatype(length: number): Datatype<number> {
  const name = `HCD:${length}`
  return defineDatatype<number>({
    name,
    length,
    read(bytes) {
      let value = 0
      for (const byte of bytes.toReversed()) {
        if (byte > 99) return OUT_OF_RANGE
        value = value * 100 + byte
      }
      return value
    },
    encode(value) {
      if (value === undefined) throwUnencodableValue(name, value)
      return writeDigits(name, value, { length, toByte: (pair) => pair })
    },
  })
}

/** Four digits, the most significant first. The value is a string, because the leading zero of 0142 is part of it. */
export const PIN_DATATYPE: Datatype<string> = defineDatatype<string>({
  name: 'PIN',
  length: 2,
  read(bytes) {
    const value = readBcd(bytes.toReversed())
    return typeof value === 'number' ? String(value).padStart(4, '0') : value
  },
  encode(value) {
    if (value !== undefined && !/^\d{4}$/.test(value)) throwUnencodableValue('PIN', value)
    const number = value === undefined ? undefined : Number(value)
    return writeDigits('PIN', number, { length: 2, toByte: toBcd }).toReversed()
  },
})

/** A type of `count` bits, counted upwards from bit `first`. */
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

function readBcd(leastFirst: Uint8Array): number | undefined | OutOfRange {
  let value = 0
  let weight = 1
  for (const byte of leastFirst) {
    if (byte === NO_DIGITS) return undefined
    const pair = fromBcd(byte)
    if (pair === undefined) return OUT_OF_RANGE
    value += pair * weight
    weight *= 100
  }
  return value
}

function writeDigits(
  name: string,
  value: number | undefined,
  { length, toByte }: { readonly length: number; readonly toByte: (pair: number) => number },
): Uint8Array {
  if (value === undefined) return new Uint8Array(length).fill(NO_DIGITS)
  if (!Number.isInteger(value) || value < 0 || value >= 100 ** length) throwUnencodableValue(name, value)
  return Uint8Array.from({ length }, (_, index) => toByte(Math.floor(value / 100 ** index) % 100))
}
