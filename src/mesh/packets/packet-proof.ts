/**
 * Packet proof: that a packet comes from the other end of its session.
 *
 *   hmac-sha256:…   the MAC of its words under the session key: nobody in between can have changed or made it
 *   token:…         a word that follows from the session key: nobody who has not seen one of its packets can have made
 *                   it. Only where both nodes are told to leave out signatures (ADR 62), and what carries them is sealed.
 *
 * Pure.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Session } from '../sessions.ts'

const MAC = 'hmac-sha256:'
const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

/** Whose word it is: a caller's under one proof is never a provider's. */
export type Speaker = 'call' | 'answer'

export function packetProof(speaker: Speaker, covered: string, payload: string, { key, tokens }: Session): string {
  return tokens === undefined ? macOf(key, covered, payload) : tokens[speaker]
}

export function isPacketProven(
  speaker: Speaker,
  { proof, covered, payload }: { readonly proof: string; readonly covered: string; readonly payload: Uint8Array },
  { key, tokens }: Session,
): boolean {
  return isSame(proof, tokens === undefined ? macOf(key, covered, payload) : tokens[speaker])
}

/**
 * HMAC out of two plain hashes (RFC 2104). Node's own looks up its algorithm anew and makes an object every time, which
 * takes longer than all else that is done for a small packet.
 */
function macOf(key: KeyObject, covered: string, payload: string | Uint8Array): string {
  const { inner, outer } = padsOf(key)
  const words = `packet ${covered}`
  const payloadAt = BLOCK_BYTES + words.length
  const message = Buffer.allocUnsafe(payloadAt + Buffer.byteLength(payload))
  message.set(inner)
  message.write(words, BLOCK_BYTES, 'latin1')
  if (typeof payload === 'string') message.write(payload, payloadAt)
  else message.set(payload, payloadAt)
  outer.write(hash('sha256', message, 'hex'), BLOCK_BYTES, 'hex')
  return MAC + hash('sha256', outer, 'base64url')
}

interface Pads {
  readonly inner: Uint8Array
  /** With room for the inner digest behind it. */
  readonly outer: Buffer
}

const padsByKey = new WeakMap<KeyObject, Pads>()

function padsOf(key: KeyObject): Pads {
  let pads = padsByKey.get(key)
  if (pads === undefined) {
    const bytes = key.export()
    const padded = (pad: number): Uint8Array => new Uint8Array(BLOCK_BYTES).map((_, index) => (bytes[index] ?? 0) ^ pad)
    pads = { inner: padded(0x36), outer: Buffer.concat([padded(0x5c)], BLOCK_BYTES + DIGEST_BYTES) }
    padsByKey.set(key, pads)
  }
  return pads
}

function isSame(given: string, right: string): boolean {
  return given.length === right.length && timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(right, 'latin1'))
}
