/**
 * Change audit: what the ledger says of a prepared change, and how its row has to look.
 *
 *   change.prepared ─▶ whose change, of what, until when ─▶ change.committed · failed · unknown, once
 *         ▲──────────────── change.released ◀── taken, and not tried
 *
 * Pure.
 */
import { isJsonObject } from '../core/json.ts'
import { BLANK } from '../ledger/copies.ts'
import { wrongOf } from '../ledger/row-audit.ts'
import type { AuditedTable } from '../ledger/row-audit.ts'
import type { ChangeState } from './change.ts'
import { millis } from './row-audit.ts'
import type { ToldForAWhile } from './row-audit.ts'

interface ToldChange extends ToldForAWhile {
  readonly state: ChangeState
  /** The entry that prepared it. */
  readonly prepared: number
}

const STATES: Readonly<Record<string, ChangeState>> = {
  'change.prepared': 'prepared',
  'change.released': 'prepared',
  'change.committed': 'committed',
  'change.failed': 'failed',
  'change.unknown': 'unknown',
}

export const auditedChanges: AuditedTable<ToldChange> = {
  what: 'change',
  subject: ({ kind, change: id }) => (Object.hasOwn(STATES, kind) && typeof id === 'string' ? id : undefined),
  tell: (before, { seq, kind }) => {
    const state = STATES[kind] ?? 'prepared'
    // A row may be missing: the oldest make room, all lapse, and without a row nothing can be committed.
    if (kind === 'change.prepared') return { seq, state, prepared: seq, keptUntilMs: -Infinity }
    return before && { ...before, seq, state }
  },
  compare: (row, { state, seq, prepared }, said) => {
    const made = said.entry(prepared)
    if (made === undefined) return { wrong: [] }
    const words = said.words(made)
    return {
      wrong: wrongOf({
        // Taking one has no entry: it ends, is released, or is found at the next start.
        state: row['state'] === state || (row['state'] === 'committing' && state === 'prepared'),
        principal: row['principal'] === made['principal'],
        tool: row['tool'] === made['tool'],
        summary: words.kind !== 'kept' || (isJsonObject(words.body) && row['summary'] === words.body['summary']),
        expires_at: row['expires_at'] === millis(made['expires_at']),
        prepared_seq: row['prepared_seq'] === prepared,
        finished_seq: row['finished_seq'] === (state === 'prepared' ? null : seq),
      }),
      doubted: words.kind === 'gone' && row['summary'] !== BLANK ? [{ seq: prepared, field: 'summary' }] : [],
    }
  },
}
