import { describe, expect, it } from 'vitest'

import { fromHex, toHex } from '../../core/bytes.ts'
import { computeCrc } from './crc.ts'
import { escapeBytes } from './symbol.ts'

describe('escapeBytes', () => {
  it('writes A9 as A9 00 and AA as A9 01, and leaves all other bytes unchanged', () => {
    expect(toHex(escapeBytes(fromHex('00 a8 a9 aa ab ff')))).toBe('00a8a900a901abff')
  })
})

describe('computeCrc', () => {
  it.each([
    ['31 15 07 04 00', 0x8b],
    ['31 08 07 04 00', 0xd1],
    ['31 fe 07 fe 00', 0x35],
    ['10 36 07 04 00', 0x40],
    ['31 08 b5 09 03 0d 18 00', 0x36],
    ['31 15 b5 09 03 aa a9 55', 0xb2],
    ['10 fe b5 05 04 27 a9 15 aa', 0x77],
    ['31 fe b5 16 03 01 80 0c', 0x4b],
    ['00', 0x00],
    ['01 01', 0x9a],
    ['03 c8 02 00', 0x0a],
    ['0a b5 43544c5632 05 14 07 04', 0xfb],
    ['0a fd 6562757364 26 01 01 00', 0x28],
    ['09 313030303234363031', 0xa9],
    ['10 08 b5 04 01 7f', 0x42],
    ['31 15 b5 55 03 a3 00 00', 0xd6],
    ['09 00 0c 0a 05 01 0c 05 1e 00', 0x2f],
    ['71 15 b5 24 06 02 00 03 00 16 00', 0xbe],
    ['01 aa', 0xfa],
    ['01 a9', 0xfb],
  ])('of %s is the CRC on a real bus', (bytes, crc) => {
    expect(computeCrc(fromHex(bytes))).toBe(crc)
  })
})
