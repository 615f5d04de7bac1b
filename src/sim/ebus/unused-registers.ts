/**
 * Unused registers: registers that controllers and boilers of these kinds answer, but that have no effect in the
 * simulated house. They are zeros of the right length, which every coding decodes as nothing, zero or off. Numbers and
 * lengths are those that ebusd's definitions read from a BASV2 and from a boiler with the article number of ours.
 */

/** B524 02, by group and length. */
const EXTENDED: Readonly<Record<number, Readonly<Record<number, string>>>> = {
  0x00: {
    1: '07 0a 14 74 96',
    2: '03 06 0e 16 17 18 1b 36 42 43 4d 69 7b 7c',
    3: '2c 34 35 71 72 83 84',
    4: '02 27 29 39 3d 3e 46 4b 4e 4f 50 51 52 53 54 55 56 57 58 59 5c 5d 82 95 9d 9e 9f a0',
    6: '6c 6d',
  },
  0x01: { 1: '0d', 2: '03', 3: '09 0a 0b 0c', 4: '04 05 08' },
  0x02: { 1: '02 1b', 2: '0e 15 1e', 4: '07 08 0b 0f 10 12 14 1a 1c' },
  0x03: { 1: '0e 12', 2: '01 06 13', 3: '03 04 0c 0d', 4: '02 05 07 08 09 0f 14', 5: '17 18', 6: '16' },
}

/** B509 0D, by length; the two bytes as they stand in the telegram. */
const BOILER: Readonly<Record<number, string>> = {
  1:
    '0000 0004 0804 0c00 0d00 0e00 1000 1100 1104 1200 1300 1e00 2100 2a00 2a04 2b00 2c00 2d00 3000 3004 3100 3400 ' +
    '3800 3a04 3b00 3c00 3e00 3e04 3f00 4700 4704 4800 4900 4b00 5700 5e00 6000 6200 6400 6600 6804 6900 6c00 6e00 ' +
    '6f00 7000 7300 7304 7604 7700 7b00 7f00 8100 8200 8900 9704 9900 9e00 a100 af00 b300 b700 b800 b900 ba00 bf00 ' +
    'c200 d200 d300 da00 db00 dc00 de00 e400 ec00 ed00 f100 f200 f203 f303',
  2:
    '0400 1004 1500 1a00 1c00 2700 2f00 3104 3500 3600 3700 3900 3a00 3d00 4c00 4f00 5600 9a00 9f00 a600 a700 a800 ' +
    'ac00 be00 c100 c300 c400 d000 d900 df00 e000 f000 f300 f304 f400',
  3: '1600 1700 6b00 7600 9200',
  4: 'c500 c600 c700 c800 c900 ca00 f500 f600 f700 f800 f900 fa00',
  5: 'c000',
  6: 'aa00',
  7: 'e500',
  8: '3f04',
}

const byNumber = (lengths: Readonly<Record<number, string>>): ReadonlyMap<number, Uint8Array> =>
  new Map(
    Object.entries(lengths).flatMap(([length, numbers]) =>
      numbers.split(' ').map((number) => [Number.parseInt(number, 16), new Uint8Array(Number(length))] as const),
    ),
  )

const EXTENDED_VALUES: ReadonlyMap<number, ReadonlyMap<number, Uint8Array>> = new Map(
  Object.entries(EXTENDED).map(([group, lengths]) => [Number(group), byNumber(lengths)]),
)
const BOILER_VALUES = byNumber(BOILER)

/** Zones and circuits one to three answer, even if they are unused. */
const INSTANCES: ReadonlyMap<number, number> = new Map([
  [0x00, 1],
  [0x01, 1],
  [0x02, 3],
  [0x03, 3],
])

export function readUnusedExtendedRegister(group: number, instance: number, register: number): Uint8Array | undefined {
  if (instance >= (INSTANCES.get(group) ?? 0)) return undefined
  return EXTENDED_VALUES.get(group)?.get(register)
}

export function readUnusedBoilerRegister(register: number): Uint8Array | undefined {
  return BOILER_VALUES.get(register)
}
