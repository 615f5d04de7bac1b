/** Ed25519 key: the private and the public key of a seed of 32 bytes (RFC 8032 § 5.1.5). */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { concatBytes, fromHex } from './bytes.ts'

const ED25519_KEY_BYTES = 32
/** What precedes the seed in PKCS #8 (RFC 8410 § 7). */
const PKCS8_HEAD = fromHex('302e020100300506032b657004220420')

export function createEd25519PrivateKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.from(concatBytes(PKCS8_HEAD, seed)), format: 'der', type: 'pkcs8' })
}

export function deriveEd25519PublicKey(seed: Uint8Array): Uint8Array {
  // A SubjectPublicKeyInfo ends with the bytes of the key (RFC 8410 § 4).
  const spki = createPublicKey(createEd25519PrivateKey(seed)).export({ format: 'der', type: 'spki' })
  return new Uint8Array(spki.subarray(-ED25519_KEY_BYTES))
}
