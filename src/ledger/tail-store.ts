/**
 * Tail: the groups that were appended last, in separate files until tiles and a signature cover them.
 *
 *   tail/0000000000016384     head ‖ groups … ‖ zeros
 *   tail/0000000000032801     the newest takes the writes; older ones wait for their entries to be covered
 *
 * One write and one fdatasync per group. The file is extended with zeros in large steps, ahead of the groups, so that a
 * sync has data to write and no change of the file's size or blocks; a close cuts the zeros off. A crash can leave an
 * incomplete group at the very end, which was not confirmed to any caller: it is cut off, like the zeros after the last
 * group. Any other difference from what was written is damage, and is never repaired.
 */
import type { KeyObject } from 'node:crypto'
import {
  close,
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PendingJournalSync } from '../core/database-store.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { BODY_SALT_BYTES, sliceSaltedBody, encodeEntryGroup, GROUP_MAC_BYTES } from './entry-group.ts'
import type { BodyRecordLocation, SaltedBody, EntryGroupToEncode } from './entry-group.ts'
import {
  computeExpectedAppliedEntryCount,
  computeSegmentEnd,
  encodeSegmentHead,
  listSegmentNames,
  readMacBeforeSegment,
  SEGMENT_HEAD_BYTES,
} from './tail-reader-store.ts'
import type { TailContents } from './tail-reader-store.ts'

/** A segment with this many entries is closed; a start reads one or two segments. */
const SEGMENT_ENTRIES = 16_384
const SEGMENT_BYTES = 33_554_432
/** The bodies of more than one bundle of usual calls have this many bytes. */
const MAX_SPAN_BYTES = 1_048_576
/** How often to check that the file was not removed. */
const EXAMINE_EVERY_MS = 1_000
/** By how much a file is extended: little compared with what a busy day writes, and much compared with a group. */
const ALLOCATED_ZEROS = Buffer.alloc(262_144)

interface Segment {
  readonly path: string
  readonly first: number
  readonly file: number
  end: number
  bytes: number
  /** The length of the file, including the zeros after the last group. */
  allocated: number
}

/** Where a body is in a segment. */
export interface TailBodyPosition {
  readonly segment: { readonly file: number }
  readonly offset: number
  readonly length: number
}

export interface TailStoreOptions {
  readonly directory: string
  readonly key: KeyObject
  /** What `readTailSegments` returned without damage. */
  readonly read: TailContents
  /** The number of the first entry, for a tail that is empty. */
  readonly begins: number
  readonly segmentEntries: number | undefined
}

/** Writes to a tail that `readTailSegments` found sound. */
export class TailStore {
  readonly #directory: string
  readonly #key: KeyObject
  readonly #segmentEntries: number
  readonly #segments: Segment[] = []
  #mac: Uint8Array
  #tables: number
  #syncs = 0
  #examinedMs = -Infinity
  #isClosed = false
  #removal: Promise<void> = Promise.resolve()
  /** The state that the group being written replaced. */
  #before:
    | { readonly segment: Segment; readonly bytes: number; readonly mac: Uint8Array; readonly tables: number }
    | undefined

  /** Cuts off a torn group. */
  constructor({ directory, key, read, begins, segmentEntries }: TailStoreOptions) {
    this.#directory = directory
    this.#key = key
    this.#segmentEntries = segmentEntries ?? SEGMENT_ENTRIES
    this.#mac = new Uint8Array(GROUP_MAC_BYTES)
    createPrivateFolder(directory)
    const known = new Set(read.segments.map(({ path }) => path))
    for (const name of listSegmentNames(directory)) if (!known.has(join(directory, name))) rmSync(join(directory, name))
    this.#tables = computeExpectedAppliedEntryCount(read)
    for (const segment of read.segments) {
      const { path, first, bytes, groups, whole } = segment
      const file = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW)
      if (whole < bytes.length) {
        ftruncateSync(file, whole)
        fdatasyncSync(file)
      }
      this.#mac = new Uint8Array(groups.at(-1)?.mac ?? readMacBeforeSegment(bytes))
      const end = computeSegmentEnd(segment)
      this.#segments.push({ path, first, file, bytes: whole, allocated: whole, end })
    }
    if (this.#segments.length === 0) this.#begin(begins)
  }

