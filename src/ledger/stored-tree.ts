/**
 * Stored tree: the Merkle tree as memory and tables hold it together. The edge is in memory, full tiles are in the
 * database, and the tiles that proofs asked for last are kept expanded.
 *
 * Memory runs ahead of the disk while a transaction is open. When a work or a group is undone, memory is not rolled
 * back step by step: it is dropped, and read again from what the database then says. So there is one way to arrive at
 * an edge, whether a node starts, a work fails or the disk is full.
 *
 * Reads through the store it is given.
 */
import type { Follower } from '../core/database-store.ts'
import { thrownMessage } from '../core/thrown.ts'
import { Edge } from './edge.ts'
import type { FullTile } from './edge.ts'
import type { LedgerStore } from './ledger-store.ts'
import { TreeDamaged } from './proof.ts'
import type { ReadableTree } from './proof.ts'
import { TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, expandTile, tileNode } from './tile.ts'
import { rootAt } from './tree.ts'
import type { NodeReader } from './tree.ts'

/** 16 kB each: proofs near the same place, and the upper levels of every proof, cost no hashing. */
const TILES_KEPT = 128

export class StoredTree implements ReadableTree {
  readonly #store: LedgerStore
  #edge: Edge | undefined
  #sizeAtWork = 0
  /** Least recently used first. */
  readonly #kept = new Map<string, Uint8Array>()

  constructor(store: LedgerStore) {
    this.#store = store
  }

  get size(): number {
    return this.#current().size
  }

  root(): Uint8Array {
    return this.#current().root().slice()
  }

  rootAt(size: number): Uint8Array {
    if (size > this.size) throw new RangeError(`a tree of ${this.size} has no root at ${size}`)
    return size === this.size ? this.root() : rootAt(size, this.node)
  }

  append(leaf: Uint8Array): void {
    this.#current().append(leaf)
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

  /** The first `width` hashes of a tile, as it is exported. */
  tile(level: number, index: number, width: number): Uint8Array {
    const full = width === TILE_WIDTH ? this.#store.tile(level, index) : undefined
    if (full !== undefined) return full.hashes
    const first = index * TILE_WIDTH
    return Buffer.concat(Array.from({ length: width }, (_, offset) => this.node(level * TILE_HEIGHT, first + offset)))
  }

  readonly follower: Follower = {
    workBegins: () => {
      this.#sizeAtWork = this.#edge?.size ?? -1
    },
    workUndone: () => {
      if (this.#edge?.size !== this.#sizeAtWork) this.#forget()
    },
    groupEnds: (committed) => {
      if (!committed) this.#forget()
    },
  }

  #forget(): void {
    this.#edge = undefined
    this.#kept.clear()
  }

  #current(): Edge {
    return (this.#edge ??= this.#load())
  }

  #load(): Edge {
    const size = this.#store.size()
    try {
      return Edge.at(size, (level, from, count) => this.#store.partialTile(level, from, count), this.#finished)
    } catch (error) {
      throw new TreeDamaged(thrownMessage(error), { cause: error })
    }
  }

  readonly #finished = (tile: FullTile): void => {
    this.#store.putTile(tile)
    this.#keep(`${tile.level}/${tile.index}`, tile.nodes)
  }

  #nodesOf(level: number, index: number): Uint8Array {
    const name = `${level}/${index}`
    const known = this.#kept.get(name)
    if (known !== undefined) {
      this.#kept.delete(name)
      this.#kept.set(name, known)
      return known
    }
    const row = this.#store.tile(level, index)
    if (row?.hashes.length !== TILE_BYTES) throw new TreeDamaged(`tile ${name} of ${TILE_WIDTH} hashes is not stored`)
    const nodes = expandTile(row.hashes)
    this.#keep(name, nodes)
    return nodes
  }

  #keep(name: string, nodes: Uint8Array): void {
    this.#kept.set(name, nodes)
    if (this.#kept.size <= TILES_KEPT) return
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest)
      return
    }
  }
}
