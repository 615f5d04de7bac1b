/**
 * Node key: a node's identity. Its Ed25519 public key is its id, so no other node can take it.
 *
 *   ed25519:R0Vu…                  full: base64url of the 32 bytes, in everything that travels
 *   ed25519:BRXG-5Q3K-7WQD-M2TA    short: base32 of the first 10 bytes, for eyes only and never parsed
 */
import { createPublicKey, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { toBase64url, fromBase64url, toUtf8 } from '../../core/bytes.ts'

export interface NodeIdentity {
  readonly id: string
  /** The 32 bytes of the public key. */
  readonly publicKey: Uint8Array
  readonly privateKey: KeyObject
}

const PREFIX = 'ed25519:'
const KEY_BYTES = 32
const SIGNATURE_BYTES = 64

export function deriveNodeIdentity(privateKey: KeyObject): NodeIdentity {
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new TypeError('a node key is an Ed25519 key')
  const publicKey = rawPublicKey(createPublicKey(privateKey))
  return { id: `${PREFIX}${toBase64url(publicKey)}`, publicKey, privateKey }
}

/** The 32 bytes behind an id; `undefined` for anything that is not the one spelling of a key. */
export function decodeNodeId(id: string): Uint8Array | undefined {
  if (id.length !== PREFIX.length + 43 || !id.startsWith(PREFIX)) return undefined
  const bytes = fromBase64url(id.slice(PREFIX.length))
  return bytes?.length === KEY_BYTES ? bytes : undefined
}

/** Caches valid ids: every message names three, and they are nearly always the same. */
const knownIds = new Set<string>()
const MAX_KNOWN_IDS = 4_096

export function isNodeId(id: string): boolean {
  if (knownIds.has(id)) return true
  if (decodeNodeId(id) === undefined) return false
  if (knownIds.size >= MAX_KNOWN_IDS) knownIds.clear()
  knownIds.add(id)
  return true
}

export function encodeNodeId(publicKey: KeyObject): string | undefined {
  return publicKey.asymmetricKeyType === 'ed25519' ? `${PREFIX}${toBase64url(rawPublicKey(publicKey))}` : undefined
}

/** The id without its prefix, which can be used in a NATS subject and in a file name. */
export function stripNodeIdPrefix(id: string): string {
  return id.slice(PREFIX.length)
}

/** 10 bytes, not the 8 that CONTRACT § 1.3 names: those would be 13 symbols, which do not make four groups of four. */
export function formatShortId(id: string): string {
  const symbols = encodeBase32((decodeNodeId(id) ?? new Uint8Array(10)).subarray(0, 10))
  return `${PREFIX}${symbols.match(/.{4}/g)?.join('-') ?? ''}`
}

/** `ed25519:` and base64url of the 64 bytes (CONTRACT § 1.3). */
export function signTextWithNodeKey({ privateKey }: Pick<NodeIdentity, 'privateKey'>, text: string): string {
  return `${PREFIX}${toBase64url(sign(null, toUtf8(text), privateKey))}`
}

export function isNodeSignatureValid(id: string, text: string, signature: string): boolean {
  const bytes = signature.startsWith(PREFIX) ? fromBase64url(signature.slice(PREFIX.length)) : undefined
  const key = bytes?.length === SIGNATURE_BYTES ? keyObject(id) : undefined
  return bytes !== undefined && key !== undefined && verify(null, toUtf8(text), key, bytes)
}

/** Cached, because importing a key costs half as much as a verification. Bounded, because ids come from other nodes. */
const imported = new Map<string, KeyObject>()
const MAX_IMPORTED = 1_024

function keyObject(id: string): KeyObject | undefined {
  const known = imported.get(id)
  if (known !== undefined) return known
  const bytes = decodeNodeId(id)
  if (bytes === undefined) return undefined
  if (imported.size >= MAX_IMPORTED) imported.clear()
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: toBase64url(bytes) }, format: 'jwk' })
  imported.set(id, key)
  return key
}

function rawPublicKey(key: KeyObject): Uint8Array {
  const { x } = key.export({ format: 'jwk' })
  const bytes = x === undefined ? undefined : fromBase64url(x)
  if (bytes === undefined) throw new TypeError('not an Ed25519 key')
  return bytes
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648, without padding. */
export function encodeBase32(bytes: Uint8Array): string {
  let [text, bits, held] = ['', 0, 0]
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xffff
    bits += 8
    for (; bits >= 5; bits -= 5) text += BASE32[(held >> (bits - 5)) & 31]
  }
  return bits > 0 ? text + BASE32[(held << (5 - bits)) & 31] : text
}
