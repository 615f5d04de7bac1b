/**
 * Tail: the groups that were appended last, in files of their own until tiles and a signature cover them.
 *
 *   tail/0000000000016384     "HBT1" ‖ first (64) ‖ tables (64) ‖ mac of the group before ‖ mac of all this ‖ groups …
 *   tail/0000000000032801     the newest takes the writes; older ones wait for their entries to be covered
 *
 * `tables` is one past the last entry, before this segment, whose group changed rows: a database that has not followed
 * so far is an older copy.
 *
 * One write and one fdatasync per group. A crash can leave a torn group at the very end, which nobody heard of: it is
 * cut off. Anything else that is not as it was written is damage, and is never mended.
 */
import { createHmac } from 'node:crypto'
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { equalBytes } from '../core/bytes.ts'
import type { JournalSync } from '../core/database-store.ts'
import { makeFolder } from '../core/folder-store.ts'
import { systemErrorCode } from '../core/thrown.ts'
import {
  SALT_BYTES,
  readBodyAt,
  decodeGroup,
  encodeGroup,
  GROUP_MAGIC,
  hasItsBodies,
  isWholeGroup,
  MAC_BYTES,
} from './group.ts'
import type { BodyRecord, SaltedBody, EntryGroup, GroupContent } from './group.ts'

const MAGIC = Buffer.from('HBT1')
const HEAD_BYTES = 20 + 2 * MAC_BYTES
const HEAD_CONTENT_BYTES = HEAD_BYTES - MAC_BYTES
const MAC_AT = 20
const NAME = /^\d{16}$/
/** A segment that has grown so far is closed; a start reads one or two. */
const SEGMENT_ENTRIES = 16_384
const SEGMENT_BYTES = 33_554_432

export interface TailSegment {
  readonly path: string
  readonly first: number
  readonly bytes: Buffer
  readonly groups: readonly EntryGroup[]
  /** What follows is torn. */
  readonly whole: number
  readonly headBytes: number
  /** See above. */
  readonly tables: number
}

export interface ReadTail {
  readonly segments: readonly TailSegment[]
  /** Bytes at the end that are no whole group. */
  readonly torn: number
  /** Why the groups cannot be believed, in a sentence without its full stop. */
  readonly damage: string | undefined
}

/**
 * Trusts nothing. Without the key, macs are not checked. What was signed was whole: only behind the first `signed`
 * entries can a group be torn.
 */
export function readTail(directory: string, key: Uint8Array | undefined, signed = 0): ReadTail {
  const names = segmentNames(directory)
  const segments: TailSegment[] = []
  let [mac, torn]: [Uint8Array | undefined, number] = [undefined, 0]
  for (const [place, name] of names.entries()) {
    const path = join(directory, name)
    const bytes = readFileSync(path)
    const isLast = place === names.length - 1
    const first = Number(name)
    // A crash while it was begun.
    if (bytes.length < HEAD_BYTES && isLast && (place > 0 || first === 0))
      return { segments, torn: bytes.length, damage: undefined }
    const begins =
      bytes.length >= HEAD_BYTES &&
      equalBytes(bytes.subarray(0, 4), MAGIC) &&
      bytes.readBigUInt64BE(4) === BigInt(first) &&
      (key === undefined || equalBytes(bytes.subarray(HEAD_CONTENT_BYTES, HEAD_BYTES), headMac(key, bytes))) &&
      (mac === undefined || (equalBytes(macBefore(bytes), mac) && first === endOf(segments.at(-1))))
    if (!begins) return { segments, torn, damage: `${path} does not follow what was written before it` }
    const { groups, whole, forged } = readGroups(bytes, { first, key, signed })
    segments.push({
      path,
      first,
      bytes,
      groups,
      whole,
      headBytes: HEAD_BYTES,
      tables: Number(bytes.readBigUInt64BE(12)),
    })
    if (forged)
      return {
        segments,
        torn,
        damage: `${path} holds a group, from entry ${endOf(segments.at(-1))} on, that this node did not write`,
      }
    const isSigned = endOf(segments.at(-1)) < signed
    if (whole < bytes.length && (!isLast || isSigned || hasLaterGroup(bytes, whole)))
      return { segments, torn, damage: `${path} is not whole: something before its end was changed` }
    torn = bytes.length - whole
    mac = groups.at(-1)?.mac ?? macBefore(bytes)
  }
  return { segments, torn, damage: undefined }
}

