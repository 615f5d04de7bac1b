/**
 * Log: the entries and bodies as they are stored, from the first to the one that was appended last.
 *
 *   0 ───────────────────────────── base ──────────────── size ─────── pending
 *   full entry bundles, bodies/…    in memory, from the tail           appended by running works
 *
 * Bundles are written before the next checkpoint, many at once: a file that is created between two groups would delay
 * every sync of the tail. The tail keeps the same entries until the bundle is durable and a signed checkpoint covers it
 * (`release`).
 */
import type { KeyObject } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { areBytesEqual, toLatin1 } from '../core/bytes.ts'
import { BundleBodyStore } from './bundle-body-store.ts'
import { EntryBundleStore } from './entry-bundle-store.ts'
import type { WrittenBundle } from './entry-bundle-store.ts'
import type { PendingJournalSync } from '../core/database-store.ts'
import { sliceSaltedBody } from './entry-group.ts'
import type { BodyRecordLocation, SaltedBody, EntryToAppend } from './entry-group.ts'
import type { StoredEntryBytes } from './entry.ts'
import { dropUncommittedGroups } from './uncommitted-tail.ts'
import type { AppliedAndSignedSizes } from './uncommitted-tail.ts'
import { readTailSegments, computeExpectedAppliedEntryCount, computeSegmentEnd } from './tail-reader-store.ts'
import type { TailContents } from './tail-reader-store.ts'
import { TailStore } from './tail-store.ts'
import type { TailBodyPosition } from './tail-store.ts'
import { decodeEntryBundle, encodeEntryBundle, TILE_WIDTH } from './tile.ts'
import { TileStore } from './tile-store.ts'

export interface LogStoreOptions {
  readonly directory: string
  /** The key of the tail; without it the log can be read, but its tail is not authenticated. */
  readonly key: KeyObject | undefined
  /** The key of the bundles; without it they are read unchecked, for a verifier. */
  readonly bundleKey?: KeyObject | undefined
  readonly readOnly?: boolean
  /** How far the tables have committed. A later group that changed rows was not confirmed to any caller. */
  readonly tables?: AppliedAndSignedSizes | undefined
  readonly segmentEntries?: number | undefined
}

interface EncodedBundle extends WrittenBundle {
  readonly bodies: readonly (SaltedBody & { readonly index: number })[]
}

/** Takes a few milliseconds before other work has its turn. */
const BUNDLES_AT_ONCE = 16

export class LogStore {
  readonly tiles: TileStore
  readonly bundles: EntryBundleStore
  readonly #tail: TailStore | undefined
  /** The tail as it was when the log was opened. */
  readonly read: TailContents
  /** Why what follows the tiles cannot be trusted, as a sentence without its full stop. */
  readonly damage: string | undefined
  /** What a crash left: bytes of an incomplete group, and entries of groups whose tables were never committed. */
  readonly lost: { readonly torn: number; readonly uncommitted: number }
  /** How far the tables must have followed the log, at least. */
  readonly tablesNeed: number
  /** The first entry that the tail holds, as it was opened. */
  readonly tailFirst: number
  /**
   * Up to which entry full tiles of all levels were durable when the log was opened; the entries after it were in the
   * tail.
   */
  readonly tiledTo: number
  readonly #readCheckpoint: () => Buffer | undefined
  #base: number
  #size: number
  #recent: Uint8Array[] = []
  #pending: EntryToAppend[] = []
  #mark = 0
  #written: readonly (BodyRecordLocation & TailBodyPosition)[] = []
  readonly #places = new Map<number, TailBodyPosition>()
  readonly #bodies: BundleBodyStore

