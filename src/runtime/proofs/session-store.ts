/**
 * Session store: audit sessions and the roots they were sealed with, in the database.
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'
import { BLANK } from '../../ledger/copies.ts'
import { given, preparedOnce } from '../query-store.ts'

export interface Session {
  readonly session_id: string
  readonly intent: string
  readonly task_id: string | null
  /** The `at` of its ledger entry, to the character. */
  readonly started_at: string
  /** Whose credential began it. */
  readonly principal: string
  /** Ledger entry of its start: no record of the session comes before it. */
  readonly log_index: number
  readonly finalized_at: string | null
}

export interface SessionRoot {
  readonly session_id: string
  /** Hex, as session-tree.ts makes it. */
  readonly root: string
  readonly record_count: number
  /** Ledger entries of its first and last record; entries of others may lie between. */
  readonly first_index: number
  readonly last_index: number
  readonly finalized_at: string
  /** Ledger entry that seals it. */
  readonly log_index: number
  readonly leaf_hash: string
}

/** A session and how much it gathered. */
export interface ListedSession extends Session {
  readonly record_count: number
}

/** What an audit has to know of a row that the ledger may not know. */
export interface SessionMark extends Pick<Session, 'session_id' | 'task_id' | 'finalized_at' | 'log_index'> {
  readonly has_root: 0 | 1
}

export interface SessionStore {
  readonly get: (sessionId: string) => Session | undefined
  /** Open sessions that were started for the task, oldest first; at most `limit`. */
  readonly openFor: (taskId: string, limit: number) => readonly string[]
  readonly insert: (session: Session) => void
  /** Puts `[erased]` where the intent was; `false` when it was there already. */
  readonly blank: (sessionId: string) => boolean
  /** Closes the session and stores its root; both or neither, since callers are inside a transaction. */
  readonly finalize: (root: SessionRoot) => void
  readonly root: (sessionId: string) => SessionRoot | undefined
  /** All of them, in the order of the entries that they claim to begin with. */
  readonly marks: (after: number, limit: number) => readonly SessionMark[]
  /**
   * Newest first, from before a ledger entry. A session is a task's when it was begun for it or has records about it.
   */
  readonly list: (
    filter: { readonly task_id?: string },
    page: { readonly before: number; readonly limit: number },
  ) => readonly ListedSession[]
}

/** A session may be begun for no task and gather thoughts about several. */
const TESTS = {
  task_id: `(task_id = :task_id OR session_id IN (SELECT session_id FROM thought_records WHERE task_id = :task_id))`,
}

export function createSessionStore(sql: DatabaseSync): SessionStore {
  const get = sql.prepare('SELECT * FROM audit_sessions WHERE session_id = ?')
  const openFor = sql.prepare(
    'SELECT session_id FROM audit_sessions WHERE task_id = ? AND finalized_at IS NULL ORDER BY log_index LIMIT ?',
  )
  const insert = sql.prepare(`
    INSERT INTO audit_sessions
    VALUES (:session_id, :intent, :task_id, :started_at, :principal, :log_index, :finalized_at)`)
  const blank = sql.prepare(`
    UPDATE audit_sessions SET intent = '${BLANK}' WHERE session_id = ? AND intent <> '${BLANK}'`)
  const close = sql.prepare('UPDATE audit_sessions SET finalized_at = ? WHERE session_id = ?')
  const insertRoot = sql.prepare(`
    INSERT INTO merkle_roots VALUES (:session_id, :root, :record_count, :first_index, :last_index, :finalized_at,
      :log_index, :leaf_hash)`)
  const root = sql.prepare('SELECT * FROM merkle_roots WHERE session_id = ?')
  const marks = sql.prepare(`
    SELECT session_id, task_id, finalized_at, log_index,
      EXISTS (SELECT 1 FROM merkle_roots WHERE session_id = audit_sessions.session_id) AS has_root
    FROM audit_sessions WHERE log_index > ? ORDER BY log_index LIMIT ?`)
  const prepare = preparedOnce(sql)
  return {
    get: (sessionId) => get.get(sessionId) as Session | undefined,
    openFor: (taskId, limit) => openFor.all(taskId, limit).map((row) => String(row['session_id'])),
    insert: (session) => void insert.run({ ...session }),
    blank: (sessionId) => blank.run(sessionId).changes === 1,
    finalize: (sealed) => {
      close.run(sealed.finalized_at, sealed.session_id)
      insertRoot.run({ ...sealed })
    },
    root: (sessionId) => root.get(sessionId) as SessionRoot | undefined,
    marks: (after, limit) => marks.all(after, limit) as unknown as SessionMark[],
    list: (filter, page) => {
      const { where, parameters } = given(filter, TESTS)
      const list = prepare(`
        SELECT *, (SELECT count(*) FROM thought_records WHERE session_id = audit_sessions.session_id) AS record_count
        FROM audit_sessions WHERE ${where} AND log_index < :before ORDER BY log_index DESC LIMIT :limit`)
      return list.all({ ...parameters, ...page }) as unknown as ListedSession[]
    },
  }
}
