import { describe, expect, it } from 'vitest'
import { TreeEdge } from './stored-tree.ts'
import type { FullTile } from './stored-tree.ts'
import { TILE_BYTES, TILE_HEIGHT, expandTile, tileNode } from './tile.ts'
import { emptyFrontier, extendFrontier, frontierRoot, leafHash } from './tree.ts'

const leaf = (index: number) => leafHash(Buffer.from(String(index)))

function grow(size: number): { readonly edge: TreeEdge; readonly tiles: FullTile[] } {
  const tiles: FullTile[] = []
  const edge = new TreeEdge((tile) => tiles.push(tile))
  for (let index = 0; index < size; index++) edge.append(leaf(index))
  return { edge, tiles }
}

function plainRoot(size: number): Uint8Array {
  const frontier = emptyFrontier()
  for (let index = 0; index < size; index++) extendFrontier(frontier, leaf(index))
  return frontierRoot(frontier)
}

describe('edge', () => {
  it('hands over each tile when it fills, with the root that the level above takes', () => {
    const { edge, tiles } = grow(70_000)
    expect(tiles.filter(({ level }) => level === 0)).toHaveLength(273)
    expect(tiles.filter(({ level }) => level === 1)).toHaveLength(1)
    expect(edge.root()).toEqual(plainRoot(70_000))
    const upper = tiles.find(({ level }) => level === 1)
    const lower = tiles.find(({ level, index }) => level === 0 && index === 200)
    if (upper === undefined || lower === undefined) throw new Error('no such tile')
    expect(tileNode(upper.nodes, 0, 200)).toEqual(tileNode(lower.nodes, TILE_HEIGHT, 0))
    expect(lower.nodes).toEqual(expandTile(lower.nodes.subarray(0, TILE_BYTES)))
  })

  it.each([0, 1, 255, 256, 257, 511, 65_535, 65_536, 65_537, 66_000])(
    'is the same edge when read back at %i',
    (size) => {
      const { edge, tiles } = grow(size)
      const read = (level: number, from: number, count: number) =>
        Buffer.concat(
          Array.from({ length: count }, (_, offset) => {
            if (level === 0) return leaf(from + offset)
            const below = tiles.find((tile) => tile.level === level - 1 && tile.index === from + offset)
            if (below === undefined) throw new Error('no such tile')
            return tileNode(below.nodes, TILE_HEIGHT, 0)
          }),
        )
      const again = TreeEdge.at(size, read, () => undefined)
      expect(again.root()).toEqual(edge.root())
      for (let more = 0; more < 300; more++) {
        edge.append(leaf(size + more))
        again.append(leaf(size + more))
      }
      expect(again.root()).toEqual(edge.root())
      expect(again.root()).toEqual(plainRoot(size + 300))
    },
  )

  it('refuses to stand on a level with hashes missing', () => {
    const short = () => new Uint8Array(32)
    expect(() => TreeEdge.at(3, short, () => undefined)).toThrow('level 0 of the tree is not all there')
  })
})
