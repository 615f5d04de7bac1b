/**
 * Note key: the key that signs a note, and its verifier key.
 *
 *   example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k
 *   name            key id   base64(type ‖ 32-byte Ed25519 public key)
 *
 * The key id is the first four bytes of SHA-256(name ‖ newline ‖ type ‖ public key).
 *
 * Pure, given its keys.
 */
import { createPublicKey, hkdfSync, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { toBase64, toBase64url, concatBytes, fromBase64, toHex, toUtf8 } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { computeSha256 } from './tree.ts'

export const ED25519_NOTE_SIGNATURE_TYPE = 0x01
export const COSIGNATURE_NOTE_SIGNATURE_TYPE = 0x04
export type NoteSignatureType = typeof ED25519_NOTE_SIGNATURE_TYPE | typeof COSIGNATURE_NOTE_SIGNATURE_TYPE

/** One signature line of a note. */
export interface NoteSignature {
  readonly name: string
  /** The key id (4 bytes) followed by the signature. */
  readonly blob: Uint8Array
}

export interface NoteVerifier {
  readonly name: string
  readonly type: NoteSignatureType
  /** The 32 bytes of the public key. */
  readonly publicKey: Uint8Array
  /** The 4 bytes of the key id. */
  readonly id: Uint8Array
  /** Verifies a signature (without key id) over a note's text; the value is a cosignature's time. */
  readonly verify: (text: string, signature: Uint8Array) => Result<number | undefined, 'bad-signature'>
}

export interface NoteSigner {
  readonly key: NoteVerifier
  readonly sign: (text: string) => NoteSignature
}

/** Signs for a log, and derives the secrets that authenticate entries before they are signed. */
export interface LogSigner extends NoteSigner {
  /** 32 bytes that only the holder of the private key can compute: HKDF-SHA-256 of its seed. */
  readonly deriveSecret: (purpose: string) => Uint8Array
}

export type VerifierKeyFault = { readonly kind: 'bad-verifier-key'; readonly reason: string }

const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const TIME_BYTES = 8
const SECRET_BYTES = 32
/** No Unicode space and no plus, which separates the parts of a verifier key, and no control characters. */
const NAME = /^[^\s+\p{Cc}]+$/u

export function isKeyName(name: string): boolean {
  return NAME.test(name)
}

/** Throws on an invalid name or key; `parseVerifierKey` is for untrusted input. */
export function createNoteVerifier(name: string, type: NoteSignatureType, publicKey: Uint8Array): NoteVerifier {
  if (!isKeyName(name)) throw new TypeError(`${JSON.stringify(name)} cannot be a key name: it has spaces or a plus`)
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw new RangeError(`Ed25519 key of ${publicKey.length} bytes`)
  const key = importPublicKey(publicKey)
  return {
    name,
    type,
    publicKey,
    id: keyId(name, type, publicKey),
    verify: (text, signature) =>
      (type === ED25519_NOTE_SIGNATURE_TYPE ? verifyPlain : verifyCosignature)(key, text, signature),
  }
}

export function formatVerifierKey({ name, type, publicKey, id }: NoteVerifier): string {
  return `${name}+${toHex(id)}+${toBase64(concatBytes(Uint8Array.of(type), publicKey))}`
}

export function parseVerifierKey(text: string): Result<NoteVerifier, VerifierKeyFault> {
  // Splits at the first two plus signs only: base64 has plus signs of its own.
  const match = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/u.exec(text)
  const [name, id, encoded] = [match?.[1], match?.[2], fromBase64(match?.[3] ?? '')]
  if (name === undefined || encoded === undefined) return refused('it is not name+id+base64')
  if (!isKeyName(name)) return refused('its name has spaces')
  const [type] = encoded
  if (type !== ED25519_NOTE_SIGNATURE_TYPE && type !== COSIGNATURE_NOTE_SIGNATURE_TYPE)
    return refused('it is of a type other than Ed25519 and cosignature')
  if (encoded.length !== 1 + PUBLIC_KEY_BYTES) return refused('its key is not 32 bytes long')
  const publicKey = encoded.subarray(1)
  if (toHex(keyId(name, type, publicKey)) !== id) return refused('its id does not belong to its name and key')
  return ok(createNoteVerifier(name, type, publicKey))
}

/** Signs checkpoints of a log with the origin `name`. */
export function createLogSigner(name: string, privateKey: KeyObject): LogSigner {
  const key = createNoteVerifier(name, ED25519_NOTE_SIGNATURE_TYPE, exportEd25519PublicKeyBytes(privateKey))
  return {
    key,
    sign: (text) => ({ name, blob: concatBytes(key.id, sign(null, toUtf8(text), privateKey)) }),
    deriveSecret: (purpose) => {
      const seed = fromBase64UrlField(privateKey.export({ format: 'jwk' }).d) ?? new Uint8Array(0)
      return new Uint8Array(hkdfSync('sha256', seed, new Uint8Array(0), purpose, SECRET_BYTES))
    },
  }
}

/** Cosigns as a witness; every signature contains its time. */
export function createCosigner(name: string, privateKey: KeyObject, nowMs: () => number): NoteSigner {
  const key = createNoteVerifier(name, COSIGNATURE_NOTE_SIGNATURE_TYPE, exportEd25519PublicKeyBytes(privateKey))
  return {
    key,
    sign: (text) => {
      const seconds = Math.floor(nowMs() / 1_000)
      const time = Buffer.alloc(TIME_BYTES)
      time.writeBigUInt64BE(BigInt(seconds))
      return { name, blob: concatBytes(key.id, time, sign(null, cosignedMessage(seconds, text), privateKey)) }
    },
  }
}

/** The 32 bytes of an Ed25519 key, from its private or its public half. */
export function exportEd25519PublicKeyBytes(key: KeyObject): Uint8Array {
  const half = key.type === 'private' ? createPublicKey(key) : key
  const bytes = fromBase64UrlField(half.export({ format: 'jwk' }).x)
  if (half.asymmetricKeyType !== 'ed25519' || bytes === undefined) throw new TypeError('not an Ed25519 key')
  return bytes
}

function verifyPlain(key: KeyObject, text: string, signature: Uint8Array): Result<undefined, 'bad-signature'> {
  if (signature.length !== SIGNATURE_BYTES) return fail('bad-signature')
  return verify(null, toUtf8(text), key, signature) ? ok(undefined) : fail('bad-signature')
}

function verifyCosignature(key: KeyObject, text: string, signature: Uint8Array): Result<number, 'bad-signature'> {
  if (signature.length !== TIME_BYTES + SIGNATURE_BYTES) return fail('bad-signature')
  const seconds = Number(Buffer.from(signature.subarray(0, TIME_BYTES)).readBigUInt64BE())
  // The specification stops at 2^63 − 1; exact numbers stop at 2^53, some 285 million years from now.
  if (!Number.isSafeInteger(seconds)) return fail('bad-signature')
  const good = verify(null, cosignedMessage(seconds, text), key, signature.subarray(TIME_BYTES))
  return good ? ok(seconds) : fail('bad-signature')
}

/** C2SP tlog-cosignature, Ed25519 signed message. */
function cosignedMessage(seconds: number, text: string): Uint8Array {
  return toUtf8(`cosignature/v1\ntime ${seconds}\n${text}`)
}

function keyId(name: string, type: NoteSignatureType, publicKey: Uint8Array): Uint8Array {
  return computeSha256(concatBytes(toUtf8(name), Uint8Array.of(0x0a, type), publicKey)).subarray(0, 4)
}

function importPublicKey(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: toBase64url(bytes) }, format: 'jwk' })
}

function fromBase64UrlField(text: string | undefined): Uint8Array | undefined {
  return text === undefined ? undefined : new Uint8Array(Buffer.from(text, 'base64url'))
}

function refused(reason: string): { readonly ok: false; readonly fault: VerifierKeyFault } {
  return fail({ kind: 'bad-verifier-key', reason })
}
