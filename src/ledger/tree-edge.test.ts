import { describe, expect, it } from 'vitest'
import { MerkleTreeRightEdge } from './stored-tree.ts'
import type { CompletedTile } from './stored-tree.ts'
import { TILE_BYTES, TILE_HEIGHT, expandTile, readTileNode } from './tile.ts'
import { createEmptyFrontier, extendFrontier, computeFrontierRoot, computeLeafHash } from './tree.ts'

const leaf = (index: number) => computeLeafHash(Buffer.from(String(index)))

function grow(size: number): { readonly edge: MerkleTreeRightEdge; readonly tiles: CompletedTile[] } {
  const tiles: CompletedTile[] = []
  const edge = new MerkleTreeRightEdge((tile) => tiles.push(tile))
  for (let index = 0; index < size; index++) edge.append(leaf(index))
  return { edge, tiles }
}

function plainRoot(size: number): Uint8Array {
  const frontier = createEmptyFrontier()
  for (let index = 0; index < size; index++) extendFrontier(frontier, leaf(index))
  return computeFrontierRoot(frontier)
}

describe('right edge of the tree', () => {
  it('emits each completed tile, whose root is a hash of the level above', () => {
    const { edge, tiles } = grow(70_000)
    expect(tiles.filter(({ level }) => level === 0)).toHaveLength(273)
    expect(tiles.filter(({ level }) => level === 1)).toHaveLength(1)
    expect(edge.root()).toEqual(plainRoot(70_000))
    const upper = tiles.find(({ level }) => level === 1)
    const lower = tiles.find(({ level, index }) => level === 0 && index === 200)
    if (upper === undefined || lower === undefined) throw new Error('no such tile')
    expect(readTileNode(upper.nodes, 0, 200)).toEqual(readTileNode(lower.nodes, TILE_HEIGHT, 0))
    expect(lower.nodes).toEqual(expandTile(lower.nodes.subarray(0, TILE_BYTES)))
  })

  it.each([0, 1, 255, 256, 257, 511, 65_535, 65_536, 65_537, 66_000])(
    'restored at size %i has the same root and continues identically',
    (size) => {
      const { edge, tiles } = grow(size)
      const read = (level: number, from: number, count: number) =>
        Buffer.concat(
          Array.from({ length: count }, (_, offset) => {
            if (level === 0) return leaf(from + offset)
            const below = tiles.find((tile) => tile.level === level - 1 && tile.index === from + offset)
            if (below === undefined) throw new Error('no such tile')
            return readTileNode(below.nodes, TILE_HEIGHT, 0)
          }),
        )
      const again = MerkleTreeRightEdge.at(size, read, () => undefined)
      expect(again.root()).toEqual(edge.root())
      for (let more = 0; more < 300; more++) {
        edge.append(leaf(size + more))
        again.append(leaf(size + more))
      }
      expect(again.root()).toEqual(edge.root())
      expect(again.root()).toEqual(plainRoot(size + 300))
    },
  )

  it('has no node for incomplete subtrees and for full tiles', () => {
    const { edge } = grow(363)
    expect(edge.node(0, 362)).toEqual(leaf(362))
    expect(edge.node(0, 363)).toBeUndefined()
    expect(edge.node(1, 181)).toBeUndefined()
    expect(edge.node(8, 1)).toBeUndefined()
    // In a full tile.
    expect(edge.node(0, 255)).toBeUndefined()
  })

  it('throws when hashes of a level are missing', () => {
    const short = () => new Uint8Array(32)
    expect(() => MerkleTreeRightEdge.at(3, short, () => undefined)).toThrow('level 0 of the tree is not all there')
  })
})
