/**
 * Stored tree: the Merkle tree over the committed entries. The edge is in memory, full tiles are files, and the tiles
 * that proofs asked for last are kept expanded.
 *
 * It grows when a group is committed, never while works run: nothing that may be undone is in it.
 *
 * Reads and writes through the log it is given.
 */
import { equalBytes } from '../core/bytes.ts'
import { thrownMessage } from '../core/thrown.ts'
import type { AppendedEntry } from './group.ts'
import type { LogStore } from './log-store.ts'
import { TreeDamaged } from './proof.ts'
import type { ReadableTree } from './proof.ts'
import { LruCache } from './lru-cache.ts'
import {
  encodeBundle,
  TILE_BYTES,
  TILE_HEIGHT,
  TILE_WIDTH,
  expandTile,
  tileNode,
  listTiles,
  allocateTileNodes,
  countLevelHashes,
  setTileNode,
} from './tile.ts'
import type { TileName } from './tile.ts'
import {
  leafHash,
  computeRootAt,
  HASH_BYTES,
  emptyFrontier,
  extendFrontier,
  readFrontierAt,
  frontierRoot,
} from './tree.ts'
import type { NodeReader, Frontier } from './tree.ts'

/** 16 kB each: proofs near the same place, and the upper levels of every proof, cost no hashing. */
const TILES_KEPT = 128

export class StoredTree implements ReadableTree {
  readonly #log: LogStore
  #edge: TreeEdge | undefined
  #root: { readonly size: number; readonly hash: Uint8Array } | undefined
  #believesNodes = true
  #isLoading = false
  readonly #unwritten = new Map<string, FullTile>()
  readonly #kept = new LruCache<string, Uint8Array>(TILES_KEPT)

  constructor(log: LogStore) {
    this.#log = log
  }

  get size(): number {
    return this.#current().size
  }

  root(): Uint8Array {
    const edge = this.#current()
    if (this.#root?.size !== edge.size) this.#root = { size: edge.size, hash: edge.root() }
    return this.#root.hash.slice()
  }

  rootAt(size: number): Uint8Array {
    if (size > this.size) throw new RangeError(`a tree of ${this.size} has no root at ${size}`)
    return size === this.size ? this.root() : computeRootAt(size, this.node)
  }

  /** What the log has just committed. */
  append(entries: readonly AppendedEntry[]): void {
    const edge = this.#edge
    // One that was not asked for yet is read from the log, which has them.
    if (edge !== undefined) for (const { bytes, leaf } of entries) edge.append(leaf ?? leafHash(bytes))
  }

  /**
   * A view into the tile that holds a complete node; complete nodes never change, but a caller who keeps one copies.
   */
  readonly node: NodeReader = (height, index) => {
    const onEdge = this.#current().node(height, index)
    if (onEdge !== undefined) return onEdge
    const within = height % TILE_HEIGHT
    const perTile = 2 ** (TILE_HEIGHT - within)
    const nodes = this.#nodesOf(Math.floor(height / TILE_HEIGHT), Math.floor(index / perTile))
    return tileNode(nodes, within, index % perTile)
  }

  /** Computes again what was kept of it: something in it contradicts itself. */
  reread(): void {
    this.#believesNodes = false
    this.#kept.clear()
    this.#root = undefined
  }

  /** The bytes of a tile or bundle of the tree of `size` entries. */
  content({ level, index, width }: TileName): Uint8Array {
    const first = index * TILE_WIDTH
    if (level === 'entries') return encodeBundle(this.#log.entries(first, width).map(({ bytes }) => bytes))
    return Buffer.concat(Array.from({ length: width }, (_, offset) => this.node(level * TILE_HEIGHT, first + offset)))
  }

  /** Writes the partial tiles of a tree of `size` entries, which whoever reads its checkpoint asks for. */
  writePartials(size: number): void {
    this.writeFullTiles()
    for (const name of listTiles(size)) {
      if (name.width === TILE_WIDTH) continue
      this.#log.tiles.writeTile(name, this.content(name))
      if (name.level === 0) {
        const bundle = { ...name, level: 'entries' } as const
        this.#log.tiles.writeTile(bundle, this.content(bundle))
      }
    }
  }

  #current(): TreeEdge {
    return (this.#edge ??= this.#load())
  }

  #load(): TreeEdge {
    const { tiledTo, size } = this.#log
    try {
      const edge = TreeEdge.at(tiledTo, (level, from, count) => this.#partialTile(level, from, count), this.#finished)
      this.#isLoading = true
      for (const { bytes } of this.#log.entries(tiledTo, size - tiledTo)) edge.append(leafHash(bytes))
      this.#isLoading = false
      if (edge.size !== size) throw new Error(`entry ${edge.size} is missing`)
      return edge
    } catch (error) {
      throw new TreeDamaged(thrownMessage(error), { cause: error })
    }
  }

  /** Roots of the tiles below: at level 0 all that the edge starts from is in full tiles. */
  #partialTile(level: number, from: number, count: number): Uint8Array {
    return Buffer.concat(
      Array.from({ length: count }, (_, offset) => {
        const nodes = this.#nodesOf(level - 1, from + offset)
        return tileNode(nodes, TILE_HEIGHT, 0)
      }),
    )
  }

  readonly #finished = ({ level, index, nodes }: FullTile): void => {
    const { isWritable } = this.#log
    this.#kept.get(`${level}/${index}`, () => nodes)
    if (!isWritable) return
    this.#unwritten.set(`${level}/${index}`, { level, index, nodes })
    try {
      this.writeFullTiles()
    } catch {
      // A disk that takes no files now: the entries are in the tail, and the tiles are written before the next
      // checkpoint, or there is none.
    }
  }

  /** Throws what the file system says. */
  writeFullTiles(): void {
    const { tiles } = this.#log
    for (const [key, { level, index, nodes }] of this.#unwritten) {
      const hashes = nodes.subarray(0, TILE_BYTES)
      const name = { level, index, width: TILE_WIDTH }
      // A start finds those that were written since the oldest segment of the tail began.
      const before = this.#isLoading ? tiles.tile(name) : undefined
      if (before === undefined || !equalBytes(before, hashes)) tiles.writeTile(name, hashes)
      if (level === 0) tiles.keepNodes(index, nodes)
      this.#unwritten.delete(key)
    }
  }

  #nodesOf(level: number, index: number): Uint8Array {
    const unwritten = this.#unwritten.get(`${level}/${index}`)
    if (unwritten !== undefined) return unwritten.nodes
    const nodes = this.#kept.get(`${level}/${index}`, () => {
      const known = level === 0 && this.#believesNodes ? this.#log.tiles.nodes(index) : undefined
      if (known !== undefined) return known
      const hashes = this.#log.tiles.tile({ level, index, width: TILE_WIDTH })
      return hashes?.length === TILE_BYTES ? expandTile(hashes) : undefined
    })
    if (nodes === undefined) throw new TreeDamaged(`tile ${level}/${index} of ${TILE_WIDTH} hashes is not stored`)
    return nodes
  }
}

