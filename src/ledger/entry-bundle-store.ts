/**
 * Entry bundle store: the full bundles of a log. No entry of a bundle is read that this node did not write
 * (bundle-authenticator.ts).
 */
import type { KeyObject } from 'node:crypto'
import { areBytesEqual, toLatin1 } from '../core/bytes.ts'
import { computeEntryBundleMac } from './bundle-authenticator.ts'
import type { StoredEntryBytes } from './entry.ts'
import { LruCache } from './lru-cache.ts'
import { decodeEntryBundle, formatTilePath, TILE_WIDTH } from './tile.ts'
import type { TileCoordinates } from './tile.ts'
import type { TileStore } from './tile-store.ts'

/** How many bundles are cached; one has some 60 kB. */
const MAX_CACHED_BUNDLES = 64

/** Whether these entries are in the signed tree as this bundle. */
export type SignedBundlePredicate = (index: number, entries: readonly Uint8Array[]) => boolean

export interface WrittenBundle {
  readonly name: TileCoordinates
  readonly entries: readonly Uint8Array[]
  readonly content: Uint8Array
}

export class EntryBundleStore {
  readonly #tiles: TileStore
  readonly #key: KeyObject | undefined
  #isSigned: SignedBundlePredicate = () => false
  /**
   * The MACs of bundles that no checkpoint covers yet. Only one content of a bundle is ever signed, and the MAC of that
   * one is stored.
   */
  readonly #unsignedMacs = new Map<number, Uint8Array>()
  /** Full bundles that are missing, or that this node did not write. No entry of them is read. */
  readonly unauthentic = new Set<number>()
  readonly #entries = new LruCache<number, readonly Uint8Array[]>(MAX_CACHED_BUNDLES)

  /** Without the key, bundles are read unchecked, for a verifier. */
  constructor(tiles: TileStore, key: KeyObject | undefined) {
    this.#tiles = tiles
    this.#key = key
  }

  /** Sets the check for a full bundle that has no authenticator. */
  checkWith(isSigned: SignedBundlePredicate): void {
    this.#isSigned = isSigned
  }

  /** The entries of a bundle; `undefined` when it is missing, or this node did not write it. */
  entries(index: number): readonly Uint8Array[] | undefined {
    return this.#entries.get(index, () => this.#decode(index, this.#read(index)))
  }

  /** The entries of a bundle whose text (as Latin-1) matches. It is decoded only if it matches as a whole. */
  *entriesMatching(index: number, pattern: RegExp): Generator<StoredEntryBytes, void, void> {
    const bundle = this.#read(index)
    if (bundle === undefined || !pattern.test(bundle.toString('latin1'))) return
    const entries = this.#decode(index, bundle) ?? []
    for (const [at, bytes] of entries.entries())
      if (pattern.test(toLatin1(bytes))) yield { seq: index * TILE_WIDTH + at, bytes }
  }

  /** Notes a bundle that was written now. */
  note({ name: { index }, entries, content }: WrittenBundle): void {
    if (this.#key !== undefined) this.#unsignedMacs.set(index, computeEntryBundleMac(this.#key, index, content))
    this.#entries.get(index, () => entries)
  }

  /** Stores the MACs of the bundles that a checkpoint of `signed` entries covers. */
  storeMacs(signed: number): void {
    for (const [index, mac] of this.#unsignedMacs) {
      if ((index + 1) * TILE_WIDTH > signed) break
      this.#tiles.bundleMacs.write(index, mac)
      this.#unsignedMacs.delete(index)
    }
  }

  /** Finds the number of full bundles before the first gap by bisection, since there may be very many. */
  count(): number {
    const has = (index: number): boolean =>
      this.#tiles.has(formatTilePath({ level: 'entries', index, width: TILE_WIDTH }))
    let [low, high] = [0, 1]
    while (has(high - 1)) [low, high] = [high, high * 2]
    while (low < high - 1) {
      const middle = Math.floor((low + high) / 2)
      if (has(middle - 1)) low = middle
      else high = middle
    }
    return low
  }

  /** `undefined` when it is missing, or this node did not write it. */
  #read(index: number): Buffer | undefined {
    if (this.unauthentic.has(index)) return undefined
    const bundle = this.#tiles.tile({ level: 'entries', index, width: TILE_WIDTH })
    if (this.#key === undefined) return bundle
    if (bundle !== undefined && this.#isAuthentic(this.#key, index, bundle)) return bundle
    this.unauthentic.add(index)
    return undefined
  }

  #decode(index: number, bundle: Buffer | undefined): readonly Uint8Array[] | undefined {
    const decoded = bundle && decodeEntryBundle(bundle, TILE_WIDTH)
    if (decoded?.ok === true) return decoded.value
    if (this.#key !== undefined) this.unauthentic.add(index)
    return undefined
  }

  #isAuthentic(key: KeyObject, index: number, bundle: Uint8Array): boolean {
    const mac = computeEntryBundleMac(key, index, bundle)
    const stored = this.#unsignedMacs.get(index) ?? this.#tiles.bundleMacs.read(index)
    if (stored !== undefined && areBytesEqual(stored, mac)) return true
    const decoded = decodeEntryBundle(bundle, TILE_WIDTH)
    if (!decoded.ok || !this.#isSigned(index, decoded.value)) return false
    this.#tiles.bundleMacs.write(index, mac)
    return true
  }
}
