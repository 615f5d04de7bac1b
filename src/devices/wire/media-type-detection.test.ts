import { describe, expect, it } from 'vitest'
import { detectMedia } from './media-type-detection.ts'

const decode = (base64: string) => new Uint8Array(Buffer.from(base64, 'base64'))
/** One pixel each, as many web pages embed them. */
const PNG = decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==')
const GIF = decode('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7')
const WEBP = decode('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA')
/** One grey pixel by the letter of ITU T.81, annex B: SOI DQT SOF0 DHT DHT SOS, two bits of data, EOI. */
const JPEG = new Uint8Array(
  Buffer.from(
    [
      'ffd8',
      `ffdb004300${'01'.repeat(64)}`,
      'ffc0000b080001000101011100',
      `ffc400140001${'00'.repeat(16)}`,
      `ffc400141001${'00'.repeat(16)}`,
      'ffda0008010100003f00',
      '3f',
      'ffd9',
    ].join(''),
    'hex',
  ),
)
const PICTURES = { 'image/png': PNG, 'image/gif': GIF, 'image/webp': WEBP, 'image/jpeg': JPEG } as const

/** An archive that ends like a JPEG, a GIF and a PNG. */
const ENDS = new Uint8Array(Buffer.from('504b0304 ffd9 003b 49454e44ae426082'.replaceAll(' ', ''), 'hex'))

const join = (...parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts))

describe.each(Object.entries(PICTURES))('media of type %s', (mimeType, picture) => {
  it('are detected from their bytes, not from the declared type', () => {
    expect(detectMedia(picture)).toEqual({ mimeType, bytes: picture })
  })

  it('end at the end of the image: bytes behind it are dropped', () => {
    const page = new TextEncoder().encode('<html><script>alert(1)</script></html>')
    for (const more of [page, new Uint8Array(512), new TextEncoder().encode('PK\u0003\u0004'), ENDS])
      expect(detectMedia(join(picture, more))?.bytes).toEqual(picture)
  })

  it('are not detected when truncated', () => {
    for (const left of [16, picture.length >> 1, picture.length - 1])
      expect(detectMedia(picture.subarray(0, left))).toBeUndefined()
  })
})

describe('media detection', () => {
  it.each([
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ['SVG behind a comment', '<!-- GIF89a --><svg/>'],
    ['a page', '<!doctype html>'],
    ['PDF', '%PDF-1.7'],
    ['nothing', ''],
    ['RIFF of another kind', 'RIFF\u0004\0\0\0AVI '],
  ])('rejects %s', (_name, text) => {
    expect(detectMedia(new Uint8Array(Buffer.from(text, 'latin1')))).toBeUndefined()
  })

  it('rejects a PNG with a declared size of 100,000 × 100,000 pixels', () => {
    const huge = Buffer.from(PNG)
    huge.writeUInt32BE(100_000, 16)
    huge.writeUInt32BE(100_000, 20)
    expect(detectMedia(huge)).toBeUndefined()
  })

  it('rejects a JPEG that is truncated behind the preview in its EXIF segment', () => {
    const size = JPEG.length + 2
    const preview = join(Uint8Array.of(0xff, 0xe1, size >> 8, size & 0xff), JPEG)
    const whole = join(JPEG.subarray(0, 2), preview, JPEG.subarray(2))
    expect(detectMedia(whole)?.bytes).toEqual(whole)
    expect(detectMedia(whole.subarray(0, -2))).toBeUndefined()
    expect(detectMedia(join(whole.subarray(0, 2 + preview.length), Uint8Array.of(0xff, 0xd9)))).toBeUndefined()
  })

  it('accepts a JPEG with fill bytes, restart markers and stuffed bytes in its scan', () => {
    const end = JPEG.length - 2
    const marks = Uint8Array.of(0xff, 0, 0xff, 0xd0, 0x3f, 0xff, 0xff, 0xd9)
    const picture = join(JPEG.subarray(0, end), marks)
    expect(detectMedia(picture)?.bytes).toEqual(picture)
  })

  it.each([
    ['JPEG', JPEG, 76, 'ffffffff'],
    ['GIF', GIF, 6, 'ffffffff'],
    ['WebP', WEBP, 26, 'ff3fff3f'],
    ['JPEG without a pixel', JPEG, 76, '00000000'],
  ])('rejects a %s with impossible dimensions', (_name, picture, at, sides) => {
    const changed = Buffer.from(picture)
    changed.write(sides, at, 'hex')
    expect(detectMedia(changed)).toBeUndefined()
  })

  it('rejects images with nothing between header and end marker', () => {
    for (const hex of ['ffd8ffd9', '4749463839610100010000003b', '89504e470d0a1a0a0000000049454e44ae426082'])
      expect(detectMedia(new Uint8Array(Buffer.from(hex, 'hex')))).toBeUndefined()
  })
})
