/**
 * Thought leaf: what the ledger says of a thought, and whether a stored record says the same.
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
import type { ThoughtRow } from './thought-store.ts'

export const THOUGHT_KIND = 'thought'

/** The first thing found wrong with a record; the walk looks no further into it. */
export type ThoughtRecordFlaw =
  /** The record was deleted: the ledger has it. */
  | 'missing'
  /** The ledger does not have the record, or says something else about it. */
  | 'ledger'
  /** The content is not what was committed to. */
  | 'content'
  /** The hash is not that of the fields. */
  | 'hash'
  /** It does not continue the record before it. */
  | 'link'
  /** It was moved to another place in the table. */
  | 'order'
  | 'signature'

/** Everything that is known of a record when it is written, but for the ledger's own answer. */
export type NewThought = Omit<ThoughtRow, 'seq' | 'log_index' | 'leaf_hash'>

/**
 * Each column that a record has is a field of its event: a column that could be edited unnoticed would be worthless.
 */
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

export interface StoredThoughtLeaf {
  readonly bytes: Uint8Array
  readonly entry: LedgerEntry
}

/** `undefined` for bytes that are no entry, and for entries of other kinds. */
export function decodeThoughtLeaf(bytes: Uint8Array): StoredThoughtLeaf | undefined {
  const entry = decodeEntry(bytes)
  return entry.ok && entry.value.kind === THOUGHT_KIND ? { bytes, entry: entry.value } : undefined
}

/** Columns of a record that its entry says otherwise. */
export function listDifferingThoughtColumns(
  record: ThoughtRow,
  { bytes, entry }: StoredThoughtLeaf,
): readonly string[] {
  return [
    // Canonical JSON has no `undefined`: an absent field is a null column.
    ...THOUGHT_FIELDS.filter((field) => (entry[field] ?? null) !== record[field]),
    ...(entry.seq === record.log_index ? [] : ['log_index']),
    ...(toHex(computeLeafHash(bytes)) === record.leaf_hash ? [] : ['leaf_hash']),
  ]
}

export interface StoredThoughtBody {
  readonly salt: Uint8Array
  readonly body: Uint8Array
}

/** The words of a thought, or `undefined` when the body is not the one that the entry commits to. */
export function readCommittedContent(entry: LedgerEntry, { salt, body }: StoredThoughtBody): string | undefined {
  return computeCommitmentHash(salt, body) === entry['body_hash']
    ? readThoughtContent(decodeEntryBody(body))
    : undefined
}

export function readThoughtContent(body: unknown): string | undefined {
  return isJsonObject(body) && typeof body['content'] === 'string' ? body['content'] : undefined
}

/** What is wrong with a record's hash or signature, given the words that they cover. */
export function findThoughtContentFlaw(record: ThoughtRow, content: string): ThoughtRecordFlaw | undefined {
  if (computeThoughtHash({ ...record, content }) !== record.hash) return 'hash'
  const { public_key, signature } = record
  // Half a signature is none: somebody removed the other half.
  if (public_key === null || signature === null) return public_key === signature ? undefined : 'signature'
  return isThoughtSignedBy({ ...record, content }, { public_key, value: signature }) ? undefined : 'signature'
}
