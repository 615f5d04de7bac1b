/**
 * Log: the entries and bodies as they are stored, from the first to the one that was appended last.
 *
 *   0 ───────────────────────────── base ──────────────── size ─────── pending
 *   full entry bundles, bodies/…    in memory, from the tail           appended by works that are under way
 *
 * A bundle is written when its last entry was committed; the tail keeps the same entries until the bundle is durable
 * and a signed checkpoint covers it (`release`).
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { equalBytes } from '../core/bytes.ts'
import type { JournalSync } from '../core/database-store.ts'
import { readBodyAt } from './group.ts'
import type { BodyRecord, SaltedBody, AppendedEntry } from './group.ts'
import { LruCache } from './lru-cache.ts'
import { dropUncommittedGroups } from './tail-cut.ts'
import type { FollowedTables } from './tail-cut.ts'
import { readTail, countTableEntries, TailStore } from './tail-store.ts'
import type { ReadTail, TailPlace } from './tail-store.ts'
import { decodeBundle, encodeBundle, TILE_WIDTH, tilePath } from './tile.ts'
import { TileStore } from './tile-store.ts'
import type { StoredBodies } from './tile-store.ts'

export interface LogOptions {
  readonly directory: string
  /** Of the tail; without it the log can be read, and its tail is not authenticated. */
  readonly key: Uint8Array | undefined
  readonly readOnly?: boolean
  /** How far the tables have committed: a later group that changed rows as well was told to nobody. */
  readonly tables?: FollowedTables | undefined
  readonly segmentEntries?: number | undefined
}

export interface LeafRow {
  readonly seq: number
  readonly bytes: Uint8Array
}

/** A bundle has some 60 kB. */
const BUNDLES_KEPT = 64
const BODIES_KEPT = 16

export class LogStore {
  readonly tiles: TileStore
  readonly #tail: TailStore | undefined
  /** The tail as it was when the log was opened. */
  readonly read: ReadTail
  /** Why what follows the tiles cannot be believed, in a sentence without its full stop. */
  readonly damage: string | undefined
  /** Bytes that a crash left of a group, and entries of groups whose tables were never committed. */
  readonly lost: { readonly torn: number; readonly uncommitted: number }
  /** How far tables must have followed the log, at the least. */
  readonly tablesNeed: number
  /** The first entry that the tail holds, as it was opened. */
  readonly tailFirst: number
  /** Where full tiles of all levels were durable when it was opened: what follows was in the tail. */
  readonly tiledTo: number
  #base: number
  #size: number
  #recent: Uint8Array[] = []
  #pending: AppendedEntry[] = []
  #mark = 0
  #isOpening = true
  #written: readonly (BodyRecord & TailPlace)[] = []
  readonly #places = new Map<number, TailPlace>()
  readonly #bundles = new LruCache<number, readonly Uint8Array[]>(BUNDLES_KEPT)
  readonly #bodies = new LruCache<number, StoredBodies>(BODIES_KEPT)

