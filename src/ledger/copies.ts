/**
 * Copies: what a room keeps a second time of what it told the ledger, so that it can be looked up. The entries are
 * believed, the rows are not: whoever verifies the ledger holds the one against the other. Whoever erases words from
 * the ledger has them erased from the rows, too, by the room whose rows they are.
 *
 *   entries ──read, first to last──▶ audit ◀──compare, a few rows at a time── the room's tables
 *   the entry ──look, at what came later──▶ eraser ──blank, in the transaction that erases──▶ the room's tables
 *
 * Pure.
 */
import type { Json } from '../core/json.ts'
import { bodyHash, decodeBody } from './body.ts'
import type { SaltedBody } from './body-records.ts'
import { decodeEntry } from './entry.ts'
import type { LedgerEntry } from './entry.ts'

/** What a room offers for its own tables. */
export interface Copies {
  readonly audit?: (leaves: KeptLeaves, news: CopyNews) => CopyAudit
  /** `undefined` for an entry whose words this room has not kept. */
  readonly eraser?: (entry: LedgerEntry, leaves: KeptLeaves) => Eraser | undefined
}

/** The log, as an audit of copies looks things up in it. */
export interface KeptLeaves {
  readonly entries: (from: number, limit: number) => readonly { readonly seq: number; readonly bytes: Uint8Array }[]
  readonly entry: (seq: number) => { readonly bytes: Uint8Array } | undefined
  readonly body: (seq: number) => SaltedBody | undefined
}

/** Whether the entry commits to a body that is not there any more. */
export function bodyIsGone(leaves: Pick<KeptLeaves, 'entry' | 'body'>, seq: number): boolean {
  const entry = leaves.entry(seq)
  const decoded = entry && decodeEntry(entry.bytes)
  return decoded?.ok === true && decoded.value['body_hash'] !== undefined && leaves.body(seq) === undefined
}

/** Holds no words, and little for each row: a long ledger must not fill the memory. */
export interface CopyAudit {
  /** Every entry of the ledger, in order. */
  readonly read: (entry: LedgerEntry, bytes: Uint8Array) => void
  /**
   * Compares a few more rows; `false` when there are none left. Rows may change between two calls: the caller sees to
   * it that every entry there is has been read, in the view of the tables in which the rows are.
   */
  readonly compare: () => boolean
}

/** Blanks what rows have from the body of one entry. */
export interface Eraser {
  /**
   * Looks at a few more of the entries that came later, which may have replaced the words; `false` when it has seen all
   * there are.
   */
  readonly look?: () => boolean
  /** Why the words have to stay for now, in a sentence. */
  readonly refusal?: () => string | undefined
  /** Inside the transaction, when there is nothing left to look at. Names the rows in which there was something. */
  readonly blank: () => readonly CopyName[]
}

/** A row, by what a person would call it. */
export interface CopyName {
  readonly what:
    | 'task'
    | 'thought'
    | 'agent key'
    | 'skill'
    | 'session'
    | 'seal'
    | 'approval'
    | 'grant'
    | 'change'
    | 'token'
    | 'emergency'
  readonly id: string
}

export type CopyFinding = CopyName &
  (
    | { readonly kind: 'copy-differs'; readonly seq: number; readonly fields: readonly string[] }
    /** The ledger has it, the table lacks it. */
    | { readonly kind: 'copy-missing'; readonly seq: number }
    /** The table has it, the ledger does not. */
    | { readonly kind: 'copy-unfounded' }
    /** The table has it, and lacked it, or had another, when that entry was written. */
    | { readonly kind: 'copy-evaded'; readonly seq: number }
  )

/** Not wrong, and not right either: the words it would be compared with were erased. */
export type CopyDoubt = CopyName & {
  readonly kind: 'copy-uncompared'
  readonly seq: number
  readonly fields: readonly string[]
}

export interface CopyNews {
  readonly found: (finding: CopyFinding) => void
  readonly doubted: (doubt: CopyDoubt) => void
  /** The body of an entry that a row was to be compared with is gone, or is not the one that was committed to. */
  readonly unread: (seq: number, why: 'gone' | 'altered') => void
}

/** What a row has in the place of words that were erased. */
export const BLANK = '[erased]'

export type CommittedBody =
  | { readonly kind: 'kept'; readonly body: Json }
  /** The entry commits to none. */
  | { readonly kind: 'none' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'altered' }

/** The words of an entry, if they are those that it commits to. */
export function committedBody(entry: LedgerEntry, stored: SaltedBody | undefined): CommittedBody {
  if (entry['body_hash'] === undefined) return { kind: 'none' }
  if (stored === undefined) return { kind: 'gone' }
  const body = bodyHash(stored.salt, stored.body) === entry['body_hash'] ? decodeBody(stored.body) : undefined
  return body === undefined ? { kind: 'altered' } : { kind: 'kept', body }
}