function readGroups(
  bytes: Buffer,
  { first, key, signed }: { readonly first: number; readonly key: Uint8Array | undefined; readonly signed: number },
): { readonly groups: EntryGroup[]; readonly whole: number; readonly forged: boolean } {
  const groups: EntryGroup[] = []
  let [at, next, previousMac]: [number, number, Uint8Array] = [HEAD_BYTES, first, macBefore(bytes)]
  while (at < bytes.length) {
    const group = decodeGroup(bytes, { at, first: next, previousMac, key })
    if (!group.ok) return { groups, whole: at, forged: group.fault.kind === 'forged' }
    const isLast = group.value.end === bytes.length && next + group.value.entries.length > signed
    // Only the last write can have stopped half-way.
    if (isLast && !hasItsBodies(bytes, group.value)) return { groups, whole: at, forged: false }
    groups.push(group.value)
    next += group.value.entries.length
    previousMac = group.value.mac
    at = group.value.end
  }
  return { groups, whole: at, forged: false }
}

function macBefore(bytes: Buffer): Uint8Array {
  return bytes.subarray(MAC_AT, MAC_AT + MAC_BYTES)
}

function headMac(key: Uint8Array, head: Buffer): Uint8Array {
  return createHmac('sha256', key).update(head.subarray(0, HEAD_CONTENT_BYTES)).digest()
}

/** Each group is written after the one before it was synced, so nothing whole can stand behind a torn one. */
function hasLaterGroup(bytes: Buffer, after: number): boolean {
  for (let at = bytes.indexOf(GROUP_MAGIC, after + 1); at >= 0; at = bytes.indexOf(GROUP_MAGIC, at + 1))
    if (isWholeGroup(bytes, at)) return true
  return false
}

function segmentNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => NAME.test(name))
      .toSorted()
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return []
    throw error
  }
}

function endOf(segment: TailSegment | undefined): number {
  const group = segment?.groups.at(-1)
  return group === undefined ? (segment?.first ?? 0) : group.first + group.entries.length
}

/** One past the last entry whose group changed rows. */
export function countTableEntries({ segments }: ReadTail): number {
  return segments.reduce(
    (known, { tables, groups }) =>
      groups.reduce(
        (end, { changedRows, first, entries }) => (changedRows ? first + entries.length : end),
        Math.max(known, tables),
      ),
    0,
  )
}

interface Segment {
  readonly path: string
  readonly first: number
  readonly file: number
  end: number
  bytes: number
}

/** Where a body stands in a segment. */
export interface TailPlace {
  readonly segment: { readonly file: number }
  readonly offset: number
  readonly length: number
}

export interface TailOptions {
  readonly directory: string
  readonly key: Uint8Array
  /** What `readTail` found, and found sound. */
  readonly read: ReadTail
  /** The first entry of a tail that has none yet. */
  readonly begins: number
  readonly segmentEntries: number | undefined
}

/** Writes what `readTail` found sound. */
export class TailStore {
  readonly #directory: string
  readonly #key: Uint8Array
  readonly #segmentEntries: number
  readonly #segments: Segment[] = []
  #mac: Uint8Array
  #tables: number
  #syncs = 0
  #isClosed = false
  /** What the group that is being written replaced. */
  #before:
    | { readonly segment: Segment; readonly bytes: number; readonly mac: Uint8Array; readonly tables: number }
    | undefined

