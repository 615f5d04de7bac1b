/**
 * Datatype: how one value is encoded in the bytes of a telegram.
 *
 * Every type has a name as ebusd's definitions spell it. A replacement value ("no sensor", "not set") decodes to
 * `undefined`, which differs from invalid bytes: those are a fault.
 */
import { toHex } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

export interface Datatype<Value> {
  readonly name: string
  /** In bytes; 1 for a type that uses only some bits of a byte. */
  readonly length: number
  /** For types smaller than a byte: the lowest bit they use, and how many. */
  readonly bits?: { readonly first: number; readonly count: number }
  /** Reads the first `length` bytes. */
  decode(bytes: Uint8Array): Result<Value | undefined, DatatypeFault>
  /** Throws on a value that the type cannot hold; the caller checks the value first. */
  encode(value: Value | undefined): Uint8Array
}

export interface CalendarDate {
  readonly year: number | undefined
  readonly month: number | undefined
  readonly day: number | undefined
}

export interface TimeOfDay {
  /** 24 occurs only as 24:00, the end of a day. */
  readonly hour: number
  readonly minute: number
  readonly second: number
}

export type DatatypeValue = number | string | CalendarDate | TimeOfDay

export type DatatypeFault =
  | { readonly kind: 'too-short'; readonly type: string; readonly needed: number; readonly got: number }
  /** The bytes, given in hex, encode no value of this type. */
  | { readonly kind: 'out-of-range'; readonly type: string; readonly bytes: string }

interface Definition<Value> extends Omit<Datatype<Value>, 'decode'> {
  /** `bytes` has exactly `length` bytes. */
  readonly read: (bytes: Uint8Array) => Value | undefined | UndecodableBytes
}

/** The result of `read` for bytes that encode no value of the type. */
export const UNDECODABLE_BYTES: unique symbol = Symbol('out of range')
export type UndecodableBytes = typeof UNDECODABLE_BYTES

/**
 * Builds a datatype from the read and write functions that differ between types; this function checks lengths and turns
 * bad bytes into faults.
 */
export function defineDatatype<Value>({ read, ...rest }: Definition<Value>): Datatype<Value> {
  const { name, length } = rest
  return {
    ...rest,
    decode(bytes) {
      if (bytes.length < length) return fail({ kind: 'too-short', type: name, needed: length, got: bytes.length })
      const own = bytes.subarray(0, length)
      const value = read(own)
      if (value === UNDECODABLE_BYTES) return fail({ kind: 'out-of-range', type: name, bytes: toHex(own) })
      return ok(value)
    },
  }
}

export function throwUnencodableValue(type: string, value: unknown): never {
  throw new RangeError(`${type} cannot hold ${JSON.stringify(value)}`)
}
