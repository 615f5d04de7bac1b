/**
 * Audio frame: Opus packets in binary WebSocket messages, in the three layouts firmware knows. Big-endian.
 *
 *   v1   payload
 *   v2   version(2)=2 type(2)=0 reserved(4) timestampMs(4) size(4) payload
 *   v3   type(1)=0 reserved(1) size(2) payload
 *
 * The layout is not negotiated: it follows the `version` of the device's configuration, which its headers repeat.
 * A device does not check `size` and would read beyond its buffer, so what is encoded here is always exact.
 */
import { concatBytes } from '../../core/bytes.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

export type AudioVersion = 1 | 2 | 3

export interface AudioFrame {
  readonly timestampMs: number
  readonly opus: Uint8Array
}

export type AudioFault =
  | { readonly kind: 'not-audio' }
  | { readonly kind: 'size-differs'; readonly declared: number; readonly got: number }

const V2_HEADER = 16
const V3_HEADER = 4

export function encodeAudioFrame(version: AudioVersion, frame: AudioFrame): Uint8Array {
  const size = frame.opus.length
  if (version === 1) return frame.opus
  const header = new DataView(new ArrayBuffer(version === 2 ? V2_HEADER : V3_HEADER))
  if (version === 2) {
    header.setUint16(0, 2)
    header.setUint32(8, frame.timestampMs)
    header.setUint32(12, size)
  } else {
    if (size > 0xff_ff) throw new RangeError(`an Opus packet of ${size} bytes does not fit a v3 frame`)
    header.setUint16(2, size)
  }
  return concatBytes(new Uint8Array(header.buffer), frame.opus)
}

/** Returns a view of `bytes`, not a copy: a receiver that does not use the audio looks at the header only. */
export function decodeAudioFrame(version: AudioVersion, bytes: Uint8Array): Result<AudioFrame, AudioFault> {
  if (version === 1) return bytes.length === 0 ? fail({ kind: 'not-audio' }) : ok({ timestampMs: 0, opus: bytes })
  const headerSize = version === 2 ? V2_HEADER : V3_HEADER
  if (bytes.length < headerSize) return fail({ kind: 'not-audio' })
  const header = new DataView(bytes.buffer, bytes.byteOffset, headerSize)
  // Gateways leave version and type zero in v2, so only a type that says "JSON" is refused.
  if (version === 2 && header.getUint16(2) !== 0) return fail({ kind: 'not-audio' })
  if (version === 3 && header.getUint8(0) !== 0) return fail({ kind: 'not-audio' })
  const declared = version === 2 ? header.getUint32(12) : header.getUint16(2)
  const opus = bytes.subarray(headerSize)
  if (declared !== opus.length) return fail({ kind: 'size-differs', declared, got: opus.length })
  return ok({ timestampMs: version === 2 ? header.getUint32(8) : 0, opus })
}