  /** Cuts off what is torn. */
  constructor({ directory, key, read, begins, segmentEntries }: TailOptions) {
    this.#directory = directory
    this.#key = key
    this.#segmentEntries = segmentEntries ?? SEGMENT_ENTRIES
    this.#mac = new Uint8Array(MAC_BYTES)
    makeFolder(directory)
    const known = new Set(read.segments.map(({ path }) => path))
    for (const name of segmentNames(directory)) if (!known.has(join(directory, name))) rmSync(join(directory, name))
    this.#tables = countTableEntries(read)
    for (const { path, first, bytes, groups, whole } of read.segments) {
      const file = openSync(path, 'r+')
      if (whole < bytes.length) {
        ftruncateSync(file, whole)
        fdatasyncSync(file)
      }
      const group = groups.at(-1)
      this.#mac = new Uint8Array(group?.mac ?? macBefore(bytes))
      this.#segments.push({ path, first, file, bytes: whole, end: group ? group.first + group.entries.length : first })
    }
    if (this.#segments.length === 0) this.#begin(begins)
  }

  /** Of the oldest entry in it. */
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

  /** Throws what the file system says; nothing is appended then. */
  write(content: Omit<GroupContent, 'first'>): { readonly bodies: readonly (BodyRecord & TailPlace)[] } {
    if (this.#isFull()) this.#begin(this.#newest().end)
    const segment = this.#newest()
    const { record, mac, bodies } = encodeGroup({ ...content, first: segment.end }, this.#key, this.#mac)
    const start = segment.bytes
    this.#before = { segment, bytes: start, mac: this.#mac, tables: this.#tables }
    for (let written = 0; written < record.length;)
      written += writeSync(segment.file, record, written, record.length - written, start + written)
    segment.bytes += record.length
    segment.end += content.entries.length
    this.#mac = mac
    if (content.changedRows) this.#tables = segment.end
    return { bodies: bodies.map((body) => ({ ...body, offset: start + body.offset, segment })) }
  }

  readonly sync: JournalSync = {
    later: (done) => {
      const { file, path } = this.#newest()
      this.#syncs += 1
      fdatasync(file, (error) => {
        this.#syncs -= 1
        const removed = error === null && !this.#isClosed && fstatSync(file).nlink === 0
        if (this.#isClosed && this.#syncs === 0) this.#closeFiles()
        done(removed ? new Error(`${path} was removed while it was open`) : error)
      })
    },
    now: () => fdatasyncSync(this.#newest().file),
  }

  /** Undoes the last write, of which nobody heard. */
  undo(entries: number): void {
    const before = this.#before
    if (before === undefined) return
    ftruncateSync(before.segment.file, before.bytes)
    if (before.segment.bytes > before.bytes) before.segment.end -= entries
    before.segment.bytes = before.bytes
    this.#mac = before.mac
    this.#tables = before.tables
    this.#before = undefined
  }

  kept(): void {
    this.#before = undefined
  }

  read({ segment, offset, length }: TailPlace): SaltedBody | undefined {
    const bytes = Buffer.alloc(SALT_BYTES + length)
    readSync(segment.file, bytes, 0, bytes.length, offset)
    return readBodyAt(bytes, { offset: 0, length })
  }

  /** Overwrites a body; durable when it returns. */
  wipe({ segment, offset, length }: TailPlace): void {
    writeSync(segment.file, Buffer.alloc(SALT_BYTES + length), 0, SALT_BYTES + length, offset)
    fdatasyncSync(segment.file)
  }

  /** Removes the segments whose entries all come before `end`. */
  removeBefore(end: number): void {
    while (this.#segments.length > 1 && (this.#segments[0]?.end ?? end + 1) <= end) {
      const segment = this.#segments.shift()
      if (segment === undefined) return
      rmSync(segment.path)
      closeSync(segment.file)
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // A sync that is under way still holds the descriptor.
    if (this.#syncs === 0) this.#closeFiles()
  }

  #closeFiles(): void {
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
    const head = Buffer.alloc(HEAD_BYTES)
    head.set(MAGIC, 0)
    head.writeBigUInt64BE(BigInt(first), 4)
    head.writeBigUInt64BE(BigInt(this.#tables), 12)
    head.set(this.#mac, MAC_AT)
    head.set(headMac(this.#key, head), HEAD_CONTENT_BYTES)
    const file = openSync(path, 'w+', 0o600)
    writeSync(file, head, 0, HEAD_BYTES, 0)
    fsyncSync(file)
    const folder = openSync(this.#directory, 'r')
    fsyncSync(folder)
    closeSync(folder)
    this.#segments.push({ path, first, file, end: first, bytes: HEAD_BYTES })
  }
}
