/**
 * Record: computes the byte offsets of consecutive fields in the data of a telegram.
 *
 * Fields smaller than a byte share one as long as each starts above the one before; a lower start opens the next byte.
 */
import type { Datatype, DatatypeValue } from './datatype.ts'

interface Sized {
  readonly type: Pick<Datatype<DatatypeValue>, 'bits' | 'length'>
}

export function layOutFields<Field extends Sized>(
  fields: readonly Field[],
): readonly { readonly field: Field; readonly offset: number }[] {
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
