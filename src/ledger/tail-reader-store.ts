/**
 * Tail reader: the groups in the segments of the tail, as far as they are authentic.
 *
 *   "HBT1" ‖ first (64) ‖ tables (64) ‖ mac of the group before ‖ mac of all this ‖ groups … ‖ zeros
 *
 * `tables` is one past the last entry, before this segment, whose group changed rows: a database that has not followed
 * the log that far is an older copy.
 *
 * A crash can leave an incomplete group at the very end, which was not confirmed to any caller. It is ignored, like the
 * zeros after the last group. Any other difference from what was written is damage.
 */
import { createHmac } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { explainUnusableFile, FileUnusableError, readFileRange, withRegularFile } from '../core/bounded-file-store.ts'
import { areBytesEqual } from '../core/bytes.ts'
import { readSystemErrorCode } from '../core/thrown-error.ts'
import {
  decodeEntryGroup,
  ENTRY_GROUP_MAGIC,
  areGroupBodiesCommitted,
  hasCompleteGroupAt,
  GROUP_MAC_BYTES,
} from './entry-group.ts'
import type { EntryGroup } from './entry-group.ts'

const MAGIC = Buffer.from('HBT1')
export const SEGMENT_HEAD_BYTES = 20 + 2 * GROUP_MAC_BYTES
const HEAD_CONTENT_BYTES = SEGMENT_HEAD_BYTES - GROUP_MAC_BYTES
const MAC_AT = 20
const NAME = /^\d{16}$/
/** The unit in which a disk writes. */
const SECTOR_BYTES = 512

export interface TailSegment {
  readonly path: string
  readonly first: number
  readonly bytes: Buffer
  readonly groups: readonly EntryGroup[]
  /** The position after the last complete group; what follows is torn. */
  readonly whole: number
  readonly headBytes: number
  /** See `tables` above. */
  readonly tables: number
}

export interface TailContents {
  readonly segments: readonly TailSegment[]
  /** Bytes at the end that are not a complete group, without the zeros after them. */
  readonly torn: number
  /** Why the groups cannot be trusted, as a sentence without its full stop. */
  readonly damage: string | undefined
}

/**
 * Reads the tail without trusting it. Without the key, MACs are not checked. Signed entries were complete when they
 * were signed, so only a group after the first `signed` entries can be torn.
 */
export function readTailSegments(directory: string, key: KeyObject | undefined, signed = 0): TailContents {
  const names = listSegmentNames(directory)
  const segments: TailSegment[] = []
  let [mac, torn]: [Uint8Array | undefined, number] = [undefined, 0]
  for (const [place, name] of names.entries()) {
    const path = join(directory, name)
    const { content: bytes, reason } = readSegment(path)
    if (bytes === undefined) return { segments, torn, damage: `${path} cannot be read: ${reason ?? 'it is gone'}` }
    const isLast = place === names.length - 1
    const first = Number(name)
    // The process crashed while it created the segment.
    if (bytes.length < SEGMENT_HEAD_BYTES && isLast && (place > 0 || first === 0))
      return { segments, torn: bytes.length, damage: undefined }
    const begins =
      bytes.length >= SEGMENT_HEAD_BYTES &&
      areBytesEqual(bytes.subarray(0, 4), MAGIC) &&
      bytes.readBigUInt64BE(4) === BigInt(first) &&
      (key === undefined ||
        areBytesEqual(bytes.subarray(HEAD_CONTENT_BYTES, SEGMENT_HEAD_BYTES), headMac(key, bytes))) &&
      (mac === undefined ||
        (areBytesEqual(readMacBeforeSegment(bytes), mac) && first === computeSegmentEnd(segments.at(-1))))
    if (!begins) return { segments, torn, damage: `${path} does not follow what was written before it` }
    const written = countWrittenBytes(bytes)
    const { groups, whole, forged } = readGroups(bytes, { first, key, signed, mayBeTorn: isLast, written })
    segments.push({
      path,
      first,
      bytes,
      groups,
      whole,
      headBytes: SEGMENT_HEAD_BYTES,
      tables: Number(bytes.readBigUInt64BE(12)),
    })
    if (forged)
      return {
        segments,
        torn,
        damage: `${path} holds a group, from entry ${computeSegmentEnd(segments.at(-1))} on, that this node did not write`,
      }
    const isSigned = computeSegmentEnd(segments.at(-1)) < signed
    if (whole < written && (!isLast || isSigned || hasLaterGroup(bytes, whole)))
      return { segments, torn, damage: `${path} is not whole: something before its end was changed` }
    torn = Math.max(0, written - whole)
    mac = groups.at(-1)?.mac ?? readMacBeforeSegment(bytes)
  }
  return { segments, torn, damage: undefined }
}

/** One erased body, or a file that was extended ahead of its groups, has fewer consecutive zeros than this. */
const MAX_ZEROS = 16_777_216
const PIECE_BYTES = 4_194_304

