/**
 * Picture end: where a JPEG, PNG, GIF or WebP picture ends, found by following its segments from the first to the last.
 *
 * An end marker alone proves nothing: the preview inside of a cut-off photo has one, and so may an archive behind a
 * picture. The functions return `undefined` for a picture that is cut off, has no pixels, or has more than a decoder
 * should be given.
 */

/** A model's client refuses larger pictures, and a decoder would need gigabytes. */
const MAX_PIXELS_PER_SIDE = 8_000

export function findJpegEnd(bytes: Buffer): number | undefined {
  let hasFrame = false
  let hasScan = false
  // ITU T.81 § B.1.1: FF, which may be repeated, and a code; after most codes a length follows that includes itself.
  for (let at = 2; at + 1 < bytes.length;) {
    if (bytes[at] !== 0xff) return undefined
    const code = bytes[at + 1] ?? 0
    if (code === 0xff) {
      at++
      continue
    }
    if (code === JPEG.endOfImage) return hasScan ? at + 2 : undefined
    if (at + 4 > bytes.length) return undefined
    const next = at + 2 + bytes.readUInt16BE(at + 2)
    if (next < at + 4 || next > bytes.length) return undefined
    if (isStartOfFrame(code)) {
      if (next < at + 9 || !isDrawable(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5))) return undefined
      hasFrame = true
    }
    if (code === JPEG.startOfScan) {
      if (!hasFrame) return undefined
      hasScan = true
    }
    at = code === JPEG.startOfScan ? findJpegScanEnd(bytes, next) : next
  }
  return undefined
}

/** ITU T.81 table B.1. */
const JPEG = { startOfScan: 0xda, endOfImage: 0xd9 } as const

/** C0 to CF, but for the tables DHT and DAC, and JPG. */
function isStartOfFrame(code: number): boolean {
  return code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc
}

/** § B.1.1.5: within a scan FF is followed by 0 or is a restart mark, D0 to D7; anything else ends it. */
function findJpegScanEnd(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(0xff, start); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    const code = bytes[at + 1] ?? 0
    if (code !== 0 && code !== 0xff && (code < 0xd0 || code > 0xd7)) return at
  }
  return bytes.length
}

/** W3C PNG § 5.3: length, type, data and a checksum of four bytes; § 5.6: IHDR first, IEND last. */
export function findPngEnd(bytes: Buffer): number | undefined {
  let hasPixels = false
  for (let at = 8; at + 12 <= bytes.length;) {
    const type = bytes.toString('latin1', at + 4, at + 8)
    const next = at + 12 + bytes.readUInt32BE(at)
    if (next > bytes.length || (at === 8) !== (type === 'IHDR')) return undefined
    if (at === 8 && (next !== 33 || !isDrawable(bytes.readUInt32BE(16), bytes.readUInt32BE(20)))) return undefined
    if (type === 'IDAT') hasPixels = true
    if (type === 'IEND') return hasPixels ? next : undefined
    at = next
  }
  return undefined
}

/** GIF89a § 18 to 27: a screen, then extensions and images in blocks, then the trailer. */
export function findGifEnd(bytes: Buffer): number | undefined {
  if (bytes.length < 13 || !isDrawable(bytes.readUInt16LE(6), bytes.readUInt16LE(8))) return undefined
  let hasPixels = false
  for (let at = 13 + sizeOfColorTable(bytes[10] ?? 0); at < bytes.length;) {
    const kind = bytes[at]
    if (kind === 0x3b) return hasPixels ? at + 1 : undefined
    if (kind !== 0x21 && kind !== 0x2c) return undefined
    // An image has a position, perhaps colours, and the size of its first code; an extension has a label.
    at += kind === 0x21 ? 2 : 11 + sizeOfColorTable(bytes[at + 9] ?? 0)
    if (kind === 0x2c) hasPixels = true
    while (at < bytes.length && bytes[at] !== 0) at += 1 + (bytes[at] ?? 0)
    at++
  }
  return undefined
}

function sizeOfColorTable(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1)
}

/** RFC 9649 § 2.4 to 2.7: a RIFF file whose first chunk contains the size of the picture. */
export function findWebpEnd(bytes: Buffer): number | undefined {
  const end = findRiffEnd(bytes)
  if (end === undefined || end < 30) return undefined
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      // RFC 6386 § 9.1: 14 bits for width and height each.
      return isDrawable(bytes.readUInt16LE(26) & 0x3f_ff, bytes.readUInt16LE(28) & 0x3f_ff) ? end : undefined
    case 'VP8L': {
      const sides = bytes.readUInt32LE(21)
      return isDrawable((sides & 0x3f_ff) + 1, ((sides >>> 14) & 0x3f_ff) + 1) ? end : undefined
    }
    case 'VP8X':
      return isDrawable(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1) ? end : undefined
    default:
      return undefined
  }
}

/** RIFF: the length of everything after the first eight bytes. */
export function findRiffEnd(bytes: Buffer): number | undefined {
  if (bytes.length < 12) return undefined
  const end = bytes.readUInt32LE(4) + 8
  return end > 12 && end <= bytes.length ? end : undefined
}

function isDrawable(width: number, height: number): boolean {
  return Math.max(width, height) <= MAX_PIXELS_PER_SIDE && Math.min(width, height) > 0
}
