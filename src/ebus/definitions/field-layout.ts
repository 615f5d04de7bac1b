/**
 * Field layout: at which byte each field of a part begins.
 *
 * Fields of single bits share a byte with the field before them. The byte is closed after a field that reaches bit 7,
 * after a field of whole bytes, and after a field that begins at the same bit as the one before: BI0,BI0,BI1 takes
 * three bytes.
 */
import type { DefinedField, FieldPart } from './field.ts'
import { isRemainderField } from './field.ts'

/** Follows the fields of one part and computes where the next one begins. */
export class FieldCursor {
  offset: number
  #isClosed = true
  #firstBit = -1

  constructor(offset: number) {
    this.offset = offset
  }

  /** The byte that a field begins at. */
  begin(field: DefinedField): number {
    if (!this.#isClosed && !takesWholeByte(field) && firstBitOf(field) !== this.#firstBit) this.offset--
    return this.offset
  }

  /** Moves behind a field of that many bytes. */
  end(field: DefinedField, length: number): void {
    this.offset += length
    const firstBit = firstBitOf(field)
    this.#isClosed = takesWholeByte(field) || firstBit === this.#firstBit || firstBit + (field.type.bits % 8) >= 8
    this.#firstBit = this.#isClosed ? -1 : firstBit
  }
}

function takesWholeByte(field: DefinedField): boolean {
  return field.length > 1 || field.type.bits % 8 === 0
}

function firstBitOf({ type }: DefinedField): number {
  return type.kind === 'number' ? type.firstBit : 0
}

/** The bytes of all fields of a part. A field that takes the rest counts as what is left of `max`. */
export function computeFieldsLength(fields: readonly DefinedField[], part: FieldPart, max: number): number {
  const cursor = new FieldCursor(0)
  let left = max
  for (const field of fields) {
    if (field.part !== part) continue
    cursor.begin(field)
    const length = isRemainderField(field) ? left : field.length
    left = Math.max(0, left - length)
    cursor.end(field, length)
  }
  return cursor.offset
}
