/**
 * JPEG: the real, if coarse, pictures of the virtual house's cameras. Baseline DCT, three components, one colour per
 * 8×8 block.
 *
 *   SOI APP0 DQT SOF0 DHT(DC) DHT(AC) SOS entropy-coded data EOI          ITU-T T.81
 *
 * A block of one colour has a DC coefficient and nothing else, which needs no cosine transform and no long tables.
 */
import { concatBytes } from '../core/bytes.ts'

export type RgbColour = readonly [red: number, green: number, blue: number]

/** The standard luminance DC table of T.81, table K.3: codes of 2 to 9 bits for the sizes 0 to 11. */
const DC_COUNTS = [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
const DC_SIZES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
/** The AC table needs only "end of block", which has a code of one bit. */
const END_OF_BLOCK = { code: 0, bits: 1 }
/** The DC coefficient of a flat block is 8 × (value − 128); a quantiser of 8 therefore keeps every value exact. */
const QUANTISER = 8
const MAX_SIDE = 8_191

export function encodeJpeg(
  columns: number,
  rows: number,
  colour: (column: number, row: number) => RgbColour,
): Uint8Array {
  if (columns < 1 || rows < 1 || columns > MAX_SIDE || rows > MAX_SIDE) throw new RangeError('not a picture')
  const width = columns * 8
  const height = rows * 8
  return concatBytes(
    Uint8Array.of(0xff, 0xd8),
    segment(0xe0, [...Buffer.from('JFIF\0'), 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    segment(0xdb, [0, ...Array.from({ length: 64 }, () => QUANTISER)]),
    segment(0xc0, [8, ...uint16(height), ...uint16(width), 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]),
    segment(0xc4, [0x00, ...DC_COUNTS, ...DC_SIZES]),
    segment(0xc4, [0x10, 1, ...Array.from({ length: 15 }, () => 0), 0x00]),
    segment(0xda, [3, 1, 0, 2, 0, 3, 0, 0, 63, 0]),
    entropy(columns, rows, colour),
    Uint8Array.of(0xff, 0xd9),
  )
}

function entropy(columns: number, rows: number, colour: (column: number, row: number) => RgbColour): Uint8Array {
  const out = new BitWriter()
  const last = [0, 0, 0]
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      for (const [component, value] of toYCbCr(colour(column, row)).entries()) {
        const dc = Math.round(value - 128)
        writeDifference(out, dc - (last[component] ?? 0))
        last[component] = dc
        out.write(END_OF_BLOCK.code, END_OF_BLOCK.bits)
      }
  return out.finish()
}

/** Writes the size of the difference and then its bits; a negative difference is written minus one (T.81 § F.1.2.1). */
function writeDifference(out: BitWriter, difference: number): void {
  const size = difference === 0 ? 0 : 32 - Math.clz32(Math.abs(difference))
  const { code, bits } = DC_CODES[size] ?? { code: 0, bits: 0 }
  out.write(code, bits)
  if (size > 0) out.write(difference > 0 ? difference : difference + 2 ** size - 1, size)
}

/** Codes count up within a length and are doubled from one length to the next (T.81 § C.2). */
const DC_CODES: readonly { readonly code: number; readonly bits: number }[] = (() => {
  const codes: { code: number; bits: number }[] = []
  let code = 0
  for (const [index, count] of DC_COUNTS.entries()) {
    for (let each = 0; each < count; each++) codes.push({ code: code++, bits: index + 1 })
    code *= 2
  }
  return codes
})()

class BitWriter {
  readonly #bytes: number[] = []
  #held = 0
  #count = 0

  write(value: number, bits: number): void {
    for (let bit = bits - 1; bit >= 0; bit--) {
      this.#held = (this.#held << 1) | ((value >> bit) & 1)
      this.#count++
      if (this.#count === 8) this.#flush()
    }
  }

  /** Fills the rest of the last byte with ones. */
  finish(): Uint8Array {
    while (this.#count > 0) this.write(1, 1)
    return Uint8Array.from(this.#bytes)
  }

  #flush(): void {
    this.#bytes.push(this.#held)
    // A data byte 0xFF is followed by a 0 byte, so that a decoder does not take it for a marker.
    if (this.#held === 0xff) this.#bytes.push(0)
    this.#held = 0
    this.#count = 0
  }
}

function toYCbCr([red, green, blue]: RgbColour): readonly number[] {
  return [
    0.299 * red + 0.587 * green + 0.114 * blue,
    128 - 0.168_736 * red - 0.331_264 * green + 0.5 * blue,
    128 + 0.5 * red - 0.418_688 * green - 0.081_312 * blue,
  ]
}

function segment(marker: number, body: readonly number[]): Uint8Array {
  return Uint8Array.of(0xff, marker, ...uint16(body.length + 2), ...body)
}

function uint16(value: number): readonly [number, number] {
  return [value >> 8, value & 0xff]
}
