/**
 * Named audit: a table that has one row for each name, held against the entry that determines the row.
 *
 *   entries ──read──▶ name, number of the entry ──▶ rows: edited, or told of by nobody ──▶ rows that were removed
 *
 * Of a row it remembers that number: what the entry says is read again when the row is compared.
 *
 * Pure: it reads through what it is given.
 */
import type { CopyAudit, CopyName, CopyNews, KeptLeaves } from '../ledger/copies.ts'
import { decodeEntry } from '../ledger/entry.ts'
import type { LedgerEntry } from '../ledger/entry.ts'

export interface NamedTable<Row> {
  readonly what: CopyName['what']
  readonly nameOf: (row: Row) => string
  /** All rows, in the order of their names. */
  readonly after: (name: string | undefined, limit: number) => readonly Row[]
  readonly has: (name: string) => boolean
  /** Whose row an entry is about. */
  readonly subject: (entry: LedgerEntry) => string | undefined
  /** The number of the entry that determines the row from then on; `undefined` when there is no row any more. */
  readonly tell: (before: number | undefined, entry: LedgerEntry) => number | undefined
  /** The fields that are not as the entry determines them. */
  readonly wrong: (row: Row, entry: LedgerEntry) => readonly string[]
}

export interface NamedAuditParts {
  readonly leaves: Pick<KeptLeaves, 'entry'>
  readonly news: Pick<CopyNews, 'found'>
}

/** Rows per call: a few milliseconds. */
const PIECE = 200

export function createNamedAudit<Row>(table: NamedTable<Row>, { leaves, news }: NamedAuditParts): CopyAudit {
  const { what } = table
  const told = new Map<string, number>()
  let lastSeen: string | undefined

  const compareRow = (row: Row): void => {
    const id = table.nameOf(row)
    const seq = told.get(id)
    if (seq === undefined) return news.found({ kind: 'copy-unfounded', what, id })
    const leaf = leaves.entry(seq)
    const entry = leaf && decodeEntry(leaf.bytes)
    // What was an entry a moment ago and is none any more is for the ledger's own audit to name.
    const fields = entry?.ok === true ? table.wrong(row, entry.value) : []
    if (fields.length > 0) news.found({ kind: 'copy-differs', what, id, seq, fields })
  }

  return {
    read: (entry) => {
      const id = table.subject(entry)
      if (id === undefined) return
      const seq = table.tell(told.get(id), entry)
      if (seq === undefined) told.delete(id)
      else told.set(id, seq)
    },
    compare: () => {
      const rows = table.after(lastSeen, PIECE)
      for (const row of rows) {
        compareRow(row)
        lastSeen = table.nameOf(row)
      }
      if (rows.length === PIECE) return true
      for (const [id, seq] of told) if (!table.has(id)) news.found({ kind: 'copy-missing', what, id, seq })
      return false
    },
  }
}
