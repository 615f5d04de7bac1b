/**
 * UDP audio: one encrypted Opus packet of an MQTT session. The 16-byte header is also the AES-128-CTR counter block.
 *
 *   type(1)=1 flags(1)=0 size(2) ssrc(4) timestampMs(4) sequence(4) ciphertext(size)      all big-endian
 *
 * The header starts as the nonce of the server's hello; size, timestamp and sequence are written over it. There is no
 * authentication tag, so a packet proves nothing about its sender.
 */
import { createCipheriv } from 'node:crypto'
import { concatBytes, fromHex } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

const HEADER = 16

export interface UdpAudioPacket {
  readonly ssrc: number
  readonly timestampMs: number
  readonly sequence: number
  readonly opus: Uint8Array
}

export type UdpAudioFault = { readonly kind: 'not-audio' } | { readonly kind: 'size-differs' }

export interface UdpAudioKeys {
  readonly keyHex: string
  readonly nonceHex: string
}

export function encodeUdpAudio(keys: UdpAudioKeys, packet: Omit<UdpAudioPacket, 'ssrc'>): Uint8Array {
  const header = fromHex(keys.nonceHex)
  const view = new DataView(header.buffer)
  view.setUint16(2, packet.opus.length)
  view.setUint32(8, packet.timestampMs)
  view.setUint32(12, packet.sequence)
  return concatBytes(header, cipher(keys.keyHex, header, packet.opus))
}

/** The field of a datagram that identifies its session; `undefined` for a datagram that is not audio. */
export function readUdpAudioSsrc(bytes: Uint8Array): number | undefined {
  if (bytes.length < HEADER || bytes[0] !== 1) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER)
  return view.getUint16(2) === bytes.length - HEADER ? view.getUint32(4) : undefined
}

export function decodeUdpAudio(keyHex: string, bytes: Uint8Array): Result<UdpAudioPacket, UdpAudioFault> {
  if (bytes.length < HEADER || bytes[0] !== 1) return fail({ kind: 'not-audio' })
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER)
  const body = bytes.subarray(HEADER)
  if (view.getUint16(2) !== body.length) return fail({ kind: 'size-differs' })
  return ok({
    ssrc: view.getUint32(4),
    timestampMs: view.getUint32(8),
    sequence: view.getUint32(12),
    opus: cipher(keyHex, bytes.subarray(0, HEADER), body),
  })
}

/** CTR mode: the same operation in both directions. */
function cipher(keyHex: string, counter: Uint8Array, body: Uint8Array): Uint8Array {
  return new Uint8Array(createCipheriv('aes-128-ctr', fromHex(keyHex), counter).update(body))
}
