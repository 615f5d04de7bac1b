import { describe, expect, it } from 'vitest'
import { detectMedia } from './media-type.ts'

const decode = (base64: string) => new Uint8Array(Buffer.from(base64, 'base64'))
/** One pixel each, as many web pages embed them. */
const PNG = decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==')
const GIF = decode('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7')
const WEBP = decode('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA')
const JPEG = decode('/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////2Q==')
const PICTURES = { 'image/png': PNG, 'image/gif': GIF, 'image/webp': WEBP, 'image/jpeg': JPEG } as const

const join = (...parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts))

describe.each(Object.entries(PICTURES))('%s', (mimeType, picture) => {
  it('is known by its bytes', () => {
    expect(detectMedia(picture)).toEqual({ mimeType, bytes: picture })
  })

  it('is cut where it ends: a page or an archive behind it is not passed on', () => {
    const page = new TextEncoder().encode('<html><script>alert(1)</script></html>')
    for (const more of [page, new Uint8Array(512), new TextEncoder().encode('PK\u0003\u0004')])
      expect(detectMedia(join(picture, more))?.bytes).toEqual(picture)
  })

  it('is none when it ends too early', () => {
    for (const left of [16, picture.length >> 1, picture.length - 1])
      expect(detectMedia(picture.subarray(0, left))).toBeUndefined()
  })
})

describe('media', () => {
  it.each([
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ['SVG behind a comment', '<!-- GIF89a --><svg/>'],
    ['a page', '<!doctype html>'],
    ['PDF', '%PDF-1.7'],
    ['nothing', ''],
    ['RIFF of another kind', 'RIFF\u0004\0\0\0AVI '],
  ])('does not include %s', (_name, text) => {
    expect(detectMedia(new Uint8Array(Buffer.from(text, 'latin1')))).toBeUndefined()
  })

  it('does not include a PNG that says it has ten thousand million pixels', () => {
    const huge = Buffer.from(PNG)
    huge.writeUInt32BE(100_000, 16)
    huge.writeUInt32BE(100_000, 20)
    expect(detectMedia(huge)).toBeUndefined()
  })
})
