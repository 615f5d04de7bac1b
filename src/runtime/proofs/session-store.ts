/**
 * Session store: audit sessions and the roots they were sealed with, in the database.
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'

export interface Session {
  readonly session_id: string
  readonly intent: string
  readonly task_id: string | null
  readonly started_at: string
  readonly principal: string
  /** Ledger entry of its start: no record of the session comes before it. */
  readonly log_index: number
  readonly finalized_at: string | null
}

export interface SessionRoot {
  readonly session_id: string
  readonly root: string
  readonly record_count: number
  readonly first_index: number
  readonly last_index: number
  readonly finalized_at: string
  /** Ledger entry that seals it. */
  readonly log_index: number
  readonly leaf_hash: string
}

export interface SessionStore {
  readonly get: (sessionId: string) => Session | undefined
  /** Open sessions that were started for the task, oldest first; at most `limit`. */
  readonly openFor: (taskId: string, limit: number) => readonly string[]
  readonly insert: (session: Session) => void
  readonly finalize: (root: SessionRoot) => void
  readonly root: (sessionId: string) => SessionRoot | undefined
}

export function createSessionStore(sql: DatabaseSync): SessionStore {
  const get = sql.prepare('SELECT * FROM audit_sessions WHERE session_id = ?')
  const openFor = sql.prepare(
    'SELECT session_id FROM audit_sessions WHERE task_id = ? AND finalized_at IS NULL ORDER BY log_index LIMIT ?',
  )
  const insert = sql.prepare(`
    INSERT INTO audit_sessions
    VALUES (:session_id, :intent, :task_id, :started_at, :principal, :log_index, :finalized_at)`)
  const close = sql.prepare('UPDATE audit_sessions SET finalized_at = ? WHERE session_id = ?')
  const insertRoot = sql.prepare(`
    INSERT INTO merkle_roots VALUES (:session_id, :root, :record_count, :first_index, :last_index, :finalized_at,
      :log_index, :leaf_hash)`)
  const root = sql.prepare('SELECT * FROM merkle_roots WHERE session_id = ?')
  return {
    get: (sessionId) => get.get(sessionId) as Session | undefined,
    openFor: (taskId, limit) => openFor.all(taskId, limit).map((row) => String(row['session_id'])),
    insert: (session) => void insert.run({ ...session }),
    finalize: (sealed) => {
      close.run(sealed.finalized_at, sealed.session_id)
      insertRoot.run({ ...sealed })
    },
    root: (sessionId) => root.get(sessionId) as SessionRoot | undefined,
  }
}
