/**
 * Session audit: the tables of audit sessions and their roots held against what the ledger says of them.
 *
 *   session.start ──▶ row as it began, intent included
 *   session.final ──▶ root and closing
 *   no entry      ──▶ rows nobody told of
 *
 * Of a session it remembers the id. A start and a seal never change, so each is compared when its entry is read.
 *
 * Pure: it reads through what it is given.
 */
import { committedBody } from '../../ledger/copies.ts'
import type { CopyAudit, CopyNews, KeptLeaves } from '../../ledger/copies.ts'
import type { LedgerEntry } from '../../ledger/entry.ts'
import { sealFlaws, SESSION_FINAL, SESSION_START, startFlaws } from './session-leaf.ts'
import type { SessionStore } from './session-store.ts'

/** Whose session it is. */
export interface SessionOwners {
  readonly session_id: string
  readonly task_id: string | null
}

export interface AuditedSessions {
  readonly sessions: Pick<SessionStore, 'get' | 'root' | 'marks'>
  readonly leaves: Pick<KeptLeaves, 'body'>
  readonly news: CopyNews
  /** Only these are reported on; all, unless told. */
  readonly concerns?: (owners: SessionOwners) => boolean
}

/** Rows per call: a few milliseconds. */
const PIECE = 200

export function createSessionAudit(audited: AuditedSessions): CopyAudit {
  const { sessions, leaves, news, concerns = () => true } = audited
  const [started, sealed] = [new Set<string>(), new Set<string>()]
  // Whoever adds a row may number it as he likes.
  let lastSeen = Number.MIN_SAFE_INTEGER

  const readStart = (id: string, entry: LedgerEntry): void => {
    started.add(id)
    const { task_id: taskId } = entry
    if (!concerns({ session_id: id, task_id: typeof taskId === 'string' ? taskId : null })) return
    const row = sessions.get(id)
    const name = { what: 'session', id, seq: entry.seq } as const
    if (row === undefined) return news.found({ kind: 'copy-missing', ...name })
    const body = committedBody(entry, leaves.body(entry.seq))
    if (body.kind === 'gone' || body.kind === 'altered') news.unread(entry.seq, body.kind)
    const { wrong, doubted } = startFlaws(row, entry, body)
    if (wrong.length > 0) news.found({ kind: 'copy-differs', ...name, fields: wrong })
    if (doubted.length > 0) news.doubted({ kind: 'copy-uncompared', ...name, fields: doubted })
  }

  const readSeal = (id: string, entry: LedgerEntry, bytes: Uint8Array): void => {
    sealed.add(id)
    // A seal does not name the task; the session does.
    const row = sessions.get(id)
    if (!concerns({ session_id: id, task_id: row?.task_id ?? null })) return
    const root = sessions.root(id)
    const name = { what: 'seal', id, seq: entry.seq } as const
    if (root === undefined) return news.found({ kind: 'copy-missing', ...name })
    const wrong = new Set(sealFlaws(root, { entry, bytes }))
    if (row?.finalized_at !== entry.at) wrong.add('finalized_at')
    if (wrong.size > 0) news.found({ kind: 'copy-differs', ...name, fields: [...wrong] })
  }

  return {
    read: (entry, bytes) => {
      const { kind, session_id: id } = entry
      if (typeof id !== 'string') return
      if (kind === SESSION_START) readStart(id, entry)
      if (kind === SESSION_FINAL) readSeal(id, entry, bytes)
    },
    compare: () => {
      const rows = sessions.marks(lastSeen, PIECE)
      for (const { session_id: id, task_id, finalized_at, log_index: seq, has_root } of rows) {
        lastSeen = seq
        if (!concerns({ session_id: id, task_id })) continue
        if (!started.has(id)) news.found({ kind: 'copy-unfounded', what: 'session', id })
        if (sealed.has(id)) continue
        if (has_root === 1) news.found({ kind: 'copy-unfounded', what: 'seal', id })
        else if (finalized_at !== null)
          news.found({ kind: 'copy-differs', what: 'session', id, seq, fields: ['finalized_at'] })
      }
      return rows.length === PIECE
    },
  }
}
