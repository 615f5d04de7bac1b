/**
 * Bundle body store: the bodies of entries that are in full bundles, one file per bundle.
 */
import { sliceSaltedBody } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'
import { LruCache } from './lru-cache.ts'
import { TILE_WIDTH } from './tile.ts'
import type { BodiesFileContent, TileStore } from './tile-store.ts'

/** How many bundles have their bodies cached. */
const MAX_CACHED_BODIES = 16

export class BundleBodyStore {
  readonly #tiles: TileStore
  readonly #files = new LruCache<number, BodiesFileContent>(MAX_CACHED_BODIES)

  constructor(tiles: TileStore) {
    this.#tiles = tiles
  }

  /** The body; `undefined` when there is none, or it was erased. */
  body(seq: number): SaltedBody | undefined {
    const index = Math.floor(seq / TILE_WIDTH)
    const stored = this.#files.get(index, () => this.#tiles.bodies(index))
    const record = stored?.records.find((one) => one.index === seq % TILE_WIDTH)
    return stored && record && sliceSaltedBody(stored.bytes, record)
  }

  /** Overwrites the body. */
  wipe(seq: number): void {
    const index = Math.floor(seq / TILE_WIDTH)
    this.#tiles.wipeBody(index, seq % TILE_WIDTH)
    this.forget(index)
  }

  /** Drops what is cached of a bundle whose file was written. */
  forget(index: number): void {
    this.#files.delete(index)
  }
}
