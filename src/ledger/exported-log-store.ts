/**
 * Exported log: the entries and bodies of an export, which are in bundles only. An export has no tail: a folder of that
 * name in it is ignored.
 */
import { BundleBodyStore } from './bundle-body-store.ts'
import type { SaltedBody } from './entry-group.ts'
import type { StoredEntryBytes } from './entry.ts'
import type { VerifiableLog } from './log-verification.ts'
import { LruCache } from './lru-cache.ts'
import { decodeEntryBundle, TILE_WIDTH } from './tile.ts'
import { TileStore } from './tile-store.ts'

const MAX_CACHED_BUNDLES = 64

export class ExportedLog implements VerifiableLog {
  readonly tiles: TileStore
  readonly checkpoint: Buffer | undefined
  readonly damage = undefined
  /** All entries are in files, none in memory. */
  readonly base = 0
  readonly size = 0
  readonly tailFirst = 0
  readonly #signed: number
  readonly #bundles = new LruCache<number, readonly Uint8Array[]>(MAX_CACHED_BUNDLES)
  readonly #bodies: BundleBodyStore

  constructor(directory: string) {
    this.tiles = new TileStore(directory, false)
    this.#bodies = new BundleBodyStore(this.tiles)
    this.checkpoint = this.tiles.read('checkpoint')
    // The size that the checkpoint states. The verifier checks its signature.
    this.#signed = Number(this.checkpoint?.toString().split('\n')[1])
  }

  /** The entry; `undefined` when there is none, or its bundle cannot be read. */
  entry(seq: number): StoredEntryBytes | undefined {
    const index = Math.floor(seq / TILE_WIDTH)
    const bytes = this.#bundles.get(index, () => this.#readBundle(index))?.[seq % TILE_WIDTH]
    return bytes && { seq, bytes }
  }

  /** An export has no tail. */
  hasBodyInTail(): boolean {
    return false
  }

  /** The body; `undefined` when the entry has none, or it was erased. */
  body(seq: number): SaltedBody | undefined {
    return this.#bodies.body(seq)
  }

  close(): void {
    this.tiles.close()
  }

  #readBundle(index: number): readonly Uint8Array[] | undefined {
    const width = Math.min(TILE_WIDTH, this.#signed - index * TILE_WIDTH)
    if (!(width > 0)) return undefined
    const bundle = this.tiles.tile({ level: 'entries', index, width })
    const decoded = bundle && decodeEntryBundle(bundle, width)
    return decoded?.ok === true ? decoded.value : undefined
  }
}
