/**
 * Row audit: a table of the guard held against what the ledger says of its rows. A row that lets something pass which
 * nobody let pass is what an intruder would write.
 *
 *   entries ──read──▶ one Told each ──▶ rows: edited, or told of by nobody ──▶ rows that were removed
 *
 * Of a row it remembers numbers of entries, never words: those are read again when the row is compared.
 *
 * Pure: it reads through what it is given.
 */
import { canonicalJson } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { committedBody } from '../ledger/copies.ts'
import type { CommittedBody, CopyAudit, CopyName, CopyNews, KeptLeaves } from '../ledger/copies.ts'
import { decodeEntry } from '../ledger/entry.ts'
import type { LedgerEntry } from '../ledger/entry.ts'

/** A row as the table has it: nothing about it is believed. */
export type Row = Readonly<Record<string, unknown>>

/** The rows that count, whoever wrote them. */
export interface Rows {
  /** With `row_at`, their order, and `row_id`. */
  readonly after: (rowAt: number, limit: number) => readonly Row[]
  readonly has: (id: string) => boolean
}

/** What the entries say of a row. */
export interface Told {
  /** The last of them. */
  readonly seq: number
  /** Until when the row has to be there: what is over is not kept for ever. */
  readonly keptUntilMs: number
}

export interface AuditedTable<Of extends Told> {
  readonly what: CopyName['what']
  /** The row that an entry is about. */
  readonly subject: (entry: LedgerEntry) => string | undefined
  /** `undefined` when there is no such row from then on. */
  readonly tell: (before: Of | undefined, entry: LedgerEntry) => Of | undefined
  readonly compare: (row: Row, told: Of, said: Said) => Flaws
}

/** The entries and their words, as they are at the moment of comparing. */
export interface Said {
  /** `undefined` for what is no entry any more: the ledger's own audit names it. */
  readonly entry: (seq: number) => LedgerEntry | undefined
  readonly words: (entry: LedgerEntry) => CommittedBody
}

export interface Flaws {
  readonly wrong: readonly string[]
  /** What cannot be compared, because the words of that entry were erased. */
  readonly doubted?: readonly { readonly seq: number; readonly field: string }[]
}

export interface RowAuditParts {
  readonly rows: Rows
  readonly leaves: KeptLeaves
  readonly news: CopyNews
  readonly now: () => number
}

/** Rows per call: a few milliseconds. */
const PIECE = 200

export function createRowAudit<Of extends Told>(table: AuditedTable<Of>, parts: RowAuditParts): CopyAudit {
  const { what } = table
  const { rows, leaves, news, now } = parts
  const told = new Map<string, Of>()
  // Whoever adds a row may number it as he likes.
  let lastSeen = Number.MIN_SAFE_INTEGER

  const said: Said = {
    entry: (seq) => {
      const leaf = leaves.entry(seq)
      const entry = leaf && decodeEntry(leaf.bytes)
      return entry?.ok === true ? entry.value : undefined
    },
    words: (entry) => {
      const body = committedBody(entry, leaves.body(entry.seq))
      if (body.kind === 'gone' || body.kind === 'altered') news.unread(entry.seq, body.kind)
      return body
    },
  }

  const compareRow = (row: Row): void => {
    const id = String(row['row_id'])
    const known = told.get(id)
    if (known === undefined) return news.found({ kind: 'copy-unfounded', what, id })
    const { wrong, doubted = [] } = table.compare(row, known, said)
    if (wrong.length > 0) news.found({ kind: 'copy-differs', what, id, seq: known.seq, fields: wrong })
    for (const { seq, field } of doubted) news.doubted({ kind: 'copy-uncompared', what, id, seq, fields: [field] })
  }

  const findRemoved = (): void => {
    const nowMs = now()
    for (const [id, { seq, keptUntilMs }] of told)
      if (keptUntilMs > nowMs && !rows.has(id)) news.found({ kind: 'copy-missing', what, id, seq })
  }

  return {
    read: (entry) => {
      const id = table.subject(entry)
      if (id === undefined) return
      const next = table.tell(told.get(id), entry)
      if (next === undefined) told.delete(id)
      else told.set(id, next)
    },
    compare: () => {
      const piece = rows.after(lastSeen, PIECE)
      for (const row of piece) compareRow(row)
      lastSeen = Number(piece.at(-1)?.['row_at'] ?? lastSeen)
      if (piece.length === PIECE) return true
      findRemoved()
      return false
    },
  }
}

/** The names of those that are not right. */
export function wrongOf(right: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.keys(right).filter((field) => right[field] === false)
}

/** What an entry does not say, because it is older than that field, contradicts nothing. */
export function agrees(said: Json | undefined, kept: Json | undefined): boolean {
  return said === undefined || isSame(said, kept)
}

/** `null` and what is not there are the same: a column has no other way to say so. */
export function isSame(said: Json | undefined, kept: Json | undefined): boolean {
  return canonicalJson(said ?? null) === canonicalJson(kept ?? null)
}

/** The JSON that a column holds; `undefined` for none, and for what nobody of ours wrote. */
export function parsed(column: unknown): Json | undefined {
  if (typeof column !== 'string') return undefined
  try {
    const value = JSON.parse(column) as Json
    // What has no canonical form could not be compared.
    canonicalJson(value)
    return value
  } catch {
    return undefined
  }
}

/** A time of an entry as a column has it. */
export function millis(time: Json | undefined): number | undefined {
  return typeof time === 'string' ? Date.parse(time) : undefined
}
