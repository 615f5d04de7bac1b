import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hex } from '../../core/bytes.ts'
import { encodeJpeg } from './jpeg.ts'

/** The markers of a JPEG in order, walking by the lengths it states; the scan's bits are skipped to the next marker. */
function markers(bytes: Uint8Array): readonly string[] {
  const seen = []
  let at = 0
  while (at < bytes.length) {
    const marker = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    seen.push(marker.toString(16))
    at += 2
    if (marker === 0xffd8 || marker === 0xffd9) continue
    at += ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    if (marker === 0xffda) while (bytes[at] !== 0xff || bytes[at + 1] === 0) at++
  }
  return seen
}

describe('JPEG', () => {
  it('is, for one block of brightness 200, these bytes, which other decoders show as 200', () => {
    expect(hex(encodeJpeg({ columns: 1, rows: 1, brightness: () => 200 }))).toBe(
      'ffd8' +
        'ffe000104a46494600010100000100010000' +
        `ffdb004300${'08'.repeat(64)}` +
        'ffc0000b080008000801011100' +
        'ffc4001f0000010501010101010100000000000000000102030405060708090a0b' +
        'ffc40014100100000000000000000000000000000000' +
        'ffda0008010100003f00' +
        'f487' +
        'ffd9',
    )
  })

  it('keeps its markers whatever the picture, also where data bytes are FF', () => {
    const picture = fc.array(fc.nat(255), { minLength: 24, maxLength: 24 })
    fc.assert(
      fc.property(picture, (levels) => {
        const bytes = encodeJpeg({ columns: 6, rows: 4, brightness: (column, row) => levels[row * 6 + column] ?? 0 })
        expect(markers(bytes)).toEqual(['ffd8', 'ffe0', 'ffdb', 'ffc0', 'ffc4', 'ffc4', 'ffda', 'ffd9'])
      }),
    )
  })

  it('refuses what is no picture', () => {
    expect(() => encodeJpeg({ columns: 0, rows: 1, brightness: () => 0 })).toThrow(RangeError)
  })
})
