import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toHex } from '../core/bytes.ts'
import type { RgbColour } from './jpeg.ts'
import { encodeJpeg } from './jpeg.ts'

/** Marker segments in order, and the entropy-coded bytes after SOS with their stuffing removed. */
function parse(jpeg: Uint8Array) {
  const segments: { marker: string; body: Uint8Array }[] = []
  let at = 2
  for (;;) {
    const marker = toHex(jpeg.subarray(at, at + 2))
    const size = ((jpeg[at + 2] ?? 0) << 8) | (jpeg[at + 3] ?? 0)
    segments.push({ marker, body: jpeg.subarray(at + 4, at + 2 + size) })
    at += 2 + size
    if (marker === 'ffda') break
  }
  const data = jpeg.subarray(at, jpeg.length - 2)
  return { segments, data: data.filter((byte, index) => !(byte === 0 && data[index - 1] === 0xff)) }
}

/** Reads DC differences with T.81's table K.3, written out by hand, and one bit for "end of block". */
function decode(data: Uint8Array, blocks: number): number[] {
  const bits = Array.from(data, (byte) => byte.toString(2).padStart(8, '0')).join('')
  const codes = ['00', '010', '011', '100', '101', '110', '1110', '11110', '111110', '1111110']
  let at = 0
  const values: number[] = []
  for (let block = 0; block < blocks; block++) {
    const size = codes.findIndex((code) => bits.startsWith(code, at))
    at += codes[size]?.length ?? 0
    const raw = size === 0 ? 0 : Number.parseInt(bits.slice(at, at + size), 2)
    values.push(size === 0 || raw >= 2 ** (size - 1) ? raw : raw - 2 ** size + 1)
    at += size
    expect(bits[at]).toBe('0')
    at++
  }
  return values
}

describe('JPEG encoder', () => {
  it('writes the segments of a baseline picture', () => {
    const jpeg = encodeJpeg(40, 30, () => [10, 20, 30])
    expect(toHex(jpeg.subarray(0, 2))).toBe('ffd8')
    expect(toHex(jpeg.subarray(-2))).toBe('ffd9')
    const { segments } = parse(jpeg)
    expect(segments.map(({ marker }) => marker)).toEqual(['ffe0', 'ffdb', 'ffc0', 'ffc4', 'ffc4', 'ffda'])
    expect(toHex(segments[2]?.body ?? new Uint8Array(0))).toBe('0800f0014003011100021100031100')
  })

  it('keeps its markers for any picture, also where data bytes are FF', () => {
    const levels = fc.array(fc.nat(255), { minLength: 72, maxLength: 72 })
    fc.assert(
      fc.property(levels, (values) => {
        const level = (index: number) => values[index] ?? 0
        const jpeg = encodeJpeg(6, 4, (column, row) => {
          const at = (row * 6 + column) * 3
          return [level(at), level(at + 1), level(at + 2)]
        })
        const { segments } = parse(jpeg)
        expect(segments.map(({ marker }) => marker)).toEqual(['ffe0', 'ffdb', 'ffc0', 'ffc4', 'ffc4', 'ffda'])
        expect(toHex(jpeg.subarray(-2))).toBe('ffd9')
        expect(decode(parse(jpeg).data, 72)).toHaveLength(72)
      }),
    )
  })

  it('refuses a picture without pixels', () => {
    expect(() => encodeJpeg(0, 1, () => [0, 0, 0])).toThrow('not a picture')
  })

  it('preserves the colours', () => {
    const colours: RgbColour[] = [
      [255, 255, 255],
      [0, 0, 0],
      [255, 0, 0],
      [128, 128, 128],
    ]
    const jpeg = encodeJpeg(4, 1, (column) => colours[column] ?? [0, 0, 0])
    const differences = decode(parse(jpeg).data, 12)
    const luminance = [0, 3, 6, 9].map((index) => differences[index] ?? 0)
    let sum = 0
    expect(luminance.map((difference) => (sum += difference) + 128)).toEqual([255, 0, 76, 128])
  })
})
