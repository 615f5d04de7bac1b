/**
 * Row audit: a table of a room held against what the ledger says of its rows.
 *
 *   entries ──read──▶ one Told each ──▶ rows: edited, or told of by nobody ──▶ rows that were removed
 *
 * Of a row it remembers numbers of entries, never words: those are read again when the row is compared.
 *
 * Pure: it reads through what it is given.
 */
import { committedBody } from './copies.ts'
import type { CommittedBody, CopyAudit, CopyName, CopyNews, KeptLeaves } from './copies.ts'
import { decodeEntry } from './entry.ts'
import type { LedgerEntry } from './entry.ts'

/** A row as the table has it: nothing about it is believed. */
export type Columns = Readonly<Record<string, unknown>>

/** The rows that count, whoever wrote them. */
export interface Rows<Row> {
  readonly idOf: (row: Row) => string
  /** In an order of their own, those that come after `last`; all of them, if there is none. */
  readonly after: (last: Row | undefined, limit: number) => readonly Row[]
  readonly has: (id: string) => boolean
}

/** What the entries say of a row. */
export interface Told {
  /** The last of them, or the one that determines the row. */
  readonly seq: number
}

export interface AuditedTable<Of extends Told, Row = Columns> {
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

export interface RowAuditParts<Of extends Told, Row> {
  readonly rows: Rows<Row>
  readonly leaves: KeptLeaves
  readonly news: CopyNews
  /** Whether there still has to be a row; always, if absent. */
  readonly isDue?: (told: Of) => boolean
}

/** Rows per call: a few milliseconds. */
const PIECE = 200

export function createRowAudit<Of extends Told, Row>(
  table: AuditedTable<Of, Row>,
  parts: RowAuditParts<Of, Row>,
): CopyAudit {
  const { what } = table
  const { rows, leaves, news, isDue = () => true } = parts
  const told = new Map<string, Of>()
  let lastSeen: Row | undefined

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
    const id = rows.idOf(row)
    const known = told.get(id)
    if (known === undefined) return news.found({ kind: 'copy-unfounded', what, id })
    const { wrong, doubted = [] } = table.compare(row, known, said)
    if (wrong.length > 0) news.found({ kind: 'copy-differs', what, id, seq: known.seq, fields: wrong })
    for (const { seq, field } of doubted) news.doubted({ kind: 'copy-uncompared', what, id, seq, fields: [field] })
  }

  const findRemoved = (): void => {
    for (const [id, known] of told)
      if (isDue(known) && !rows.has(id)) news.found({ kind: 'copy-missing', what, id, seq: known.seq })
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
      lastSeen = piece.at(-1) ?? lastSeen
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
