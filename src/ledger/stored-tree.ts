/**
 * Stored tree: the Merkle tree over the committed entries. The edge is in memory, full tiles are files, and the tiles
 * that proofs asked for last are kept expanded.
 *
 * It grows when a group is committed, never while works run, so that it contains nothing that may be undone.
 *
 * Reads and writes through the log it is given.
 */
import { areBytesEqual } from '../core/bytes.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import type { EntryToAppend } from './entry-group.ts'
import type { LogStore } from './log-store.ts'
import { TreeDamagedError } from './proof.ts'
import type { ProvableTree } from './proof.ts'
import { LruCache } from './lru-cache.ts'
import {
  encodeEntryBundle,
  TILE_BYTES,
  TILE_HEIGHT,
  TILE_WIDTH,
  expandTile,
  readTileNode,
  listTiles,
  allocateTileNodes,
  countLevelHashes,
  tileNodeOffset,
} from './tile.ts'
import type { TileCoordinates } from './tile.ts'
import { computeRootAt, HASH_BYTES, computeLeafHash, writeLeafHashToBuffer, writeNodeHashToBuffer } from './tree.ts'
import type { TreeNodeReader } from './tree.ts'

/**
 * How many expanded tiles of 16 kB are cached, so that proofs near the same place, and the upper levels of every proof,
 * need no hashing.
 */
const MAX_CACHED_TILES = 128

export class StoredTree implements ProvableTree {
  readonly #log: LogStore
  #edge: MerkleTreeRightEdge | undefined
  #root: { readonly size: number; readonly hash: Uint8Array } | undefined
  #believesNodes = true
  #isLoading = false
  readonly #unwritten = new Map<string, CompletedTile>()
  readonly #cache = new LruCache<string, Uint8Array>(MAX_CACHED_TILES)

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

  /** Adds what the log has just committed. */
  append(entries: readonly EntryToAppend[]): void {
    const edge = this.#edge
    // A tree that was not used yet need not be updated: it will be read from the log, which has the entries.
    if (edge !== undefined) for (const { bytes, leaf } of entries) edge.append(leaf ?? computeLeafHash(bytes))
  }

  /**
   * A view into the tile with a complete node; complete nodes never change, but a caller that keeps one must copy it.
   */
  readonly node: TreeNodeReader = (height, index) => {
    const onEdge = this.#current().node(height, index)
    if (onEdge !== undefined) return onEdge
    const within = height % TILE_HEIGHT
    const perTile = 2 ** (TILE_HEIGHT - within)
    const nodes = this.#nodesOf(Math.floor(height / TILE_HEIGHT), Math.floor(index / perTile))
    return readTileNode(nodes, within, index % perTile)
  }

  /** Computes cached nodes again, because a proof made from them failed. */
  reread(): void {
    this.#believesNodes = false
    this.#cache.clear()
    this.#root = undefined
    // The edge was computed from cached nodes, so it is dropped; the entries that it took since are in the log.
    this.#edge = undefined
  }

  /** The content of a tile or bundle. The lowest hashes are those of the entries. Throws `TreeDamagedError`. */
  content({ level, index, width }: TileCoordinates): Uint8Array {
    const first = index * TILE_WIDTH
    if (level === 'entries' || level === 0) {
      const stored = this.#log.entries(first, width)
      // Entries that cannot be read are left out, and later ones come in their place.
      if (stored.length < width || stored.at(-1)?.seq !== first + width - 1)
        throw new TreeDamagedError(`entry bundle ${index} cannot be read`)
      const entries = stored.map(({ bytes }) => bytes)
      return level === 'entries' ? encodeEntryBundle(entries) : Buffer.concat(entries.map(computeLeafHash))
    }
    return Buffer.concat(Array.from({ length: width }, (_, offset) => this.node(level * TILE_HEIGHT, first + offset)))
  }

