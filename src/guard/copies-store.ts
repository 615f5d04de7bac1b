/**
 * Copies: the guard's tables that repeat what it told the ledger: which of them a verification compares, and how words
 * are erased in them. An open question or a stop in force must be settled first: nobody should decide about something
 * that they cannot read.
 *
 *   approval.requested ─▶ guard_approval.shown     approval.denied ─▶ guard_approval.reason
 *   change.prepared ─▶ guard_change.summary        stop.engaged ─▶ guard_stop.reason
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import { isJsonObject } from '../core/json.ts'
import { decodeBody } from '../ledger/body.ts'
import { BLANK } from '../ledger/copies.ts'
import type { Copies, Eraser, KeptLeaves } from '../ledger/copies.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import { createRowAudit } from '../ledger/row-audit.ts'
import type { AuditedTable, Columns, Rows } from '../ledger/row-audit.ts'
import type { ShownCall } from './approval.ts'
import { auditedApprovals } from './approval-audit.ts'
import { auditedChanges } from './change-audit.ts'
import { auditedGrants, auditedStop, auditedTokens } from './rights-audit.ts'
import type { ToldForAWhile } from './row-audit.ts'

/** What the ledger calls a change. */
const CHANGE_NAME = 'lower(hex(substr(hash, 1, 16)))'

export function guardCopies({ sql }: Pick<Database, 'sql'>, { now }: Pick<Clock, 'now'>): readonly Copies[] {
  const isDue = ({ keptUntilMs }: ToldForAWhile): boolean => keptUntilMs > now()
  const compared = <Of extends ToldForAWhile>(table: AuditedTable<Of>, from: string, id: string): Copies => ({
    audit: (leaves, news) => createRowAudit(table, { rows: rowsOf(sql, from, id), leaves, news, isDue }),
  })
  return [
    compared(auditedApprovals, 'guard_approval', 'id'),
    compared(auditedGrants, 'guard_grant', 'id'),
    compared(auditedChanges, 'guard_change', CHANGE_NAME),
    compared(auditedTokens, 'guard_token WHERE revoked_at IS NULL', 'name'),
    compared(auditedStop, 'guard_stop', `'stop'`),
    {
      eraser: (entry, leaves) => {
        const { kind, approval: id } = entry
        if (kind === 'approval.requested' && typeof id === 'string') return questionEraser(sql, id, now)
        if (kind === 'approval.denied' && typeof id === 'string') return reasonEraser(sql, id)
        if (kind === 'change.prepared') return changeEraser(sql, entry, now)
        return kind === 'stop.engaged' ? stopEraser(sql, entry, leaves) : undefined
      },
    },
  ]
}

/** Prepared when they are needed: a table that is missing then was dropped. */
function rowsOf(sql: DatabaseSync, from: string, id: string): Rows<Columns> {
  const rows = `SELECT * FROM (SELECT rowid AS row_at, ${id} AS row_id, * FROM ${from})`
  return {
    idOf: ({ row_id: name }) => String(name),
    after: (last, limit) => {
      // A row that an intruder added may have any number, a negative one included.
      const rowAt = Number(last?.['row_at'] ?? Number.MIN_SAFE_INTEGER)
      return sql.prepare(`${rows} WHERE row_at > ? ORDER BY row_at LIMIT ?`).all(rowAt, limit)
    },
    has: (name) => sql.prepare(`${rows} WHERE row_id = ? LIMIT 1`).get(name) !== undefined,
  }
}

function questionEraser(sql: DatabaseSync, id: string, now: () => number): Eraser {
  const row = (): Readonly<Record<string, unknown>> | undefined =>
    sql.prepare('SELECT state, expires_at, shown FROM guard_approval WHERE id = ?').get(id)
  return {
    refusal: () => {
      const found = row()
      return found?.['state'] === 'requested' && Number(found['expires_at']) > now()
        ? `Approval ${id} still waits for an answer and shows these words; answer it first (hearthbus approvals).`
        : undefined
    },
    blank: () => {
      // Closed questions are not kept for ever.
      const found = row()
      if (found === undefined) return []
      const { preview: _, ...shown } = JSON.parse(String(found['shown'])) as ShownCall
      const blanked: ShownCall = { ...shown, arguments: {}, label: BLANK }
      // Hashes of single arguments could be guessed. Without them a no holds for the exact call only.
      sql.prepare('UPDATE guard_approval SET shown = ?, leaves = NULL WHERE id = ?').run(JSON.stringify(blanked), id)
      return [{ what: 'approval', id }]
    },
  }
}

function reasonEraser(sql: DatabaseSync, id: string): Eraser {
  return {
    blank: () => {
      const { changes } = sql.prepare('UPDATE guard_approval SET reason = ? WHERE id = ?').run(BLANK, id)
      return Number(changes) === 1 ? [{ what: 'approval', id }] : []
    },
  }
}

function changeEraser(sql: DatabaseSync, { seq, change }: LedgerEntry, now: () => number): Eraser {
  const id = typeof change === 'string' ? change : String(seq)
  return {
    refusal: () => {
      const waiting = sql
        .prepare(`SELECT 1 FROM guard_change WHERE prepared_seq = ? AND state = 'prepared' AND expires_at > ?`)
        .get(seq, now())
      return waiting === undefined
        ? undefined
        : `The change ${id} is prepared and not yet decided on; it lapses by itself, or is committed. Try again then.`
    },
    blank: () => {
      const { changes } = sql.prepare('UPDATE guard_change SET summary = ? WHERE prepared_seq = ?').run(BLANK, seq)
      return Number(changes) === 1 ? [{ what: 'change', id }] : []
    },
  }
}

/** The row has no number of its entry; it goes when the stop is released. */
function stopEraser(sql: DatabaseSync, { seq }: LedgerEntry, leaves: Pick<KeptLeaves, 'body'>): Eraser {
  return {
    refusal: () => {
      const stored = leaves.body(seq)
      const body = stored && decodeBody(stored.body)
      const shown = sql.prepare('SELECT reason FROM guard_stop').get()?.['reason']
      return shown !== undefined && isJsonObject(body) && body['reason'] === shown
        ? 'The stop is still engaged and shows these words; release it first (hearthbus resume).'
        : undefined
    },
    blank: () => [],
  }
}