  /** Throws file system errors; defects of the content are in `damage`. */
  constructor({ directory, key, bundleKey, readOnly = false, tables, segmentEntries }: LogStoreOptions) {
    this.tiles = new TileStore(directory, !readOnly)
    this.bundles = new EntryBundleStore(this.tiles, bundleKey)
    this.#bodies = new BundleBodyStore(this.tiles)
    // Read before the entries, because the process that writes this log may sign a larger tree meanwhile.
    const before = readOnly ? this.tiles.read('checkpoint') : undefined
    this.#readCheckpoint = readOnly ? () => before : () => this.tiles.read('checkpoint')
    const folder = join(directory, 'tail')
    const whole = readTailSegments(folder, key, tables?.signed)
    const read = tables === undefined ? whole : dropUncommittedGroups(whole, tables)
    this.read = read
    this.tablesNeed = computeExpectedAppliedEntryCount(read)
    const [bundles, first] = [this.bundles.count(), read.segments[0]?.first]
    this.tailFirst = first ?? bundles * TILE_WIDTH
    this.#base = Math.ceil(this.tailFirst / TILE_WIDTH) * TILE_WIDTH
    this.tiledTo = this.#base
    const end = computeSegmentEnd(read.segments.at(-1))
    this.#size = first === undefined ? this.tailFirst : end
    this.lost = { torn: read.torn, uncommitted: computeSegmentEnd(whole.segments.at(-1)) - end }
    this.damage = read.damage ?? this.#gap(bundles, first)
    for (const { groups } of read.segments)
      for (const group of groups) this.#recent.push(...group.entries.slice(Math.max(0, this.#base - group.first)))
    if (!readOnly && key !== undefined && this.damage === undefined)
      this.#tail = new TailStore({ directory: folder, key, read, begins: this.#base, segmentEntries })
    this.#locate(read)
    if (readOnly && first === undefined) this.#readPartialBundle()
    if (this.#tail !== undefined) this.#rewriteBundles()
  }

  get isWritable(): boolean {
    return this.#tail !== undefined
  }

  /** The checkpoint beside the tiles. It covers no entry that this log lacks, unless entries were removed. */
  get checkpoint(): Buffer | undefined {
    return this.#readCheckpoint()
  }

  /** Committed entries. */
  get size(): number {
    return this.#size
  }

  /** The first entry that is in no full bundle. */
  get base(): number {
    return this.#base
  }

  /** The number of entries, including those that running works have appended. */
  get pendingSize(): number {
    return this.#size + this.#pending.length
  }

  append(entry: EntryToAppend): void {
    this.#pending.push(entry)
  }

  workBegins(): void {
    this.#mark = this.#pending.length
  }

  workUndone(): void {
    this.#pending.length = this.#mark
  }

  writeGroup(changedRows: boolean): PendingJournalSync | undefined {
    if (this.#pending.length === 0) return undefined
    if (this.#tail === undefined) throw new Error('the log was opened for reading')
    this.#written = this.#tail.write({ changedRows, entries: this.#pending }).bodies
    return this.#tail.sync
  }

  /** Returns the entries of the group. */
  groupEnds(committed: boolean): readonly EntryToAppend[] {
    const group = this.#pending
    this.#pending = []
    if (!committed) {
      this.#tail?.undo(group.length)
      return []
    }
    this.#tail?.commit()
    for (const place of this.#written) this.#places.set(this.#size + place.index, place)
    this.#written = []
    for (const { bytes } of group) this.#recent.push(bytes)
    this.#size += group.length
    return group
  }

  /** The entry; `undefined` when there is none, or its bundle cannot be read. */
  entry(seq: number): StoredEntryBytes | undefined {
    const bytes = this.#bytes(seq)
    return bytes && { seq, bytes }
  }

  /** The entries in order, without those that cannot be read. */
  entries(from: number, limit: number): readonly StoredEntryBytes[] {
    const rows: StoredEntryBytes[] = []
    const end = this.pendingSize
    for (let seq = Math.max(0, from); seq < end && rows.length < limit; seq++) {
      const bytes = this.#bytes(seq)
      if (bytes !== undefined) rows.push({ seq, bytes })
    }
    return rows
  }

  /**
   * The entries, in order, whose text (as Latin-1) matches. A full bundle is searched as a whole and decoded only if it
   * matches, because a start looks for a few entries among a million.
   */
  *entriesMatching(pattern: RegExp): Generator<StoredEntryBytes, void, void> {
    for (let index = 0; index * TILE_WIDTH < this.#base; index++) yield* this.bundles.entriesMatching(index, pattern)
    for (let seq = this.#base; seq < this.pendingSize; seq++) {
      const bytes = this.#bytes(seq)
      if (bytes !== undefined && pattern.test(toLatin1(bytes))) yield { seq, bytes }
    }
  }

  /** The body; `undefined` when the entry has none, or it was erased. */
  body(seq: number): SaltedBody | undefined {
    if (seq >= this.#size) return this.#pending[seq - this.#size]?.body
    const place = this.#places.get(seq)
    if (place !== undefined) return this.#read(place)
    return this.#bodies.body(seq)
  }

  /** Whether the tail has the entry's body, or had it before the body was erased. */
  hasBodyInTail(seq: number): boolean {
    return this.#places.has(seq)
  }

  /** Overwrites a body wherever it is stored. */
  wipeBody(seq: number): void {
    const place = this.#places.get(seq)
    if (place !== undefined) this.#tail?.wipe(place)
    this.#bodies.wipe(seq)
  }

  /** Whether closed segments wait for a checkpoint larger than `signed`. */
  awaitsCheckpoint(signed: number): boolean {
    return this.#tail !== undefined && this.#tail.closedEnd > this.#tail.first && this.#tail.closedEnd > signed
  }

  /** Removes segments from the tail. Call when the tiles and a checkpoint of `signed` entries are durable. */
  async release(signed: number): Promise<void> {
    if (this.#tail === undefined) return
    this.bundles.storeMacs(signed)
    await this.#tail.removeBefore(Math.min(Math.floor(signed / TILE_WIDTH) * TILE_WIDTH, this.#base))
    for (const seq of this.#places.keys()) {
      if (seq >= this.#tail.first) break
      this.#places.delete(seq)
    }
  }

  close(): void {
    this.#tail?.close()
    this.tiles.close()
  }

  #bytes(seq: number): Uint8Array | undefined {
    if (seq >= this.#size) return this.#pending[seq - this.#size]?.bytes
    if (seq >= this.#base) return this.#recent[seq - this.#base]
    return this.bundles.entries(Math.floor(seq / TILE_WIDTH))?.[seq % TILE_WIDTH]
  }

  #read(place: TailBodyPosition | { readonly body: SaltedBody | undefined }): SaltedBody | undefined {
    return 'body' in place ? place.body : this.#tail?.read(place)
  }

  /** Writes the bundles that are full; they are durable when it resolves. Rejects with the file system's error. */
  async writeBundles(): Promise<void> {
    while (this.#size - this.#base >= TILE_WIDTH) {
      await this.tiles.createBodyFiles(this.#bundlesWithBodies(BUNDLES_AT_ONCE))
      const bundles = this.#takeBundles(BUNDLES_AT_ONCE)
      // Written synchronously, so that no erasure comes between reading the bodies and writing them.
      for (const { name, bodies } of bundles) this.tiles.writeBodies(name.index, bodies)
      await this.tiles.writeTiles(bundles)
      this.#passBundles(bundles)
    }
  }

  /** At a start, writes again the bundles that were written since the oldest segment began. */
  #rewriteBundles(): void {
    const bundles = this.#takeBundles(Infinity)
    for (const { name, content, bodies } of bundles) {
      const before = this.tiles.tile(name)
      this.tiles.writeBodies(name.index, bodies)
      if (before === undefined || !areBytesEqual(before, content)) this.tiles.writeTile(name, content)
    }
    this.#passBundles(bundles)
  }

  #takeBundles(limit: number): readonly EncodedBundle[] {
    const bundles: EncodedBundle[] = []
    for (let first = this.#base; this.#size - first >= TILE_WIDTH && bundles.length < limit; first += TILE_WIDTH) {
      const entries = this.#recent.slice(first - this.#base, first - this.#base + TILE_WIDTH)
      const bodies = this.#bodiesInTail(first)
      const name = { level: 'entries', index: first / TILE_WIDTH, width: TILE_WIDTH } as const
      bundles.push({ name, entries, content: encodeEntryBundle(entries), bodies })
    }
    return bundles
  }

  /** The next full bundles that have bodies in the tail. */
  #bundlesWithBodies(limit: number): readonly number[] {
    const end = Math.min(this.#base + limit * TILE_WIDTH, this.#size - (this.#size % TILE_WIDTH))
    const indexes = new Set<number>()
    for (let seq = this.#base; seq < end; seq++) if (this.#places.has(seq)) indexes.add(Math.floor(seq / TILE_WIDTH))
    return [...indexes]
  }

  #passBundles(bundles: readonly EncodedBundle[]): void {
    this.#recent.splice(0, bundles.length * TILE_WIDTH)
    this.#base += bundles.length * TILE_WIDTH
    for (const bundle of bundles) {
      this.#bodies.forget(bundle.name.index)
      this.bundles.note(bundle)
    }
  }

  /** The bodies of the bundle that begins at this entry. */
  #bodiesInTail(first: number): readonly (SaltedBody & { readonly index: number })[] {
    const places: (TailBodyPosition & { readonly index: number })[] = []
    for (let index = 0; index < TILE_WIDTH; index++) {
      const place = this.#places.get(first + index)
      if (place !== undefined) places.push({ ...place, index })
    }
    const bodies = this.#tail?.readMany(places) ?? []
    return bodies.flatMap((body, at) => (body === undefined ? [] : [{ index: places[at]?.index ?? 0, ...body }]))
  }

  /** An export has no tail: its last entries are in the partial bundle that its checkpoint covers. */
  #readPartialBundle(): void {
    const size = Number(this.checkpoint?.toString().split('\n')[1])
    const [index, width] = [Math.floor(size / TILE_WIDTH), size % TILE_WIDTH]
    if (index * TILE_WIDTH !== this.#base || !(width > 0)) return
    const bytes = this.tiles.tile({ level: 'entries', index, width })
    const decoded = bytes && decodeEntryBundle(bytes, width)
    if (decoded?.ok !== true) return
    this.#recent.push(...decoded.value)
    this.#size = size
  }

  /** Notes where the bodies of the tail are stored. */
  #locate({ segments }: TailContents): void {
    for (const { path, bytes, groups } of segments) {
      const segment = this.#tail?.segmentOf(path)
      for (const { first, bodies } of groups)
        for (const body of bodies) {
          const place = segment === undefined ? { body: sliceSaltedBody(bytes, body) } : { ...body, segment }
          this.#places.set(first + body.index, place as TailBodyPosition)
        }
    }
  }

  #gap(bundles: number, first: number | undefined): string | undefined {
    if (first === undefined) return bundles === 0 ? undefined : 'the tail of the log is missing'
    if (bundles * TILE_WIDTH < first) return `entry bundle ${bundles} is missing`
    return this.#size < this.#base ? 'the tail of the log ends before the bundles do' : undefined
  }
}

/** Whether there is a log. */
export function isLogPresent(directory: string): boolean {
  return existsSync(join(directory, 'tail'))
}
