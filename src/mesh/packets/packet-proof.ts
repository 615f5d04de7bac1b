/**
 * Packet proof: proves that a packet comes from the other end of its session.
 *
 *   hmac-sha256:…   the MAC of its content under the session key: no party in between can have changed or made it
 *   token:…         a text derived from the session key: a party that has not seen a packet cannot have made
 *                   it. Only if both nodes are configured to omit signatures (ADR 62), and the transport is
 *                   encrypted.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { MeshSession } from '../sessions.ts'

const MAC = 'hmac-sha256:'
const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

/** The direction is part of the proof: a caller's proof is never valid as a provider's. */
export type PacketDirection = 'call' | 'answer'

export function computeSessionPacketProof(
  speaker: PacketDirection,
  covered: string,
  payload: string,
  { key, tokens }: MeshSession,
): string {
  return tokens === undefined ? macOf(key, covered, payload) : tokens[speaker]
}

export function matchesExpectedPacketProof(
  speaker: PacketDirection,
  { proof, covered, payload }: { readonly proof: string; readonly covered: string; readonly payload: string },
  session: MeshSession,
): boolean {
  return isSame(proof, computeSessionPacketProof(speaker, covered, payload, session))
}

/**
 * HMAC made of two plain hashes (RFC 2104). Node's own HMAC looks up its algorithm and creates an object every time,
 * which takes longer than everything else for a small packet. The key is the session's in hex: padded it is still
 * ASCII, so the packet is hashed as a text.
 */
function macOf(key: KeyObject, covered: string, payload: string): string {
  const { inner, outer } = padsOf(key)
  outer.write(hash('sha256', `${inner}packet ${covered}${payload}`, 'binary'), BLOCK_BYTES, 'latin1')
  return MAC + hash('sha256', outer, 'base64url')
}

interface Pads {
  readonly inner: string
  /** A buffer with room for the inner digest at its end. */
  readonly outer: Buffer
}

const padsByKey = new WeakMap<KeyObject, Pads>()

function padsOf(key: KeyObject): Pads {
  let pads = padsByKey.get(key)
  if (pads === undefined) {
    const block = Buffer.from(key.export().toString('hex'))
    pads = {
      inner: Buffer.from(block.map((byte) => byte ^ 0x36)).toString('latin1'),
      outer: Buffer.concat([block.map((byte) => byte ^ 0x5c)], BLOCK_BYTES + DIGEST_BYTES),
    }
    padsByKey.set(key, pads)
  }
  return pads
}

/** Buffers for comparing two proofs of equal length, by length; our proofs have two lengths. */
const places = new Map<number, readonly [Buffer, Buffer]>()

function isSame(given: string, right: string): boolean {
  const { length } = right
  if (given.length !== length) return false
  let pair = places.get(length)
  if (pair === undefined) {
    pair = [Buffer.alloc(length), Buffer.alloc(length)]
    places.set(length, pair)
  }
  pair[0].write(given, 'latin1')
  pair[1].write(right, 'latin1')
  return timingSafeEqual(pair[0], pair[1])
}