  /**
   * Writes the full tiles, and the partial tiles of a tree of `size` entries, which readers of its checkpoint request.
   */
  async writeTiles(size: number): Promise<void> {
    this.#current()
    const full = [...this.#unwritten]
    const { tiles } = this.#log
    await tiles.writeTiles(
      full.map(([, { level, index, nodes }]) => ({
        name: { level, index, width: TILE_WIDTH },
        content: nodes.subarray(0, TILE_BYTES),
      })),
    )
    for (const [key, { level, index, nodes }] of full) {
      if (level === 0) tiles.writeNodes(index, nodes)
      this.#unwritten.delete(key)
    }
    const lastOf = (level: number): number => Math.floor(countLevelHashes(level, size) / TILE_WIDTH)
    const partial = [...listTiles(size, lastOf)].filter(({ width }) => width < TILE_WIDTH)
    const entries = partial.filter(({ level }) => level === 0).map((tile) => ({ ...tile, level: 'entries' as const }))
    await tiles.writeTiles([...partial, ...entries].map((name) => ({ name, content: this.content(name) })))
  }

  #current(): MerkleTreeRightEdge {
    return (this.#edge ??= this.#load())
  }

  #load(): MerkleTreeRightEdge {
    const { tiledTo, size } = this.#log
    try {
      const edge = MerkleTreeRightEdge.at(
        tiledTo,
        (level, from, count) => this.#partialTile(level, from, count),
        this.#finished,
      )
      this.#isLoading = true
      for (const { bytes } of this.#log.entries(tiledTo, size - tiledTo)) edge.appendEntry(bytes)
      this.#isLoading = false
      if (edge.size !== size) throw new Error(`entry ${edge.size} is missing`)
      return edge
    } catch (error) {
      throw new TreeDamagedError(readErrorMessage(error), { cause: error })
    }
  }

  /**
   * The hashes of a partial tile, which are the roots of the tiles below. At level 0 there are none: everything that
   * the edge starts from is in full tiles.
   */
  #partialTile(level: number, from: number, count: number): Uint8Array {
    return Buffer.concat(
      Array.from({ length: count }, (_, offset) => {
        const nodes = this.#nodesOf(level - 1, from + offset)
        return readTileNode(nodes, TILE_HEIGHT, 0)
      }),
    )
  }

  readonly #finished = ({ level, index, nodes }: CompletedTile): void => {
    this.#cache.get(`${level}/${index}`, () => nodes)
    if (!this.#log.isWritable || (this.#isLoading && this.#isStored(level, index, nodes))) return
    this.#unwritten.set(`${level}/${index}`, { level, index, nodes })
  }

  /**
   * Whether a tile is already stored. A start finds those that were written since the oldest segment of the tail began.
   */
  #isStored(level: number, index: number, nodes: Uint8Array): boolean {
    const stored = this.#log.tiles.tile({ level, index, width: TILE_WIDTH })
    return stored !== undefined && areBytesEqual(stored, nodes.subarray(0, TILE_BYTES))
  }

  #nodesOf(level: number, index: number): Uint8Array {
    const unwritten = this.#unwritten.get(`${level}/${index}`)
    if (unwritten !== undefined) return unwritten.nodes
    const nodes = this.#cache.get(`${level}/${index}`, () => {
      const known = level === 0 && this.#believesNodes ? this.#log.tiles.nodes(index) : undefined
      if (known !== undefined) return known
      const hashes = this.#log.tiles.tile({ level, index, width: TILE_WIDTH })
      return hashes?.length === TILE_BYTES ? expandTile(hashes) : undefined
    })
    if (nodes === undefined) throw new TreeDamagedError(`tile ${level}/${index} of ${TILE_WIDTH} hashes is not stored`)
    return nodes
  }
}

// Edge: the right side of the tree, which is all that an append needs: per level, the tile that is still filling. A tile that fills is handed over and begun anew.
//
//   level 1   ▓▓▓▓▓▓▓▓░░░░░░░░     210 roots of full tiles below
//   level 0   ▓▓▓░░░░░░░░░░░░░     the last 67 leaves

export interface CompletedTile {
  readonly level: number
  readonly index: number
  /** The 511 nodes from `expandTile`; the first 8,192 bytes are the tile as it is stored. */
  readonly nodes: Uint8Array
}

/** The hashes at `level` from the last full tile on, 0 … 255 of them, one after another. */
export type PartialTileReader = (level: number, from: number, count: number) => Uint8Array

export class MerkleTreeRightEdge {
  readonly #onTile: (tile: CompletedTile) => void
  /** For each level, the tile that is still filling, with its complete nodes. */
  readonly #levels: Buffer[] = []
  #size = 0

