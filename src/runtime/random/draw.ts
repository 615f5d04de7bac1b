/**
 * Draw: one of several, or some of many, from a verifiable random output, so that nobody chooses and all can verify.
 *
 *   alpha = RFC 8785 of { draw: "hearthbus/vrf/v1", house, epoch, purpose, number }      fixed before it is drawn
 *   one of members   the smallest SHA-256(beta ‖ member)
 *   some of size     SHA-256(beta ‖ counter) as a number, those below the largest multiple of size, modulo size
 *
 * No floating point, and no member has an advantage by its place in a list.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, toHex, toUtf8 } from '../../core/bytes.ts'
import { canonicalJson } from '../../core/json.ts'

export interface DrawSubject {
  /** Whose key draws. */
  readonly house: string
  readonly epoch: number
  readonly purpose: string
  readonly number: number
}

export function encodeDrawAlpha({ house, epoch, purpose, number }: DrawSubject): Uint8Array {
  return toUtf8(canonicalJson({ draw: 'hearthbus/vrf/v1', house, epoch, purpose, number }))
}

export function drawOne(beta: Uint8Array, members: readonly string[]): string | undefined {
  const ranked = [...new Set(members)].map((member) => ({
    member,
    rank: toHex(sha256(concatBytes(beta, toUtf8(member)))),
  }))
  return ranked.toSorted((left, right) => (left.rank < right.rank ? -1 : 1))[0]?.member
}

/** Different numbers from 0 to below `size`, smallest first: all of them where there are no more than `count`. */
export function drawIndices(beta: Uint8Array, size: number, count: number): readonly number[] {
  if (size <= count) return Array.from({ length: Math.max(0, size) }, (_, index) => index)
  const range = 2n ** 64n
  const limit = range - (range % BigInt(size))
  const drawn = new Set<number>()
  for (let counter = 0; drawn.size < count; counter++) {
    const bytes = sha256(concatBytes(beta, toUtf8(String(counter))))
    const value = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0)
    // Above the limit some numbers would come more often than others.
    if (value < limit) drawn.add(Number(value % BigInt(size)))
  }
  return [...drawn].toSorted((left, right) => left - right)
}
