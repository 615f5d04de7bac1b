/**
 * Media type: what a picture or a sound is, by its first bytes. Whatever else it says about itself is a stranger's word.
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
  /** From the first byte of a picture to its last: what follows it, such as a page or an archive, is cut off. */
  readonly bytes: Uint8Array
}

/**
 * `undefined` for everything that is not on the list, SVG and HTML among them, and for pictures that end too early: a
 * client that passes one on is refused by its model, with the whole conversation.
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
      // Cameras of ESP32 boards pad their frames.
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
