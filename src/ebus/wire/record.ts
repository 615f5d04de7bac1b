/**
 * Record: named fields one after another in the data of a telegram.
 *
 * Fields smaller than a byte share one as long as each starts above the one before; a lower start opens the next byte.
 *
 * Pure.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { Datatype, DatatypeFault, FieldValue } from './datatype.ts'

export interface Field {
  readonly name: string
  readonly type: Datatype<FieldValue>
}

export type RecordValues = Readonly<Record<string, FieldValue | undefined>>
export type RecordFault = DatatypeFault & { readonly field: string }

/** Bytes behind the last field are left alone: newer firmware says more. */
export function decodeRecord(fields: readonly Field[], bytes: Uint8Array): Result<RecordValues, RecordFault> {
  const values: Record<string, FieldValue | undefined> = {}
  for (const { field, offset } of placed(fields)) {
    const decoded = field.type.decode(bytes.subarray(offset))
    if (!decoded.ok) return fail({ ...decoded.fault, field: field.name })
    values[field.name] = decoded.value
  }
  return ok(values)
}

export function encodeRecord(fields: readonly Field[], values: RecordValues): Uint8Array {
  const places = placed(fields)
  const last = places.at(-1)
  const bytes = new Uint8Array(last === undefined ? 0 : last.offset + last.field.type.length)
  for (const { field, offset } of places)
    for (const [index, byte] of field.type.encode(values[field.name]).entries())
      bytes[offset + index] = (bytes[offset + index] ?? 0) | byte
  return bytes
}

function placed(fields: readonly Field[]): { readonly field: Field; readonly offset: number }[] {
  let end = 0
  /** First free bit of the byte before `end`; 8 when that byte is full. */
  let freeBit = 8
  return fields.map((field) => {
    const { bits, length } = field.type
    if (bits !== undefined && bits.first >= freeBit) {
      freeBit = bits.first + bits.count
      return { field, offset: end - 1 }
    }
    const offset = end
    end += length
    freeBit = bits === undefined ? 8 : bits.first + bits.count
    return { field, offset }
  })
}
