/**
 * ECVRF: verifiable randomness on edwards25519, RFC 9381, suite ECVRF-EDWARDS25519-SHA512-TAI (0x03).
 *
 *   prove(secret, alpha) ─▶ pi (80 bytes)        verify(public, alpha, pi) ─▶ beta (64 bytes), or nothing
 *
 * One key and one `alpha` have one `beta`: the prover cannot choose it, and the verifier need not trust the prover. The
 * map to the curve takes a time that depends on `alpha`, which is public here.
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'
import { concatBytes, areBytesEqual } from '../core/bytes.ts'
import { deriveEd25519PublicKey } from '../core/ed25519-key.ts'

export const ECVRF_SUITE_NAME = 'ECVRF-EDWARDS25519-SHA512-TAI'

const SUITE = 0x03
const DOMAIN = { encode: 0x01, challenge: 0x02, output: 0x03, end: 0x00 }
const POINT_BYTES = 32
const CHALLENGE_BYTES = 16
export const VRF_SECRET_KEY_BYTES = 32
export const VRF_PUBLIC_KEY_BYTES = 32
export const VRF_PROOF_BYTES = 80

const { Point } = ed25519
const ORDER = Point.Fn.ORDER
type CurvePoint = InstanceType<typeof Point>

interface KeyPair {
  /**
   * The key's scalar, reduced by the group's order. This is exact, because only points of the prime-order subgroup are
   * multiplied.
   */
  readonly scalar: bigint
  readonly prefix: Uint8Array
  readonly publicKey: Uint8Array
}

/** The Ed25519 key of the same secret (§ 5.5), which Node derives a hundred times as fast as `expand`. */
export function deriveVrfPublicKey(secret: Uint8Array): Uint8Array {
  checkSecretLength(secret)
  return deriveEd25519PublicKey(secret)
}

/** RFC 9381 § 5.1. */
export function createVrfProof(secret: Uint8Array, alpha: Uint8Array): Uint8Array {
  const { scalar, prefix, publicKey } = expand(secret)
  const h = encodeToCurve(publicKey, alpha)
  const hash = h.toBytes()
  const gamma = h.multiply(scalar)
  // § 5.4.2.2, the nonce of RFC 8032 over the point and not over alpha.
  const nonce = littleEndian(sha512(concatBytes(prefix, hash))) % ORDER
  const challenge = challengeOf(publicKey, [h, gamma, Point.BASE.multiply(nonce), h.multiply(nonce)])
  const s = (nonce + littleEndian(challenge) * scalar) % ORDER
  return concatBytes(gamma.toBytes(), challenge, bytesOf(s))
}

/**
 * RFC 9381 § 5.3. Returns the output, or `undefined` where the proof is invalid: the output of an unverified proof
 * means nothing.
 */
export function verifyVrfProof(publicKey: Uint8Array, alpha: Uint8Array, proof: Uint8Array): Uint8Array | undefined {
  const y = decodePoint(publicKey)
  const gamma = proof.length === VRF_PROOF_BYTES ? decodePoint(proof.subarray(0, POINT_BYTES)) : undefined
  // § 5.4.5: with a key of small order anybody could prove anything.
  if (y === undefined || gamma === undefined || y.clearCofactor().is0()) return undefined
  const challenge = proof.subarray(POINT_BYTES, POINT_BYTES + CHALLENGE_BYTES)
  const s = littleEndian(proof.subarray(POINT_BYTES + CHALLENGE_BYTES))
  if (s >= ORDER) return undefined
  const c = littleEndian(challenge)
  const h = encodeToCurve(publicKey, alpha)
  const u = Point.BASE.multiplyUnsafe(s).subtract(y.multiplyUnsafe(c))
  const v = h.multiplyUnsafe(s).subtract(gamma.multiplyUnsafe(c))
  return areBytesEqual(challengeOf(publicKey, [h, gamma, u, v]), challenge) ? outputOf(gamma) : undefined
}

/** RFC 9381 § 5.2. Call only for a proof that this node made or verified. */
export function computeVrfOutput(proof: Uint8Array): Uint8Array {
  const gamma = decodePoint(proof.subarray(0, POINT_BYTES))
  if (gamma === undefined) throw new RangeError('a proof whose point cannot be decoded')
  return outputOf(gamma)
}

/** Whether these bytes are a public key that proofs can be checked against. */
export function isVrfPublicKey(publicKey: Uint8Array): boolean {
  return decodePoint(publicKey)?.clearCofactor().is0() === false
}

function outputOf(gamma: CurvePoint): Uint8Array {
  const { output, end } = DOMAIN
  return sha512(concatBytes(Uint8Array.of(SUITE, output), gamma.clearCofactor().toBytes(), Uint8Array.of(end)))
}

/** RFC 8032 § 5.1.5. */
function expand(secret: Uint8Array): KeyPair {
  checkSecretLength(secret)
  const digest = sha512(secret)
  const low = digest.slice(0, 32)
  low[0] = (low[0] ?? 0) & 0xf8
  low[31] = ((low[31] ?? 0) & 0x7f) | 0x40
  const scalar = littleEndian(low) % ORDER
  return { scalar, prefix: digest.subarray(32), publicKey: Point.BASE.multiply(scalar).toBytes() }
}

function checkSecretLength({ length }: Uint8Array): void {
  if (length !== VRF_SECRET_KEY_BYTES)
    throw new RangeError(`a secret of ${length} bytes, ${VRF_SECRET_KEY_BYTES} needed`)
}

/** § 5.4.1.1, try and increment. One attempt in two fails, so that all 256 failing is practically impossible. */
function encodeToCurve(publicKey: Uint8Array, alpha: Uint8Array): CurvePoint {
  for (let counter = 0; counter < 256; counter++) {
    const tail = Uint8Array.of(counter, DOMAIN.end)
    const digest = sha512(concatBytes(Uint8Array.of(SUITE, DOMAIN.encode), publicKey, alpha, tail))
    const point = decodePoint(digest.subarray(0, POINT_BYTES))?.clearCofactor()
    if (point !== undefined && !point.is0()) return point
  }
  throw new Error('no counter maps this input to the curve')
}

/** RFC 9381 § 5.4.3. */
function challengeOf(publicKey: Uint8Array, points: readonly CurvePoint[]): Uint8Array {
  const { challenge, end } = DOMAIN
  const parts = points.map((point) => point.toBytes())
  return sha512(concatBytes(Uint8Array.of(SUITE, challenge), publicKey, ...parts, Uint8Array.of(end))).slice(
    0,
    CHALLENGE_BYTES,
  )
}

/** Strict, RFC 8032 § 5.1.3: a second encoding of one point would be a second key, or a second proof. */
function decodePoint(bytes: Uint8Array): CurvePoint | undefined {
  if (bytes.length !== POINT_BYTES) return undefined
  try {
    return Point.fromBytes(bytes, false)
  } catch {
    return undefined
  }
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
}

function bytesOf(scalar: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, index) => Number((scalar >> BigInt(8 * index)) & 0xffn))
}
