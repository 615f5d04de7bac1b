import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../core/bytes.ts'
import { decodeEntryBundle, encodeEntryBundle, expandTile, readTileNode, formatTilePath, listTiles } from './tile.ts'
import { computeLeafHash, computeNodeHash } from './tree.ts'

describe('tile', () => {
  it.each([
    [{ level: 0, index: 1_234_067, width: 256 }, 'tile/0/x001/x234/067'],
    [{ level: 0, index: 0, width: 256 }, 'tile/0/000'],
    [{ level: 1, index: 999, width: 17 }, 'tile/1/999.p/17'],
    [{ level: 2, index: 1_000, width: 1 }, 'tile/2/x001/000.p/1'],
    [{ level: 'entries' as const, index: 273, width: 112 }, 'tile/entries/273.p/112'],
  ])('%o is stored at %s', (name, path) => {
    expect(formatTilePath(name)).toBe(path)
  })

  it('divides a tree of 70,000 entries as the specification does', () => {
    const tiles = [...listTiles(70_000)]
    const full = (level: number) => tiles.filter((tile) => tile.level === level && tile.width === 256).length
    expect([full(0), full(1), full(2)]).toEqual([273, 1, 0])
    expect(tiles.filter(({ width }) => width < 256)).toEqual([
      { level: 0, index: 273, width: 112 },
      { level: 1, index: 1, width: 17 },
      { level: 2, index: 0, width: 1 },
    ])
  })

  it('lists a full tile and one hash above it for 256 leaves, and no tile for none', () => {
    expect([...listTiles(256)]).toEqual([
      { level: 0, index: 0, width: 256 },
      { level: 1, index: 0, width: 1 },
    ])
    expect([...listTiles(0)]).toEqual([])
  })

  it('computes the inner nodes that its hashes complete', () => {
    const leaves = [1, 2, 3].map((value) => computeLeafHash(Uint8Array.of(value)))
    const nodes = expandTile(Buffer.concat(leaves))
    const [first, second, third] = leaves as [Uint8Array, Uint8Array, Uint8Array]
    expect(readTileNode(nodes, 0, 2)).toEqual(third)
    expect(readTileNode(nodes, 1, 0)).toEqual(computeNodeHash(first, second))
    expect(readTileNode(nodes, 1, 1)).toEqual(new Uint8Array(32))
  })

  it('encodes entries in a bundle with length prefixes', () => {
    const bundle = encodeEntryBundle([fromHex('aa'), new Uint8Array(0), fromHex('bb cc')])
    expect(toHex(bundle)).toBe('0001aa00000002bbcc')
    expect(decodeEntryBundle(bundle, 3)).toMatchObject({ ok: true, value: { length: 3 } })
  })

  it.each([
    ['0001aa00', 'cut-off'],
    ['0003aabb', 'cut-off'],
    ['0001aa', 'wrong-count'],
    ['0001aa0001aa0001aa', 'wrong-count'],
    ['', 'wrong-count'],
  ])('refuses the bundle %s', (bytes, kind) => {
    expect(decodeEntryBundle(fromHex(bytes), 2)).toMatchObject({ ok: false, fault: { kind } })
  })
})
