/**
 * DER: the parts of the encoding that a self-signed certificate needs (ITU-T X.690).
 *
 *   tag ‖ length ‖ content        a length below 128 in one byte, else 0x80 + count and the count of bytes
 */
import { concatBytes, toUtf8 } from '../../core/bytes.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'

function encodeDer(tag: number, ...content: readonly Uint8Array[]): Uint8Array {
  const body = concatBytes(...content)
  return concatBytes(Uint8Array.of(tag), lengthBytes(body.length), body)
}

export const encodeDerSequence = (...items: readonly Uint8Array[]): Uint8Array => encodeDer(0x30, ...items)
export const encodeDerSet = (...items: readonly Uint8Array[]): Uint8Array => encodeDer(0x31, ...items)
export const encodeDerOctetString = (bytes: Uint8Array): Uint8Array => encodeDer(0x04, bytes)
export const encodeDerUtf8String = (text: string): Uint8Array => encodeDer(0x0c, toUtf8(text))
/** For whole bytes: no unused bits. */
export const encodeDerBitString = (bytes: Uint8Array): Uint8Array => encodeDer(0x03, Uint8Array.of(0), bytes)
export const encodeDerBoolean = (value: boolean): Uint8Array => encodeDer(0x01, Uint8Array.of(value ? 0xff : 0))
/** `[n]`, constructed. */
export const encodeDerExplicitTag = (number: number, content: Uint8Array): Uint8Array =>
  encodeDer(0xa0 | number, content)

/** For non-negative numbers: a leading zero keeps the sign bit clear. */
export function encodeDerInteger(bytes: Uint8Array): Uint8Array {
  let first = 0
  while (first < bytes.length - 1 && bytes[first] === 0) first++
  const digits = bytes.subarray(first)
  return (digits[0] ?? 0) >= 0x80 ? encodeDer(0x02, Uint8Array.of(0), digits) : encodeDer(0x02, digits)
}

export function encodeDerObjectId(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return encodeDer(0x06, Uint8Array.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** `YYYYMMDDHHMMSSZ`; good until the year 9999, unlike the two-digit form. */
export function encodeDerGeneralizedTime(ms: number): Uint8Array {
  return encodeDer(0x18, toUtf8(`${formatIsoTime(ms).replaceAll(/[-:T]/g, '').slice(0, 14)}Z`))
}

/** Two-digit years, which X.509 demands until 2049 (RFC 5280 § 4.1.2.5). */
export function encodeDerUtcTime(ms: number): Uint8Array {
  return encodeDer(0x17, toUtf8(`${formatIsoTime(ms).replaceAll(/[-:T]/g, '').slice(2, 14)}Z`))
}

function base128(value: number): readonly number[] {
  const digits = [value & 0x7f]
  for (let left = value >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80)
  return digits
}

function lengthBytes(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length)
  const digits: number[] = []
  for (let left = length; left > 0; left = Math.floor(left / 256)) digits.unshift(left & 0xff)
  return Uint8Array.of(0x80 | digits.length, ...digits)
}
