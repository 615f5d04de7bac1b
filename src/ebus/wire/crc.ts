/**
 * CRC: the eBUS checksum. Generator x⁸+x⁷+x⁴+x³+x+1 (9B), start 00, no reflection, no final XOR.
 *
 * The register is shifted first and the new byte added afterwards, so the last byte is never shifted; an off-the-shelf
 * CRC-8 with this generator adds first and gives other values. It runs over what is on the wire: escapes included.
 */
import { ESC, SYN } from './symbol.ts'

const GENERATOR = 0x9b

const SHIFTED = Uint8Array.from({ length: 256 }, (_, value) => {
  let crc = value
  for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x80 ? GENERATOR : 0)
  return crc
})

/** Adds one logical byte, fed as the one or two symbols it is on the wire. */
export function addEscapedByteToCrc(crc: number, logical: number): number {
  if (logical !== ESC && logical !== SYN) return addByteToCrc(crc, logical)
  return shifted(shifted(crc) ^ ESC) ^ (logical === SYN ? 0x01 : 0x00)
}

/** Returns the checksum after one more byte that is neither A9 nor AA. */
export function addByteToCrc(crc: number, byte: number): number {
  return shifted(crc) ^ byte
}

export function computeCrc(logical: Uint8Array): number {
  let crc = 0
  for (const byte of logical) crc = addEscapedByteToCrc(crc, byte)
  return crc
}

function shifted(crc: number): number {
  return SHIFTED[crc] ?? 0
}
