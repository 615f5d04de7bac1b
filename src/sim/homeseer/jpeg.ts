/**
 * JPEG: small grey pictures, one brightness per 8 × 8 block, as baseline JPEG (ITU-T T.81, JFIF 1.01).
 *
 *   SOI ▸ APP0 ▸ DQT ▸ SOF0 ▸ DHT (DC) ▸ DHT (AC) ▸ SOS ▸ bits ▸ EOI
 *
 * Every block has only a DC coefficient. With a quantiser of 8 it is exactly brightness − 128; each is written as the
 * difference to the one before, and the empty rest of the block as one bit.
 *
 * Pure.
 */
import { concat } from '../../core/bytes.ts'

export interface Blocks {
  readonly columns: number
  readonly rows: number
  /** 0 black to 255 white, row by row. */
  readonly brightness: (column: number, row: number) => number
}

/** Codes of T.81 table K.3: how many bits the difference takes, by length of the code. */
const DC_LENGTHS = [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
const DC_SYMBOLS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
const DC_CODES = huffmanCodes(DC_LENGTHS)
/** One code of one bit, `0`: nothing follows in this block. */
const AC_LENGTHS = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
const END_OF_BLOCK = { code: 0, length: 1 }
const QUANTISER = 8
const MAX_SIDE = 8_191

export function encodeJpeg({ columns, rows, brightness }: Blocks): Uint8Array {
  if (columns < 1 || rows < 1 || columns > MAX_SIDE || rows > MAX_SIDE) throw new RangeError('not a picture')
  const height = rows * 8
  const width = columns * 8
  return concat(
    new Uint8Array([0xff, 0xd8]),
    segment(0xe0, [0x4a, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    segment(0xdb, [0, ...Array.from({ length: 64 }, () => QUANTISER)]),
    segment(0xc0, [8, height >> 8, height & 0xff, width >> 8, width & 0xff, 1, 1, 0x11, 0]),
    segment(0xc4, [0x00, ...DC_LENGTHS, ...DC_SYMBOLS]),
    segment(0xc4, [0x10, ...AC_LENGTHS, 0x00]),
    segment(0xda, [1, 1, 0x00, 0, 63, 0]),
    scan({ columns, rows, brightness }),
    new Uint8Array([0xff, 0xd9]),
  )
}

function segment(marker: number, payload: readonly number[]): Uint8Array {
  const length = payload.length + 2
  return new Uint8Array([0xff, marker, length >> 8, length & 0xff, ...payload])
}

function scan({ columns, rows, brightness }: Blocks): Uint8Array {
  const bits = new BitWriter()
  let previous = 0
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const level = Math.min(255, Math.max(0, Math.round(brightness(column, row)))) - 128
      writeDifference(bits, level - previous)
      bits.write(END_OF_BLOCK.code, END_OF_BLOCK.length)
      previous = level
    }
  return bits.finish()
}

/** T.81 § F.1.2.1: the number of bits, then the bits; a negative difference is one less in two's complement. */
function writeDifference(bits: BitWriter, difference: number): void {
  const size = 32 - Math.clz32(Math.abs(difference))
  const code = DC_CODES[size]
  if (code === undefined) throw new RangeError(`a difference of ${difference}`)
  bits.write(code.code, code.length)
  if (size > 0) bits.write(difference > 0 ? difference : difference + (1 << size) - 1, size)
}

class BitWriter {
  readonly #bytes: number[] = []
  #pending = 0
  #count = 0

  write(value: number, length: number): void {
    for (let bit = length - 1; bit >= 0; bit--) {
      this.#pending = (this.#pending << 1) | ((value >> bit) & 1)
      if (++this.#count === 8) this.#flush()
    }
  }

  finish(): Uint8Array {
    while (this.#count !== 0) this.write(1, 1)
    return new Uint8Array(this.#bytes)
  }

  /** A data byte FF would be a marker, so a zero is stuffed behind it. */
  #flush(): void {
    this.#bytes.push(this.#pending)
    if (this.#pending === 0xff) this.#bytes.push(0)
    this.#pending = 0
    this.#count = 0
  }
}

/** Codes in order of length, counting up, a bit appended at each new length (T.81 annex C). */
function huffmanCodes(lengths: readonly number[]): readonly { readonly code: number; readonly length: number }[] {
  const codes = []
  let code = 0
  for (const [index, count] of lengths.entries()) {
    for (let made = 0; made < count; made++) codes.push({ code: code++, length: index + 1 })
    code <<= 1
  }
  return codes
}
