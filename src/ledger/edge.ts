/**
 * Edge: the right side of the tree, which is all that an append needs: the frontier and, per level, the tile that is
 * still filling. A tile that fills is handed over and begun anew.
 *
 *   level 1   ▓▓▓▓▓▓▓▓░░░░░░░░     210 roots of full tiles below
 *   level 0   ▓▓▓░░░░░░░░░░░░░     the last 67 leaves
 *
 * Pure: it holds memory, and what fills goes through the function it was given.
 */
import { TILE_HEIGHT, TILE_WIDTH, emptyNodes, expandTile, levelCount, setTileNode, tileNode } from './tile.ts'
import { HASH_BYTES, emptyFrontier, extend, frontierAt, frontierRoot } from './tree.ts'
import type { Frontier } from './tree.ts'

export interface FullTile {
  readonly level: number
  readonly index: number
  /** The 511 nodes of `expandTile`; the first 8,192 bytes are the tile as it is stored. */
  readonly nodes: Uint8Array
}

/** The hashes at `level` from the last full tile on, 0 … 255 of them, one after another. */
export type PartialTileReader = (level: number, from: number, count: number) => Uint8Array

export class Edge {
  readonly #onTile: (tile: FullTile) => void
  #frontier: Frontier = emptyFrontier()
  #levels: Uint8Array[] = []

  constructor(onTile: (tile: FullTile) => void) {
    this.#onTile = onTile
  }

  /** The edge of a stored tree: what fills no tile is read, the rest is already in full tiles. */
  static at(size: number, read: PartialTileReader, onTile: (tile: FullTile) => void): Edge {
    const edge = new Edge(onTile)
    for (let level = 0; levelCount(level, size) > 0; level++) {
      const count = levelCount(level, size)
      const width = count % TILE_WIDTH
      const hashes = read(level, count - width, width)
      if (hashes.length !== width * HASH_BYTES) throw new Error(`level ${level} of the tree is not all there`)
      edge.#levels.push(expandTile(hashes))
    }
    edge.#frontier = frontierAt(size, (height, index) => {
      const node = edge.#at(height, index)
      if (node === undefined) throw new Error(`node ${height},${index} is not on the edge of a tree of ${size}`)
      return node
    })
    return edge
  }

  get size(): number {
    return this.#frontier.size
  }

  root(): Uint8Array {
    return frontierRoot(this.#frontier)
  }

  append(leaf: Uint8Array): void {
    extend(this.#frontier, leaf, this.#place)
  }

  /** A view of a complete node in a tile that is still filling, `undefined` for nodes of full tiles. */
  node(height: number, index: number): Uint8Array | undefined {
    const level = Math.floor(height / TILE_HEIGHT)
    const [tile] = slot(height, index)
    return tile === Math.floor(levelCount(level, this.size) / TILE_WIDTH) ? this.#at(height, index) : undefined
  }

  #at(height: number, index: number): Uint8Array | undefined {
    const nodes = this.#levels[Math.floor(height / TILE_HEIGHT)]
    return nodes && tileNode(nodes, height % TILE_HEIGHT, slot(height, index)[1])
  }

  readonly #place = (height: number, index: number, hash: Uint8Array): void => {
    const level = Math.floor(height / TILE_HEIGHT)
    const within = height % TILE_HEIGHT
    // Height 8 is the root of the tile below and the first height of the tile above.
    if (within === 0 && level > 0) this.#finish(level - 1, index, hash)
    const nodes = (this.#levels[level] ??= emptyNodes())
    setTileNode(nodes, { height: within, index: slot(height, index)[1] }, hash)
  }

  #finish(level: number, index: number, root: Uint8Array): void {
    const nodes = this.#levels[level]
    if (nodes === undefined) throw new Error(`tile ${level}/${index} filled before it began`)
    setTileNode(nodes, { height: TILE_HEIGHT, index: 0 }, root)
    this.#levels[level] = emptyNodes()
    this.#onTile({ level, index, nodes })
  }
}

/** In which tile of its level a node lies, and where in it. */
function slot(height: number, index: number): readonly [tile: number, within: number] {
  const perTile = 2 ** (TILE_HEIGHT - (height % TILE_HEIGHT))
  return [Math.floor(index / perTile), index % perTile]
}
