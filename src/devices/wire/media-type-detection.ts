/**
 * Media type detection: recognises pictures and sounds by their first bytes. A type that a device claims is not
 * trusted.
 */
import { findGifEnd, findJpegEnd, findPngEnd, findRiffEnd, findWebpEnd } from './picture-end.ts'

const SIGNATURES: readonly (readonly [start: string, offset: number, type: string])[] = [
  ['\u00FF\u00D8\u00FF', 0, 'image/jpeg'],
  ['\u0089PNG\r\n\u001A\n', 0, 'image/png'],
  ['GIF87a', 0, 'image/gif'],
  ['GIF89a', 0, 'image/gif'],
  ['WEBP', 8, 'image/webp'],
  ['OggS', 0, 'audio/ogg'],
  ['WAVE', 8, 'audio/wav'],
  ['fLaC', 0, 'audio/flac'],
  ['ID3', 0, 'audio/mpeg'],
  ['\u00FF\u00FB', 0, 'audio/mpeg'],
]

export interface DetectedMedia {
  readonly mimeType: string
  /** The picture from its first byte to its last; anything after it, such as a page or an archive, is cut off. */
  readonly bytes: Uint8Array
}

/**
 * Returns `undefined` for types that are not on the list, among them SVG and HTML, and for pictures that are cut off: a
 * model refuses such a picture, together with the whole conversation.
 */
export function detectMedia(bytes: Uint8Array): DetectedMedia | undefined {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  const mimeType = SIGNATURES.find(
    ([start, offset]) => head.startsWith(start, offset) && (offset === 0 || head.startsWith('RIFF')),
  )?.[2]
  const end =
    mimeType === undefined ? undefined : endOfMedia(mimeType, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  return mimeType === undefined || end === undefined ? undefined : { mimeType, bytes: bytes.subarray(0, end) }
}

function endOfMedia(mimeType: string, bytes: Buffer): number | undefined {
  switch (mimeType) {
    case 'image/jpeg':
      // Cameras of ESP32 boards append padding to their frames.
      return findJpegEnd(bytes)
    case 'image/png':
      return findPngEnd(bytes)
    case 'image/gif':
      return findGifEnd(bytes)
    case 'image/webp':
      return findWebpEnd(bytes)
    case 'audio/wav':
      return findRiffEnd(bytes)
    default:
      return bytes.length
  }
}
