/**
 * Random draw: an order of several, or some of many, from a verifiable random output, so that nobody chooses and all
 * can verify.
 *
 *   alpha = RFC 8785 of { draw: "hearthbus/vrf/v1", house, epoch, purpose, number }      fixed before it is drawn
 *   order of members   by SHA-256(beta ‖ member), the smallest first
 *   some of size       SHA-256(beta ‖ counter) as a number, those below the largest multiple of size, modulo size
 *
 * No floating point, and no member has an advantage by its place in a list.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, toHex, toUtf8 } from '../core/bytes.ts'
import { canonicalJson } from '../core/json.ts'
import { computeVrfOutput, createVrfProof, deriveVrfPublicKey } from './ecvrf.ts'

export interface RandomDrawSubject {
  /** The id of the node whose key draws. */
  readonly house: string
  readonly epoch: number
  readonly purpose: RandomDrawPurpose
  readonly number: number
}

/** What is drawn: the witness that cosigns a decision, or the entries that a sample checks. */
export type RandomDrawPurpose = 'witness' | 'sample'

/** A node's key for draws; nobody else can compute its outputs. */
export interface RandomDrawKey {
  /** The node's id. */
  readonly house: string
  /** Hexadecimal. */
  readonly publicKey: string
  readonly prove: (subject: Omit<RandomDrawSubject, 'house'>) => { readonly proof: string; readonly beta: Uint8Array }
}

export const RANDOM_DRAW_KEY_PURPOSE = 'hearthbus/vrf/v1'

export function createRandomDrawKey(house: string, secret: Uint8Array): RandomDrawKey {
  return {
    house,
    publicKey: toHex(deriveVrfPublicKey(secret)),
    prove: (subject) => {
      const proof = createVrfProof(secret, encodeRandomDrawInput({ ...subject, house }))
      return { proof: toHex(proof), beta: computeVrfOutput(proof) }
    },
  }
}

/** RFC 8785 sorts the members' names, so the text of every draw begins with this one. */
const DRAW_ALPHA_PREFIX = '{"draw":'

export function encodeRandomDrawInput({ house, epoch, purpose, number }: RandomDrawSubject): Uint8Array {
  return toUtf8(canonicalJson({ draw: RANDOM_DRAW_KEY_PURPOSE, house, epoch, purpose, number }))
}

/**
 * Whether an input has the form of a draw. The node computes the output of such inputs only for its own draws: a caller
 * that could have others computed would know in advance what will be drawn, and could choose the moment.
 */
export function isRandomDrawInput(alpha: Uint8Array): boolean {
  return Buffer.from(alpha).toString('latin1').startsWith(DRAW_ALPHA_PREFIX)
}

/** Every member once, in the drawn order. */
export function computeDrawnOrder(beta: Uint8Array, members: readonly string[]): readonly string[] {
  return [...new Set(members)]
    .map((member) => ({ member, rank: toHex(sha256(concatBytes(beta, toUtf8(member)))) }))
    .toSorted((left, right) => (left.rank < right.rank ? -1 : 1))
    .map(({ member }) => member)
}

/** Distinct numbers below `size`, smallest first; all of them if there are at most `count`. */
export function computeDrawnIndices(beta: Uint8Array, size: number, count: number): readonly number[] {
  if (size <= count) return Array.from({ length: Math.max(0, size) }, (_, index) => index)
  const range = 2n ** 64n
  const limit = range - (range % BigInt(size))
  const drawn = new Set<number>()
  for (let counter = 0; drawn.size < count; counter++) {
    const bytes = sha256(concatBytes(beta, toUtf8(String(counter))))
    const value = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0)
    // Without this limit some numbers would be more frequent than others.
    if (value < limit) drawn.add(Number(value % BigInt(size)))
  }
  return [...drawn].toSorted((left, right) => left - right)
}
