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
  /** The length in bytes; 1 for a type that is only some bits of one. */
  readonly length: number
  /** For types smaller than a byte: the lowest bit they use, and how many. */
  readonly bits?: { readonly first: number; readonly count: number }
  /** Reads the first `length` bytes. */
  decode(bytes: Uint8Array): Result<Value | undefined, DatatypeFault>
  /** Throws on a value that the type cannot hold; the caller checks first. */
  encode(value: Value | undefined): Uint8Array
}

export interface CalendarDate {
  readonly year: number | undefined
  readonly month: number | undefined
  readonly day: number | undefined
}

export interface TimeOfDay {
  /** 24 only as 24:00, the end of a day. */
  readonly hour: number
  readonly minute: number
  /** For types with seconds. */
  readonly second: number | undefined
}

export interface BusDateTime {
  readonly date: CalendarDate
  readonly time: TimeOfDay
}

export type FieldValue = number | string | CalendarDate | TimeOfDay | BusDateTime

export type DatatypeFault =
  | { readonly kind: 'too-short'; readonly type: string; readonly needed: number; readonly got: number }
  /** The bytes, in hex, are invalid for this type. */
  | { readonly kind: 'out-of-range'; readonly type: string; readonly bytes: string }

interface Definition<Value> extends Omit<Datatype<Value>, 'decode'> {
  /** Given exactly `length` bytes. */
  readonly read: (bytes: Uint8Array) => Value | undefined | OutOfRange
}

/** Bytes that are invalid for any type. */
export const OUT_OF_RANGE: unique symbol = Symbol('out of range')
export type OutOfRange = typeof OUT_OF_RANGE

/** Makes a datatype from the part in which types differ; lengths and faults are handled here. */
export function defineDatatype<Value>({ read, ...rest }: Definition<Value>): Datatype<Value> {
  const { name, length } = rest
  return {
    ...rest,
    decode(bytes) {
      if (bytes.length < length) return fail({ kind: 'too-short', type: name, needed: length, got: bytes.length })
      const own = bytes.subarray(0, length)
      const value = read(own)
      if (value === OUT_OF_RANGE) return fail({ kind: 'out-of-range', type: name, bytes: toHex(own) })
      return ok(value)
    },
  }
}

export function throwUnencodableValue(type: string, value: unknown): never {
  throw new RangeError(`${type} cannot hold ${JSON.stringify(value)}`)
}