  /** The number of the oldest entry in the tail. */
  get first(): number {
    return this.#segments[0]?.first ?? 0
  }

  /** One past the last entry of the segments that take no more writes. */
  get closedEnd(): number {
    return this.#newest().first
  }

  segmentOf(path: string): { readonly file: number } | undefined {
    return this.#segments.find((segment) => segment.path === path)
  }

  /** Writes a group. Throws file system errors; then nothing is appended. */
  write(content: Omit<EntryGroupToEncode, 'first'>): {
    readonly bodies: readonly (BodyRecordLocation & TailBodyPosition)[]
  } {
    if (this.#isFull()) {
      cutAllocation(this.#newest())
      this.#begin(this.#newest().end)
    }
    const segment = this.#newest()
    const { record, mac, bodies } = encodeEntryGroup({ ...content, first: segment.end }, this.#key, this.#mac)
    const start = segment.bytes
    allocate(segment, start + record.length)
    this.#before = { segment, bytes: start, mac: this.#mac, tables: this.#tables }
    for (let written = 0; written < record.length;)
      written += writeSync(segment.file, record, written, record.length - written, start + written)
    segment.bytes += record.length
    segment.allocated = Math.max(segment.allocated, segment.bytes)
    segment.end += content.entries.length
    this.#mac = mac
    if (content.changedRows) this.#tables = segment.end
    return { bodies: bodies.map((body) => ({ ...body, offset: start + body.offset, segment })) }
  }

  readonly sync: PendingJournalSync = {
    later: (done) => {
      const { file, path } = this.#newest()
      this.#syncs += 1
      fdatasync(file, (error) => {
        this.#syncs -= 1
        const removed = error === null && !this.#isClosed ? this.#findRemoval(file, path) : undefined
        if (this.#isClosed && this.#syncs === 0) this.#closeFiles()
        done(removed ?? error)
      })
    },
    now: () => {
      const { file, path } = this.#newest()
      fdatasyncSync(file)
      const removed = this.#findRemoval(file, path)
      if (removed !== undefined) throw removed
    },
  }

  /** Undoes the last write, which was not confirmed to any caller. */
  undo(entries: number): void {
    const before = this.#before
    if (before === undefined) return
    ftruncateSync(before.segment.file, before.bytes)
    if (before.segment.bytes > before.bytes) before.segment.end -= entries
    before.segment.bytes = before.bytes
    before.segment.allocated = before.bytes
    this.#mac = before.mac
    this.#tables = before.tables
    this.#before = undefined
  }

  commit(): void {
    this.#before = undefined
  }

  read({ segment, offset, length }: TailBodyPosition): SaltedBody | undefined {
    const bytes = Buffer.alloc(BODY_SALT_BYTES + length)
    readSync(segment.file, bytes, 0, bytes.length, offset)
    return sliceSaltedBody(bytes, { offset: 0, length })
  }

  /** Reads bodies as `read` does; bodies that are close together in one segment are read at once. */
  readMany(places: readonly TailBodyPosition[]): readonly (SaltedBody | undefined)[] {
    const [first, last] = [places[0], places.at(-1)]
    if (first === undefined || last === undefined) return []
    const length = last.offset + BODY_SALT_BYTES + last.length - first.offset
    const isOneSpan = places.every(({ segment }) => segment === first.segment) && length <= MAX_SPAN_BYTES
    if (!isOneSpan) return places.map((place) => this.read(place))
    const span = Buffer.alloc(length)
    readSync(first.segment.file, span, 0, length, first.offset)
    return places.map((place) => sliceSaltedBody(span, { offset: place.offset - first.offset, length: place.length }))
  }

  /** Overwrites a body; durable when it returns. */
  wipe({ segment, offset, length }: TailBodyPosition): void {
    writeSync(segment.file, Buffer.alloc(BODY_SALT_BYTES + length), 0, BODY_SALT_BYTES + length, offset)
    fdatasyncSync(segment.file)
  }

  /** Removes the segments whose entries all come before `end`. */
  removeBefore(end: number): Promise<void> {
    // One after another: whoever asks while a file is being removed waits for that, too.
    this.#removal = this.#removal.catch(() => undefined).then(() => this.#removeSegments(end))
    return this.#removal
  }

  async #removeSegments(end: number): Promise<void> {
    while (this.#segments.length > 1 && (this.#segments[0]?.end ?? end + 1) <= end) {
      const segment = this.#segments.shift()
      if (segment === undefined) return
      // The file is removed with its last descriptor, and freeing its blocks takes milliseconds, so this is not done on
      // the event loop.
      await rm(segment.path)
      await new Promise((resolve) => close(segment.file, resolve))
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // A running sync still uses the descriptor.
    if (this.#syncs === 0) this.#closeFiles()
  }

  /**
   * A file that was removed while it is open accepts writes and loses them. Examined once a second: on Linux from 6.13, a
   * file whose times were read takes a new time with the next write, and every sync would write the inode as well.
   */
  #findRemoval(file: number, path: string): Error | undefined {
    const nowMs = performance.now()
    if (nowMs - this.#examinedMs < EXAMINE_EVERY_MS) return undefined
    this.#examinedMs = nowMs
    return fstatSync(file).nlink === 0 ? new Error(`${path} was removed while it was open`) : undefined
  }

  #closeFiles(): void {
    const newest = this.#segments.at(-1)
    if (newest !== undefined) cutAllocation(newest)
    for (const { file } of this.#segments.splice(0)) closeSync(file)
  }

  #newest(): Segment {
    const segment = this.#segments.at(-1)
    if (segment === undefined) throw new Error('the tail of the log is closed')
    return segment
  }

  #isFull(): boolean {
    const { first, end, bytes } = this.#newest()
    return end - first >= this.#segmentEntries || bytes >= SEGMENT_BYTES
  }

  #begin(first: number): void {
    const path = join(this.#directory, String(first).padStart(16, '0'))
    const head = encodeSegmentHead({ first, tables: this.#tables, mac: this.#mac }, this.#key)
    // What a failed attempt left is removed first, and a link in its place is not followed.
    rmSync(path, { force: true })
    const file = openSync(path, 'wx+', 0o600)
    writeSync(file, head, 0, head.length, 0)
    fsyncSync(file)
    const folder = openSync(this.#directory, 'r')
    fsyncSync(folder)
    closeSync(folder)
    this.#segments.push({ path, first, file, end: first, bytes: SEGMENT_HEAD_BYTES, allocated: SEGMENT_HEAD_BYTES })
  }
}

/** Replaces the beginning of open files, without a sync. The process may be killed at any moment: all of it, or nothing. */
export function writeInPlace(files: readonly number[], line: string): void {
  for (const file of files) writeSync(file, line, 0)
}

/** Extends the file with zeros. They become durable with the next sync, and nothing depends on them before. */
function allocate(segment: Segment, end: number): void {
  if (end <= segment.allocated) return
  try {
    segment.allocated += writeSync(segment.file, ALLOCATED_ZEROS, 0, ALLOCATED_ZEROS.length, segment.allocated)
  } catch {
    // On a disk that is nearly full there may still be room for the group itself.
  }
}

function cutAllocation(segment: Segment): void {
  if (segment.allocated === segment.bytes) return
  // A file of another length contains groups of another process, which cutting would destroy.
  if (fstatSync(segment.file).size !== segment.allocated) return
  ftruncateSync(segment.file, segment.bytes)
  segment.allocated = segment.bytes
}
