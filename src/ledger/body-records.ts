/**
 * Body records: bodies one after another, as a group and a file of bodies hold them.
 *
 *   index (32 bit) ‖ length (32 bit) ‖ salt (32 bytes) ‖ canonical JSON (length bytes)
 *
 * The index counts from the first entry of the group or bundle. An erased body keeps its place, with zeros for salt and
 * content: nothing behind it moves.
 *
 * Pure.
 */
import { SALT_BYTES } from './body.ts'

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