  constructor(onTile: (tile: CompletedTile) => void) {
    this.#onTile = onTile
  }

  /** Makes the edge of a stored tree. Only hashes that do not fill a tile are read; the rest is in full tiles. */
  static at(size: number, read: PartialTileReader, onTile: (tile: CompletedTile) => void): MerkleTreeRightEdge {
    const edge = new MerkleTreeRightEdge(onTile)
    for (let level = 0; countLevelHashes(level, size) > 0; level++) {
      const count = countLevelHashes(level, size)
      const width = count % TILE_WIDTH
      const hashes = read(level, count - width, width)
      if (hashes.length !== width * HASH_BYTES) throw new Error(`level ${level} of the tree is not all there`)
      edge.#levels.push(expandTile(hashes))
    }
    edge.#size = size
    return edge
  }

  get size(): number {
    return this.#size
  }

  root(): Uint8Array {
    return computeRootAt(this.#size, this.#read)
  }

  append(leaf: Uint8Array): void {
    const nodes = (this.#levels[0] ??= allocateTileNodes())
    nodes.set(leaf, (this.#size % TILE_WIDTH) * HASH_BYTES)
    this.#complete()
  }

  /** Equivalent to `append(computeLeafHash(entry))`. */
  appendEntry(entry: Uint8Array): void {
    const nodes = (this.#levels[0] ??= allocateTileNodes())
    writeLeafHashToBuffer(entry, nodes, (this.#size % TILE_WIDTH) * HASH_BYTES)
    this.#complete()
  }

  /** Equivalent to `append` for each of these hashes, which must fit into the current tile. */
  appendLeaves(leaves: Uint8Array): void {
    const nodes = (this.#levels[0] ??= allocateTileNodes())
    nodes.set(leaves, (this.#size % TILE_WIDTH) * HASH_BYTES)
    for (let left = leaves.length / HASH_BYTES; left > 0; left--) this.#complete()
  }

  /**
   * A view of a complete node in a tile that is still filling; `undefined` for nodes in full tiles, or not there yet.
   */
  node(height: number, index: number): Uint8Array | undefined {
    if ((index + 1) * 2 ** height > this.#size) return undefined
    const level = Math.floor(height / TILE_HEIGHT)
    const [tile] = slot(height, index)
    return tile === Math.floor(countLevelHashes(level, this.size) / TILE_WIDTH) ? this.#at(height, index) : undefined
  }

  readonly #read: TreeNodeReader = (height, index) => {
    const node = this.#at(height, index)
    if (node === undefined) throw new Error(`node ${height},${index} is not on the edge of a tree of ${this.#size}`)
    return node
  }

  #at(height: number, index: number): Uint8Array | undefined {
    const nodes = this.#levels[Math.floor(height / TILE_HEIGHT)]
    return nodes && readTileNode(nodes, height % TILE_HEIGHT, slot(height, index)[1])
  }

  /**
   * Call when the leaf is in its place: hashes the nodes that it completes, and hands over the tiles that are full
   * then.
   */
  #complete(): void {
    let index = this.#size
    this.#size += 1
    for (let level = 0; ; level++) {
      const nodes = (this.#levels[level] ??= allocateTileNodes())
      let [height, within] = [0, index % TILE_WIDTH]
      for (; within % 2 === 1; height++, within = (within - 1) / 2) {
        const left = tileNodeOffset(height, within - 1)
        writeNodeHashToBuffer(nodes, left, tileNodeOffset(height + 1, (within - 1) / 2))
      }
      if (height < TILE_HEIGHT) return
      this.#levels[level] = allocateTileNodes()
      index = Math.floor(index / TILE_WIDTH)
      // Height 8 is the root of the tile below and the first height of the tile above.
      const above = (this.#levels[level + 1] ??= allocateTileNodes())
      above.set(readTileNode(nodes, TILE_HEIGHT, 0), (index % TILE_WIDTH) * HASH_BYTES)
      this.#onTile({ level, index, nodes })
    }
  }
}

/** The tile of its level in which a node lies, and its position there. */
function slot(height: number, index: number): readonly [tile: number, within: number] {
  const perTile = 2 ** (TILE_HEIGHT - (height % TILE_HEIGHT))
  return [Math.floor(index / perTile), index % perTile]
}