  /** Throws what the file system says; what is wrong with the content is `damage`. */
  constructor({ directory, key, readOnly = false, tables, segmentEntries }: LogOptions) {
    this.tiles = new TileStore(directory, !readOnly)
    const folder = join(directory, 'tail')
    const whole = readTail(folder, key, tables?.signed)
    const read = tables === undefined ? whole : dropUncommittedGroups(whole, tables)
    this.read = read
    this.tablesNeed = countTableEntries(read)
    const [bundles, first] = [this.#countBundles(), read.segments[0]?.first]
    this.tailFirst = first ?? bundles * TILE_WIDTH
    this.#base = Math.ceil(this.tailFirst / TILE_WIDTH) * TILE_WIDTH
    this.tiledTo = this.#base
    this.#size = endOf(read) ?? this.tailFirst
    this.lost = { torn: read.torn, uncommitted: (endOf(whole) ?? 0) - (endOf(read) ?? 0) }
    this.damage = read.damage ?? this.#gap(bundles, first)
    for (const { groups } of read.segments)
      for (const group of groups) this.#recent.push(...group.entries.slice(Math.max(0, this.#base - group.first)))
    if (!readOnly && key !== undefined && this.damage === undefined)
      this.#tail = new TailStore({ directory: folder, key, read, begins: this.#base, segmentEntries })
    this.#locate(read)
    if (readOnly && first === undefined) this.#readPartialBundle()
    if (this.#tail !== undefined) this.writeBundles()
    this.#isOpening = false
  }

  get isWritable(): boolean {
    return this.#tail !== undefined
  }

  /** Committed entries. */
  get size(): number {
    return this.#size
  }

  /** The first entry that is in no full bundle. */
  get base(): number {
    return this.#base
  }

  /** With what works that are under way have appended. */
  get pendingSize(): number {
    return this.#size + this.#pending.length
  }

  append(entry: AppendedEntry): void {
    this.#pending.push(entry)
  }

  workBegins(): void {
    this.#mark = this.#pending.length
  }

  workUndone(): void {
    this.#pending.length = this.#mark
  }

  writeGroup(changedRows: boolean): JournalSync | undefined {
    if (this.#pending.length === 0) return undefined
    if (this.#tail === undefined) throw new Error('the log was opened for reading')
    this.#written = this.#tail.write({ changedRows, entries: this.#pending }).bodies
    return this.#tail.sync
  }

  /** Answers the entries of the group. */
  groupEnds(committed: boolean): readonly AppendedEntry[] {
    const group = this.#pending
    this.#pending = []
    if (!committed) {
      this.#tail?.undo(group.length)
      return []
    }
    this.#tail?.kept()
    for (const place of this.#written) this.#places.set(this.#size + place.index, place)
    this.#written = []
    for (const { bytes } of group) this.#recent.push(bytes)
    this.#size += group.length
    try {
      this.writeBundles()
    } catch {
      // A disk that takes no files now: the entries are in the tail, and the bundles are written before the next
      // checkpoint, or there is none.
    }
    return group
  }

  /** `undefined` when there is none, or its bundle cannot be read. */
  entry(seq: number): LeafRow | undefined {
    const bytes = this.#bytes(seq)
    return bytes && { seq, bytes }
  }

  /** In order; those that cannot be read are left out. */
  entries(from: number, limit: number): readonly LeafRow[] {
    const rows: LeafRow[] = []
    const end = this.pendingSize
    for (let seq = Math.max(0, from); seq < end && rows.length < limit; seq++) {
      const bytes = this.#bytes(seq)
      if (bytes !== undefined) rows.push({ seq, bytes })
    }
    return rows
  }

  /** `undefined` when the entry has none, or it was erased. */
  body(seq: number): SaltedBody | undefined {
    if (seq >= this.#size) return this.#pending[seq - this.#size]?.body
    const place = this.#places.get(seq)
    if (place !== undefined) return this.#read(place)
    const stored = this.#bodiesOf(Math.floor(seq / TILE_WIDTH))
    const record = stored?.records.find(({ index }) => index === seq % TILE_WIDTH)
    return stored && record && readBodyAt(stored.bytes, record)
  }

  /** Overwrites a body wherever it stands. */
  wipeBody(seq: number): void {
    const place = this.#places.get(seq)
    if (place !== undefined) this.#tail?.wipe(place)
    const index = Math.floor(seq / TILE_WIDTH)
    const record = this.#bodiesOf(index)?.records.find((one) => one.index === seq % TILE_WIDTH)
    if (record !== undefined) this.tiles.wipeBody(index, record)
    this.#bodies.delete(index)
  }

  /** Whether segments wait for a checkpoint beyond `signed`. */
  awaitsCheckpoint(signed: number): boolean {
    return this.#tail !== undefined && this.#tail.closedEnd > this.#tail.first && this.#tail.closedEnd > signed
  }

  /** Tiles are durable and a checkpoint of `signed` entries is, too: what the tail repeats of them can go. */
  release(signed: number): void {
    if (this.#tail === undefined) return
    this.#tail.removeBefore(Math.min(Math.floor(signed / TILE_WIDTH) * TILE_WIDTH, this.#base))
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
    return this.#bundleOf(Math.floor(seq / TILE_WIDTH))?.[seq % TILE_WIDTH]
  }

  #bundleOf(index: number): readonly Uint8Array[] | undefined {
    return this.#bundles.get(index, () => {
      const bytes = this.tiles.tile({ level: 'entries', index, width: TILE_WIDTH })
      const decoded = bytes && decodeBundle(bytes, TILE_WIDTH)
      return decoded?.ok === true ? decoded.value : undefined
    })
  }

  #bodiesOf(index: number): StoredBodies | undefined {
    return this.#bodies.get(index, () => this.tiles.bodies(index))
  }

  #read(place: TailPlace | { readonly body: SaltedBody | undefined }): SaltedBody | undefined {
    return 'body' in place ? place.body : this.#tail?.read(place)
  }

  /** Writes the bundles that are full. Throws what the file system says. */
  writeBundles(): void {
    while (this.#size - this.#base >= TILE_WIDTH) {
      const index = this.#base / TILE_WIDTH
      const entries = this.#recent.slice(0, TILE_WIDTH)
      const content = encodeBundle(entries)
      const name = { level: 'entries', index, width: TILE_WIDTH } as const
      const bodies: (SaltedBody & { readonly index: number })[] = []
      for (let offset = 0; offset < TILE_WIDTH; offset++) {
        const body = this.#places.has(this.#base + offset) ? this.body(this.#base + offset) : undefined
        if (body !== undefined) bodies.push({ index: offset, ...body })
      }
      // A start finds those that were written since the oldest segment began.
      const before = this.#isOpening ? this.tiles.tile(name) : undefined
      this.tiles.writeBodies(index, bodies)
      if (before === undefined || !equalBytes(before, content)) this.tiles.writeTile(name, content)
      this.#recent.splice(0, TILE_WIDTH)
      this.#base += TILE_WIDTH
      this.#bodies.delete(index)
      this.#bundles.get(index, () => entries)
    }
  }

  /** An export has no tail: its last entries are in the partial bundle that its checkpoint speaks of. */
  #readPartialBundle(): void {
    const size = Number(this.tiles.read('checkpoint')?.toString().split('\n')[1])
    const [index, width] = [Math.floor(size / TILE_WIDTH), size % TILE_WIDTH]
    if (index * TILE_WIDTH !== this.#base || !(width > 0)) return
    const bytes = this.tiles.tile({ level: 'entries', index, width })
    const decoded = bytes && decodeBundle(bytes, width)
    if (decoded?.ok !== true) return
    this.#recent.push(...decoded.value)
    this.#size = size
  }

  /** Where the bodies of the tail stand. */
  #locate({ segments }: ReadTail): void {
    for (const { path, bytes, groups } of segments) {
      const segment = this.#tail?.segmentOf(path)
      for (const { first, bodies } of groups)
        for (const body of bodies) {
          const place = segment === undefined ? { body: readBodyAt(bytes, body) } : { ...body, segment }
          this.#places.set(first + body.index, place as TailPlace)
        }
    }
  }

  #gap(bundles: number, first: number | undefined): string | undefined {
    if (first === undefined) return bundles === 0 ? undefined : 'the tail of the log is missing'
    if (bundles * TILE_WIDTH < first) return `entry bundle ${bundles} is missing`
    return this.#size < this.#base ? 'the tail of the log ends before the bundles do' : undefined
  }

  /** How many full bundles there are before the first gap; by halves, since there may be very many. */
  #countBundles(): number {
    const has = (index: number): boolean => this.tiles.has(tilePath({ level: 'entries', index, width: TILE_WIDTH }))
    let [low, high] = [0, 1]
    while (has(high - 1)) [low, high] = [high, high * 2]
    while (low < high - 1) {
      const middle = Math.floor((low + high) / 2)
      if (has(middle - 1)) low = middle
      else high = middle
    }
    return low
  }
}

function endOf({ segments }: ReadTail): number | undefined {
  const last = segments.at(-1)
  const group = last?.groups.at(-1)
  return group === undefined ? last?.first : group.first + group.entries.length
}

/** Whether there is a log. */
export function hasLog(directory: string): boolean {
  return existsSync(join(directory, 'tail'))
}
