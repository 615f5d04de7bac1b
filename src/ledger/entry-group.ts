/**
 * Entry group: what one write to the log's tail contains, with a checksum and a MAC.
 *
 *   "HBG1" ‖ length (32) ‖ first (64) ‖ count (32) ‖ flags (32)      length: of the whole record; flags: 1 rows changed
 *   count × ( length (16) ‖ entry )                                    the same bytes as in an entry bundle
 *   checksum (16 bytes)    SHA-256 of everything before it, cut off
 *   mac (32 bytes)         HMAC-SHA-256(key, mac of the group before ‖ everything before the checksum)
 *   body records           committed to by the entries, and erasable: neither checksum nor mac covers them
 *
 * A group with a wrong checksum was not written completely. One with a correct checksum and a wrong MAC was not written
 * by this node: the key is derived from the node's, and each mac depends on all before it.
 */
import { createHmac, createSecretKey, hash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { areBytesEqual, fromUtf8 } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { canonicalJson, isCanonicalJsonText, isJsonObject, parseJsonOrUndefined } from '../core/json.ts'
import type { Json } from '../core/json.ts'

export interface EntryToAppend {
  readonly bytes: Uint8Array
  /** The leaf hash, where it is known already. */
  readonly leaf?: Uint8Array | undefined
  readonly body?: SaltedBody | undefined
}

export interface EntryGroup {
  readonly first: number
  /** Whether the group's works changed tables as well. */
  readonly changedRows: boolean
  readonly entries: readonly Uint8Array[]
  readonly bodies: readonly BodyRecordLocation[]
  readonly mac: Uint8Array
  /** The position after the group's last byte. */
  readonly end: number
}

export type EntryGroupFault =
  /** It was not written completely. */
  | { readonly kind: 'torn' }
  /** It is complete, but this node did not write it, or not in this position. */
  | { readonly kind: 'forged' }

export const GROUP_MAC_BYTES = 32
export const ENTRY_GROUP_MAGIC = Buffer.from('HBG1')
const HEAD_BYTES = 24
const CHECKSUM_BYTES = 16
const CHANGED_ROWS = 1
/** The purpose that the key is derived for. */
const TAIL_KEY_PURPOSE = 'hearthbus ledger tail v1'

/** Returns a key object that is created once: computing a MAC takes Node five times as long with the key as bytes. */
export function deriveTailMacKey(signer: { readonly deriveSecret: (purpose: string) => Uint8Array }): KeyObject {
  return createSecretKey(signer.deriveSecret(TAIL_KEY_PURPOSE))
}

export interface EncodedEntryGroup {
  readonly record: Buffer
  readonly mac: Uint8Array
  readonly bodies: readonly BodyRecordLocation[]
}

export interface EntryGroupToEncode {
  readonly first: number
  readonly changedRows: boolean
  readonly entries: readonly EntryToAppend[]
}

export function encodeEntryGroup(
  { first, changedRows, entries }: EntryGroupToEncode,
  key: KeyObject,
  previousMac: Uint8Array,
): EncodedEntryGroup {
  let covered = HEAD_BYTES
  let bodyBytes = 0
  for (const { bytes, body } of entries) {
    covered += 2 + bytes.length
    if (body !== undefined) bodyBytes += countBodyRecordBytes(body)
  }
  const record = Buffer.allocUnsafe(covered + CHECKSUM_BYTES + GROUP_MAC_BYTES + bodyBytes)
  record.set(ENTRY_GROUP_MAGIC, 0)
  record.writeUInt32BE(record.length, 4)
  record.writeBigUInt64BE(BigInt(first), 8)
  record.writeUInt32BE(entries.length, 16)
  record.writeUInt32BE(changedRows ? CHANGED_ROWS : 0, 20)
  let at = HEAD_BYTES
  let bodyStart = covered + CHECKSUM_BYTES + GROUP_MAC_BYTES
  const bodies: BodyRecordLocation[] = []
  for (const [index, { bytes, body }] of entries.entries()) {
    record.writeUInt16BE(bytes.length, at)
    record.set(bytes, at + 2)
    at += 2 + bytes.length
    if (body === undefined) continue
    bodies.push({
      index,
      offset: writeBodyRecordToBuffer(record, bodyStart, { index, ...body }),
      length: body.body.length,
    })
    bodyStart += countBodyRecordBytes(body)
  }
  const bytes = record.subarray(0, covered)
  record.set(checksum(bytes), covered)
  const mac = groupMac(key, previousMac, bytes)
  record.set(mac, covered + CHECKSUM_BYTES)
  return { record, mac, bodies }
}

export interface EntryGroupDecodeContext {
  readonly at: number
  readonly first: number
  readonly previousMac: Uint8Array
  /** The MAC key. Without it MACs are not checked: a verifier of a copy does not have it. */
  readonly key: KeyObject | undefined
}

export function decodeEntryGroup(
  bytes: Buffer,
  { at, first, previousMac, key }: EntryGroupDecodeContext,
): Result<EntryGroup, EntryGroupFault> {
  const end = at + (at + HEAD_BYTES <= bytes.length ? bytes.readUInt32BE(at + 4) : Infinity)
  if (end > bytes.length || !areBytesEqual(bytes.subarray(at, at + 4), ENTRY_GROUP_MAGIC)) return fail({ kind: 'torn' })
  const split = splitEntries(bytes, at, end)
  if (split === undefined) return fail({ kind: 'torn' })
  const { entries, covered } = split
  const content = bytes.subarray(at, covered)
  if (!areBytesEqual(bytes.subarray(covered, covered + CHECKSUM_BYTES), checksum(content)))
    return fail({ kind: 'torn' })
  const mac = bytes.subarray(covered + CHECKSUM_BYTES, covered + CHECKSUM_BYTES + GROUP_MAC_BYTES)
  const isOurs = key === undefined || areBytesEqual(mac, groupMac(key, previousMac, content))
  if (!isOurs || bytes.readBigUInt64BE(at + 8) !== BigInt(first)) return fail({ kind: 'forged' })
  const bodies = locateBodyRecords(bytes, covered + CHECKSUM_BYTES + GROUP_MAC_BYTES, end)
  if (bodies === undefined) return fail({ kind: 'torn' })
  return ok({ first, changedRows: bytes.readUInt32BE(at + 20) === CHANGED_ROWS, entries, bodies, mac, end })
}

/** Whether a completely written group begins at this position, whoever wrote it. */
export function hasCompleteGroupAt(bytes: Buffer, at: number): boolean {
  if (at + HEAD_BYTES > bytes.length) return false
  const first = Number(bytes.readBigUInt64BE(at + 8))
  return decodeEntryGroup(bytes, { at, first, previousMac: new Uint8Array(0), key: undefined }).ok
}

/** Whether each body is the one that its entry commits to; if so, the end of the record was written as well. */
export function areGroupBodiesCommitted(bytes: Buffer, { entries, bodies }: EntryGroup): boolean {
  return bodies.every((record) => {
    const [entry, body] = [entries[record.index], sliceSaltedBody(bytes, record)]
    return entry !== undefined && body !== undefined && matchesBodyCommitment(entry, body)
  })
}

function splitEntries(
  bytes: Buffer,
  at: number,
  end: number,
): { readonly entries: Uint8Array[]; readonly covered: number } | undefined {
  const count = bytes.readUInt32BE(at + 16)
  const last = end - CHECKSUM_BYTES - GROUP_MAC_BYTES
  const entries: Uint8Array[] = []
  let covered = at + HEAD_BYTES
  while (entries.length < count) {
    if (covered + 2 > last) return undefined
    const next = covered + 2 + bytes.readUInt16BE(covered)
    if (next > last) return undefined
    entries.push(bytes.subarray(covered + 2, next))
    covered = next
  }
  return covered > last ? undefined : { entries, covered }
}

function checksum(content: Uint8Array): Uint8Array {
  return hash('sha256', content, 'buffer').subarray(0, CHECKSUM_BYTES)
}

function groupMac(key: KeyObject, previousMac: Uint8Array, content: Uint8Array): Uint8Array {
  return new Uint8Array(createHmac('sha256', key).update(previousMac).update(content).digest())
}

// Body: content that may have to be erased. It is stored beside the log; the entry carries only a salted commitment, so
// that erasing it (with its salt, because short bodies could be guessed) leaves every proof valid.
//
//   body_hash = hex SHA-256(salt ‖ canonical JSON)

export const BODY_SALT_BYTES = 32
/** Twice the default limit of a request. This is only a safeguard, since the faces have limits of their own. */
const MAX_BODY_BYTES = 8_388_608

/** The kind of the entry that records the erasure of a body: `{kind, entry: seq}`. */
export const BODY_ERASED_KIND = 'body.erased'

/** Throws when the body is larger than the limit. */
function encodeBody(body: Json): Uint8Array {
  const bytes = Buffer.from(canonicalJson(body), 'utf8')
  if (bytes.length > MAX_BODY_BYTES) throw new RangeError(`body of ${bytes.length} bytes, ${MAX_BODY_BYTES} allowed`)
  return bytes
}

/** Decodes a body; `undefined` for bytes that this codec did not write. */
export function decodeEntryBody(bytes: Uint8Array): Json | undefined {
  const text = fromUtf8(bytes)
  if (text === undefined) return undefined
  try {
    const body = JSON.parse(text) as Json
    return isCanonicalJsonText(text, body) ? body : undefined
  } catch {
    return undefined
  }
}

interface Commitment {
  readonly salt: Uint8Array
  readonly bytes: Uint8Array
  readonly hash: string
}

/**
 * The salted bytes that are stored beside an entry, and the hash in the entry. The salt is random and never used twice.
 */
export function createBodyCommitment(body: Json, salt: Uint8Array): Commitment {
  const bytes = encodeBody(body)
  return { salt, bytes, hash: computeCommitmentHash(salt, bytes) }
}

export function computeCommitmentHash(salt: Uint8Array, bytes: Uint8Array): string {
  return hash('sha256', Buffer.concat([salt, bytes]))
}

/** Whether the bytes of an entry commit to this body. */
export function matchesBodyCommitment(
  entry: Uint8Array,
  stored: { readonly salt: Uint8Array; readonly body: Uint8Array },
): boolean {
  const value = parseJsonOrUndefined(fromUtf8(entry))
  return isJsonObject(value) && value['body_hash'] === computeCommitmentHash(stored.salt, stored.body)
}

// Body records: bodies one after another, as a group and a file of bodies hold them.
//
//   index (32 bit) ‖ length (32 bit) ‖ salt (32 bytes) ‖ canonical JSON (length bytes)
//
// The index counts from the first entry of the group or bundle. An erased body keeps its place, with zeros for salt and
// content, so that nothing behind it moves.

export interface SaltedBody {
  readonly salt: Uint8Array
  readonly body: Uint8Array
}

export interface BodyRecordLocation {
  readonly index: number
  /** The offset of the salt from the start of the bytes that were read. */
  readonly offset: number
  /** The length of the content. */
  readonly length: number
}

const BODY_HEAD_BYTES = 8

export function countBodyRecordBytes({ body }: SaltedBody): number {
  return BODY_HEAD_BYTES + BODY_SALT_BYTES + body.length
}

/** Returns the offset of the salt. */
export function writeBodyRecordToBuffer(
  target: Buffer,
  at: number,
  { index, salt, body }: SaltedBody & { index: number },
): number {
  target.writeUInt32BE(index, at)
  target.writeUInt32BE(body.length, at + 4)
  target.set(salt, at + BODY_HEAD_BYTES)
  target.set(body, at + BODY_HEAD_BYTES + BODY_SALT_BYTES)
  return at + BODY_HEAD_BYTES
}

export function encodeBodyRecords(bodies: readonly (SaltedBody & { readonly index: number })[]): Buffer {
  const content = Buffer.alloc(bodies.reduce((bytes, body) => bytes + countBodyRecordBytes(body), 0))
  let at = 0
  for (const body of bodies) {
    writeBodyRecordToBuffer(content, at, body)
    at += countBodyRecordBytes(body)
  }
  return content
}

/** Reads body records; `undefined` when the bytes end in the middle of one. */
export function locateBodyRecords(bytes: Buffer, from: number, to: number): readonly BodyRecordLocation[] | undefined {
  const records: BodyRecordLocation[] = []
  for (let at = from; at < to;) {
    if (at + BODY_HEAD_BYTES + BODY_SALT_BYTES > to) return undefined
    const [index, length] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
    const offset = at + BODY_HEAD_BYTES
    at = offset + BODY_SALT_BYTES + length
    if (at > to) return undefined
    records.push({ index, offset, length })
  }
  return records
}

/** Returns the body of a record; `undefined` for one that was erased. */
export function sliceSaltedBody(
  bytes: Uint8Array,
  { offset, length }: Pick<BodyRecordLocation, 'offset' | 'length'>,
): SaltedBody | undefined {
  const salt = bytes.subarray(offset, offset + BODY_SALT_BYTES)
  const body = bytes.subarray(offset + BODY_SALT_BYTES, offset + BODY_SALT_BYTES + length)
  return isZero(salt) && isZero(body) ? undefined : { salt, body }
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}
