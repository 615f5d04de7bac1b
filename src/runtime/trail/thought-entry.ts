/**
 * Thought entry: a thought's entry in the ledger, compared with its stored record.
 *
 *   thought_records row  ◀── every field ──▶  entry bytes in the ledger ──▶ leaf hash
 *   content (erasable)   ◀── commitment ───▶  body_hash of the entry
 */
import { toHex } from '../../core/bytes.ts'
import { isJsonObject } from '../../core/json.ts'
import { computeCommitmentHash, decodeEntryBody } from '../../ledger/entry-group.ts'
import { decodeEntry } from '../../ledger/entry.ts'
import type { LedgerEntry, LedgerEvent } from '../../ledger/entry.ts'
import { computeLeafHash } from '../../ledger/tree.ts'
import { isThoughtSignedBy, computeThoughtHash } from './thought.ts'
import type { ThoughtRow } from './thought-reader-store.ts'

export const THOUGHT_KIND = 'thought'

/** The first defect found in a record; further ones of it are not searched for. */
export type ThoughtRecordFlaw =
  /** The record was deleted, but the ledger has it. */
  | 'missing'
  /** The ledger lacks the record, or contradicts it. */
  | 'ledger'
  /** The content is not the one that the entry commits to. */
  | 'content'
  /** The hash does not match the fields. */
  | 'hash'
  /** It does not continue the record before it. */
  | 'link'
  /** It was moved to another place in the table. */
  | 'order'
  | 'signature'

/** Everything that is known of a record when it is written, except what the ledger returns. */
export type NewThought = Omit<ThoughtRow, 'seq' | 'log_index' | 'leaf_hash'>

/** Each column of a record is also a field of its event; a column that could be edited unnoticed would be worthless. */
export function createThoughtEvent(thought: NewThought, traceId: string): LedgerEvent {
  return {
    kind: THOUGHT_KIND,
    ...Object.fromEntries(THOUGHT_FIELDS.map((field) => [field, thought[field] ?? undefined])),
    trace_id: traceId,
  }
}

/** Every column but the three that place it (`seq`, `log_index`, `leaf_hash`), which are compared on their own. */
export const THOUGHT_FIELDS = [
  'id',
  'type',
  'task_id',
  'agent_id',
  'session_id',
  'timestamp',
  'prev_hash',
  'hash',
  'principal',
  'client',
  'public_key',
  'signature',
] as const satisfies readonly (keyof NewThought)[]

export interface StoredThoughtEntry {
  readonly bytes: Uint8Array
  readonly entry: LedgerEntry
}

/** `undefined` for bytes that are no entry, and for entries of other kinds. */
export function decodeThoughtEntry(bytes: Uint8Array): StoredThoughtEntry | undefined {
  const entry = decodeEntry(bytes)
  return entry.ok && entry.value.kind === THOUGHT_KIND ? { bytes, entry: entry.value } : undefined
}

/** Columns of a record that differ from its entry. */
export function listDifferingThoughtColumns(
  record: ThoughtRow,
  { bytes, entry }: StoredThoughtEntry,
): readonly string[] {
  return [
    // Canonical JSON has no `undefined`, so an absent field corresponds to a null column.
    ...THOUGHT_FIELDS.filter((field) => (entry[field] ?? null) !== record[field]),
    ...(entry.seq === record.log_index ? [] : ['log_index']),
    ...(toHex(computeLeafHash(bytes)) === record.leaf_hash ? [] : ['leaf_hash']),
  ]
}

export interface StoredThoughtBody {
  readonly salt: Uint8Array
  readonly body: Uint8Array
}

/** The text of a thought, or `undefined` when the body is not the one that the entry commits to. */
export function readCommittedThoughtContent(entry: LedgerEntry, { salt, body }: StoredThoughtBody): string | undefined {
  return computeCommitmentHash(salt, body) === entry['body_hash']
    ? readThoughtContent(decodeEntryBody(body))
    : undefined
}

export function readThoughtContent(body: unknown): string | undefined {
  return isJsonObject(body) && typeof body['content'] === 'string' ? body['content'] : undefined
}

/** The defect in a record's hash or signature, given the text that they cover. */
export function findThoughtContentFlaw(record: ThoughtRow, content: string): ThoughtRecordFlaw | undefined {
  if (computeThoughtHash({ ...record, content }) !== record.hash) return 'hash'
  const { public_key, signature } = record
  // A key without a signature, or the reverse, means that somebody removed the other half.
  if (public_key === null || signature === null) return public_key === signature ? undefined : 'signature'
  return isThoughtSignedBy({ ...record, content }, { public_key, value: signature }) ? undefined : 'signature'
}