// Edge: the right side of the tree, which is all that an append needs: the frontier and, per level, the tile that is
// still filling. A tile that fills is handed over and begun anew.
//
//   level 1   ▓▓▓▓▓▓▓▓░░░░░░░░     210 roots of full tiles below
//   level 0   ▓▓▓░░░░░░░░░░░░░     the last 67 leaves

export interface FullTile {
  readonly level: number
  readonly index: number
  /** The 511 nodes of `expandTile`; the first 8,192 bytes are the tile as it is stored. */
  readonly nodes: Uint8Array
}

/** The hashes at `level` from the last full tile on, 0 … 255 of them, one after another. */
export type PartialTileReader = (level: number, from: number, count: number) => Uint8Array

export class TreeEdge {
  readonly #onTile: (tile: FullTile) => void
  #frontier: Frontier = emptyFrontier()
  #levels: Uint8Array[] = []

  constructor(onTile: (tile: FullTile) => void) {
    this.#onTile = onTile
  }

  /** The edge of a stored tree: what fills no tile is read, the rest is already in full tiles. */
  static at(size: number, read: PartialTileReader, onTile: (tile: FullTile) => void): TreeEdge {
    const edge = new TreeEdge(onTile)
    for (let level = 0; countLevelHashes(level, size) > 0; level++) {
      const count = countLevelHashes(level, size)
      const width = count % TILE_WIDTH
      const hashes = read(level, count - width, width)
      if (hashes.length !== width * HASH_BYTES) throw new Error(`level ${level} of the tree is not all there`)
      edge.#levels.push(expandTile(hashes))
    }
    edge.#frontier = readFrontierAt(size, (height, index) => {
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
    extendFrontier(this.#frontier, leaf, this.#place)
  }

  /** A view of a complete node in a tile that is still filling, `undefined` for nodes of full tiles. */
  node(height: number, index: number): Uint8Array | undefined {
    const level = Math.floor(height / TILE_HEIGHT)
    const [tile] = slot(height, index)
    return tile === Math.floor(countLevelHashes(level, this.size) / TILE_WIDTH) ? this.#at(height, index) : undefined
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
    const nodes = (this.#levels[level] ??= allocateTileNodes())
    setTileNode(nodes, { height: within, index: slot(height, index)[1] }, hash)
  }

  #finish(level: number, index: number, root: Uint8Array): void {
    const nodes = this.#levels[level]
    if (nodes === undefined) throw new Error(`tile ${level}/${index} filled before it began`)
    setTileNode(nodes, { height: TILE_HEIGHT, index: 0 }, root)
    this.#levels[level] = allocateTileNodes()
    this.#onTile({ level, index, nodes })
  }
}

/** In which tile of its level a node lies, and where in it. */
function slot(height: number, index: number): readonly [tile: number, within: number] {
  const perTile = 2 ** (TILE_HEIGHT - (height % TILE_HEIGHT))
  return [Math.floor(index / perTile), index % perTile]
}
