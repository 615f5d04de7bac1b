/**
 * Nkey: the node key in NATS's encoding. Both are Ed25519 keys, and only the encoding differs.
 *
 *   U… = encodeBase32( 'user' prefix ‖ 32-byte public key ‖ CRC-16 of both, low byte first )
 *
 * A server requests a signature of a nonce that it chooses. Our key also signs calls, member lists and ledgers, so a
 * nonce is signed only if it cannot be the text of any of these.
 *
 * Pure, given the key.
 */
import { sign } from 'node:crypto'
import { toBase64url, concatBytes, toUtf8 } from '../../core/bytes.ts'
import { encodeBase32 } from '../identity/node-key.ts'
import type { NodeIdentity } from '../identity/node-key.ts'

/** 20 << 3, which makes the first symbol a U. */
const USER = 160
/** Servers send 11 to 22 of these characters; every other text that we sign contains braces, spaces or line ends. */
const NONCE = /^[A-Za-z0-9_-]{8,64}$/

export function encodeUserNkey(publicKey: Uint8Array): string {
  const body = concatBytes(Uint8Array.of(USER), publicKey)
  const crc = computeCrc16(body)
  return encodeBase32(concatBytes(body, Uint8Array.of(crc & 0xff, crc >> 8)))
}

/** The signature in base64url; `undefined` for a nonce that could be another text that we sign. */
export function signServerNonce({ privateKey }: NodeIdentity, nonce: string): string | undefined {
  return NONCE.test(nonce) ? toBase64url(sign(null, toUtf8(nonce), privateKey)) : undefined
}

/** CRC-16/XMODEM: polynomial 0x1021, from zero. */
export function computeCrc16(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff
  }
  return crc
}
