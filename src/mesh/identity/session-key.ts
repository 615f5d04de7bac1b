/**
 * Session key: the key that two nodes share after one handshake, so that most calls need a MAC instead of a signature.
 *
 *   caller   ── ephemeral X25519 key ──▶   provider        both messages have their authors' Ed25519
 *   caller   ◀── ephemeral, session id ──  provider        signatures, against a man in the middle
 *
 *   key = HKDF-SHA256( X25519(…), salt = session id, info = 'hearthbus-session-1', from, to, both ephemerals )
 *
 * Pure, given its random numbers.
 */
import {
  createHmac,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  timingSafeEqual,
} from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { fromBase64url } from '../../core/bytes.ts'

export interface EphemeralKey {
  /** Base64url of 32 bytes. */
  readonly publicKey: string
  readonly privateKey: KeyObject
}

export interface SessionKeyContext {
  readonly sessionId: string
  readonly from: string
  readonly to: string
  readonly callerKey: string
  readonly providerKey: string
}

const KEY_BYTES = 32

export function createEphemeralKey(): EphemeralKey {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  return { publicKey: publicKey.export({ format: 'jwk' }).x ?? '', privateKey }
}

/** Returns `undefined` when the other side's key is invalid, or one that makes every secret the same. */
export function deriveSessionKey(
  own: EphemeralKey,
  otherKey: string,
  parties: SessionKeyContext,
): KeyObject | undefined {
  if (fromBase64url(otherKey)?.length !== KEY_BYTES) return undefined
  const { sessionId, from, to, callerKey, providerKey } = parties
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: otherKey }, format: 'jwk' })
    const shared = diffieHellman({ privateKey: own.privateKey, publicKey })
    const info = ['hearthbus-session-1', from, to, callerKey, providerKey].join('\n')
    // Returned as a key object: creating it for every MAC would cost five times the MAC.
    return createSecretKey(new Uint8Array(hkdfSync('sha256', shared, sessionId, info, KEY_BYTES)))
  } catch {
    return undefined
  }
}

/** Base64url of HMAC-SHA-256. */
export function computeTextMac(key: KeyObject, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}

export function isTextMacValid(key: KeyObject, text: string, given: string): boolean {
  const right = createHmac('sha256', key).update(text).digest()
  const bytes = fromBase64url(given)
  return bytes?.length === right.length && timingSafeEqual(bytes, right)
}

/** The length of 16 bytes in base64url. */
export const SESSION_ID_LENGTH = 22
