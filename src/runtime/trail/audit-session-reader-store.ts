/**
 * Audit session reader: audit sessions and the roots they were sealed with, in the database.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { prepareCachedStatement } from '../../core/prepared-statement-store.ts'
import { createSqlFilterCondition } from '../sql-filter-condition.ts'

export interface AuditSession {
  readonly session_id: string
  readonly intent: string
  readonly task_id: string | null
  /** Exactly the `at` of its ledger entry. */
  readonly started_at: string
  /** The principal that began it. */
  readonly principal: string
  /** The name that the program gave itself. */
  readonly client: string | null
  /** Ledger entry of its start: no record of the session comes before it. */
  readonly log_index: number
  readonly finalized_at: string | null
}

export interface SealedSessionRoot {
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

/** A session with the number of its records. */
export interface AuditSessionWithRecordCount extends AuditSession {
  readonly record_count: number
}

export interface AuditSessionReader {
  readonly get: (sessionId: string) => AuditSession | undefined
  readonly root: (sessionId: string) => SealedSessionRoot | undefined
  /**
   * Newest first, before a ledger entry. A session belongs to a task when it was begun for it or has records about it.
   */
  readonly list: (
    filter: { readonly task_id?: string },
    page: { readonly before: number; readonly limit: number },
  ) => readonly AuditSessionWithRecordCount[]
}

/** A session may be begun for no task and have thoughts about several. */
const TESTS = {
  task_id: `(task_id = :task_id OR session_id IN (SELECT session_id FROM thought_records WHERE task_id = :task_id))`,
}

export function createAuditSessionReader(sql: DatabaseSync): AuditSessionReader {
  const get = sql.prepare('SELECT * FROM audit_sessions WHERE session_id = ?')
  const root = sql.prepare('SELECT * FROM merkle_roots WHERE session_id = ?')
  const prepare = (text: string): StatementSync => prepareCachedStatement(sql, text)
  return {
    get: (sessionId) => get.get(sessionId) as AuditSession | undefined,
    root: (sessionId) => root.get(sessionId) as SealedSessionRoot | undefined,
    list: (filter, page) => {
      const { where, parameters } = createSqlFilterCondition(filter, TESTS)
      const list = prepare(`
        SELECT *, (SELECT count(*) FROM thought_records WHERE session_id = audit_sessions.session_id) AS record_count
        FROM audit_sessions WHERE ${where} AND log_index < :before ORDER BY log_index DESC LIMIT :limit`)
      return list.all({ ...parameters, ...page }) as unknown as AuditSessionWithRecordCount[]
    },
  }
}
