/**
 * Body: content that may have to be erased. It is stored beside the log; the entry carries only a salted commitment,
 * so that erasing it (with its salt, without which guessing short bodies would be easy) leaves every proof valid.
 *
 *   body_hash = hex SHA-256(salt ‖ canonical JSON)
 *
 * Pure.
 */
import { concat, equalBytes, fromUtf8, hex, utf8 } from '../core/bytes.ts'
import { canonicalJson, isJsonObject, jsonIn } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { sha256 } from './tree.ts'

export const SALT_BYTES = 32
/** Twice what a request may be by default: a backstop, the faces have their own bounds. */
const MAX_BODY_BYTES = 8_388_608

/** The event that accounts for a body's absence: `{kind, entry: seq}`. */
export const BODY_ERASED = 'body.erased'

/** Throws when the caller gives more than a body may hold. */
function encodeBody(body: Json): Uint8Array {
  const bytes = utf8(canonicalJson(body))
  if (bytes.length > MAX_BODY_BYTES) throw new RangeError(`body of ${bytes.length} bytes, ${MAX_BODY_BYTES} allowed`)
  return bytes
}

/** `undefined` for bytes that this codec did not write. */
export function decodeBody(bytes: Uint8Array): Json | undefined {
  const text = fromUtf8(bytes)
  if (text === undefined) return undefined
  try {
    const body = JSON.parse(text) as Json
    return equalBytes(utf8(canonicalJson(body)), bytes) ? body : undefined
  } catch {
    return undefined
  }
}

interface Commitment {
  readonly salt: Uint8Array
  readonly bytes: Uint8Array
  readonly hash: string
}

/** What is stored beside an entry, and what the entry says of it. The salt is random and never used twice. */
export function commitTo(body: Json, salt: Uint8Array): Commitment {
  const bytes = encodeBody(body)
  return { salt, bytes, hash: bodyHash(salt, bytes) }
}

export function bodyHash(salt: Uint8Array, bytes: Uint8Array): string {
  return hex(sha256(concat(salt, bytes)))
}

/** Whether the bytes of an entry commit to this body. */
export function isCommittedBody(
  entry: Uint8Array,
  stored: { readonly salt: Uint8Array; readonly body: Uint8Array },
): boolean {
  const value = jsonIn(fromUtf8(entry))
  return isJsonObject(value) && value['body_hash'] === bodyHash(stored.salt, stored.body)
}

// Body records: bodies one after another, as a group and a file of bodies hold them.
//
//   index (32 bit) ‖ length (32 bit) ‖ salt (32 bytes) ‖ canonical JSON (length bytes)
//
// The index counts from the first entry of the group or bundle. An erased body keeps its place, with zeros for salt and
// content: nothing behind it moves.

export interface SaltedBody {
  readonly salt: Uint8Array
  readonly body: Uint8Array
}

export interface BodyRecord {
  readonly index: number
  /** Of the salt, counted from the start of the bytes that were read. */
  readonly offset: number
  /** Of the content. */
  readonly length: number
}

const HEAD_BYTES = 8

export function bodyRecordBytes({ body }: SaltedBody): number {
  return HEAD_BYTES + SALT_BYTES + body.length
}

/** Answers the offset of the salt. */
export function writeBodyRecord(
  target: Buffer,
  at: number,
  { index, salt, body }: SaltedBody & { index: number },
): number {
  target.writeUInt32BE(index, at)
  target.writeUInt32BE(body.length, at + 4)
  target.set(salt, at + HEAD_BYTES)
  target.set(body, at + HEAD_BYTES + SALT_BYTES)
  return at + HEAD_BYTES
}

export function encodeBodyRecords(bodies: readonly (SaltedBody & { readonly index: number })[]): Buffer {
  const content = Buffer.alloc(bodies.reduce((bytes, body) => bytes + bodyRecordBytes(body), 0))
  let at = 0
  for (const body of bodies) {
    writeBodyRecord(content, at, body)
    at += bodyRecordBytes(body)
  }
  return content
}

/** `undefined` when the bytes end in the middle of a record. */
export function readBodyRecords(bytes: Buffer, from: number, to: number): readonly BodyRecord[] | undefined {
  const records: BodyRecord[] = []
  for (let at = from; at < to;) {
    if (at + HEAD_BYTES + SALT_BYTES > to) return undefined
    const [index, length] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
    const offset = at + HEAD_BYTES
    at = offset + SALT_BYTES + length
    if (at > to) return undefined
    records.push({ index, offset, length })
  }
  return records
}

/** `undefined` for one that was erased. */
export function bodyAt(
  bytes: Uint8Array,
  { offset, length }: Pick<BodyRecord, 'offset' | 'length'>,
): SaltedBody | undefined {
  const salt = bytes.subarray(offset, offset + SALT_BYTES)
  const body = bytes.subarray(offset + SALT_BYTES, offset + SALT_BYTES + length)
  return salt.every((byte) => byte === 0) ? undefined : { salt, body }
}