/** Reads piece by piece and stops where only zeros follow, because a sparse file may claim any length. */
function readSegment(path: string): { readonly content?: Buffer; readonly reason?: string | undefined } {
  try {
    const content = withRegularFile(path, (file, size) => {
      if (size <= MAX_ZEROS) return readFileRange(file, 0, size)
      const pieces: Buffer[] = []
      for (let [at, zeros] = [0, 0]; at < size; at += PIECE_BYTES) {
        const piece = readFileRange(file, at, Math.min(PIECE_BYTES, size - at))
        zeros = countWrittenBytes(piece) === 0 ? zeros + piece.length : 0
        if (zeros > MAX_ZEROS) throw new FileUnusableError(path, 'it goes on behind what was written')
        pieces.push(piece)
      }
      return Buffer.concat(pieces)
    })
    return { content }
  } catch (error) {
    return { reason: explainUnusableFile(error) }
  }
}

interface SegmentReading {
  readonly first: number
  readonly key: KeyObject | undefined
  readonly signed: number
  readonly mayBeTorn: boolean
  readonly written: number
}

function readGroups(
  bytes: Buffer,
  { first, key, signed, mayBeTorn, written }: SegmentReading,
): { readonly groups: EntryGroup[]; readonly whole: number; readonly forged: boolean } {
  const groups: EntryGroup[] = []
  let [at, next, previousMac]: [number, number, Uint8Array] = [SEGMENT_HEAD_BYTES, first, readMacBeforeSegment(bytes)]
  while (at < bytes.length) {
    const group = decodeEntryGroup(bytes, { at, first: next, previousMac, key })
    if (!group.ok) {
      const isTorn = group.fault.kind === 'torn' || (mayBeTorn && isLastWrite(bytes, at, written))
      return { groups, whole: at, forged: !isTorn }
    }
    const isLast = mayBeTorn && group.value.end >= written && next + group.value.entries.length > signed
    // Only the last write can be incomplete. None of its bodies was erased yet, because an erasure is recorded in a
    // later group.
    if (isLast && !areGroupBodiesCommitted(bytes, group.value)) return { groups, whole: at, forged: false }
    groups.push(group.value)
    next += group.value.entries.length
    previousMac = group.value.mac
    at = group.value.end
  }
  return { groups, whole: at, forged: false }
}

export function readMacBeforeSegment(bytes: Buffer): Uint8Array {
  return bytes.subarray(MAC_AT, MAC_AT + GROUP_MAC_BYTES)
}

function headMac(key: KeyObject, head: Buffer): Uint8Array {
  return createHmac('sha256', key).update(head.subarray(0, HEAD_CONTENT_BYTES)).digest()
}

/**
 * Whether the group is the last one, and a sector of it never reached the disk: the checksum may be there while the MAC
 * is not.
 */
function isLastWrite(bytes: Buffer, at: number, written: number): boolean {
  const end = at + bytes.readUInt32BE(at + 4)
  if (end < written) return false
  for (let from = at; from < end; from += SECTOR_BYTES - (from % SECTOR_BYTES)) {
    const to = Math.min(end, from + SECTOR_BYTES - (from % SECTOR_BYTES))
    if (bytes.subarray(from, to).every((byte) => byte === 0)) return true
  }
  return false
}

/** One past the last byte that is not zero. */
function countWrittenBytes(bytes: Buffer): number {
  let written = bytes.length
  while (written > 0 && bytes[written - 1] === 0) written -= 1
  return written
}

/** Each group is written after the one before it was synced, so no complete group can follow a torn one. */
function hasLaterGroup(bytes: Buffer, after: number): boolean {
  for (let at = bytes.indexOf(ENTRY_GROUP_MAGIC, after + 1); at >= 0; at = bytes.indexOf(ENTRY_GROUP_MAGIC, at + 1))
    if (hasCompleteGroupAt(bytes, at)) return true
  return false
}

export function listSegmentNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => NAME.test(name))
      .toSorted()
  } catch (error) {
    if (readSystemErrorCode(error) === 'ENOENT') return []
    throw error
  }
}

/** One past the last entry of a segment; 0 without one. */
export function computeSegmentEnd(segment: TailSegment | undefined): number {
  const group = segment?.groups.at(-1)
  return group === undefined ? (segment?.first ?? 0) : group.first + group.entries.length
}

/** One past the last entry whose group changed rows. */
export function computeExpectedAppliedEntryCount({ segments }: TailContents): number {
  return segments.reduce(
    (known, { tables, groups }) =>
      groups.reduce(
        (end, { changedRows, first, entries }) => (changedRows ? first + entries.length : end),
        Math.max(known, tables),
      ),
    0,
  )
}

export interface SegmentHead {
  readonly first: number
  readonly tables: number
  /** The MAC of the previous group. */
  readonly mac: Uint8Array
}

export function encodeSegmentHead({ first, tables, mac }: SegmentHead, key: KeyObject): Buffer {
  const head = Buffer.alloc(SEGMENT_HEAD_BYTES)
  head.set(MAGIC, 0)
  head.writeBigUInt64BE(BigInt(first), 4)
  head.writeBigUInt64BE(BigInt(tables), 12)
  head.set(mac, MAC_AT)
  head.set(headMac(key, head), HEAD_CONTENT_BYTES)
  return head
}
