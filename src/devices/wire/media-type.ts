/**
 * Media type: what a picture or a sound is, by its first bytes. Whatever else it says about itself is a stranger's word.
 */
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
  /** From the first byte of the picture or sound to its last: what follows it, such as a page or an archive, is cut off. */
  readonly bytes: Uint8Array
}

/** A model's client refuses larger ones, and a decoder would need gigabytes. */
const MAX_PIXELS_PER_SIDE = 8_000

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
      // ITU T.81 § B.2.1: EOI. Cameras of ESP32 boards pad their frames after it.
      return endAfter(bytes, 'ffd9', 0)
    case 'image/png': {
      // W3C PNG § 5.6, 11.2.5: IHDR first, IEND last, each with a checksum of four bytes.
      if (bytes.length < 24 || bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined
      const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
      if (Math.max(width, height) > MAX_PIXELS_PER_SIDE || Math.min(width, height) === 0) return undefined
      return endAfter(bytes, '49454e44', 4)
    }
    case 'image/gif':
      // GIF89a § 27: a block terminator and the trailer.
      return endAfter(bytes, '003b', 0)
    case 'image/webp':
    case 'audio/wav': {
      // RIFF: the length of all that follows the first eight bytes.
      const end = bytes.readUInt32LE(4) + 8
      return end > 12 && end <= bytes.length ? end : undefined
    }
    default:
      return bytes.length
  }
}

function endAfter(bytes: Buffer, mark: string, more: number): number | undefined {
  const at = bytes.lastIndexOf(Buffer.from(mark, 'hex'))
  const end = at + mark.length / 2 + more
  return at < 0 || end > bytes.length ? undefined : end
}
