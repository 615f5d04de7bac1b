/**
 * Thought reader: the decision trail in the database. The texts of the thoughts are bodies of the ledger, where they
 * can be erased; the other fields are here.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { prepareCachedStatement } from '../../core/prepared-statement-store.ts'
import { createSqlFilterCondition } from '../sql-filter-condition.ts'
import type { ThoughtType } from './thought.ts'

export interface ThoughtRow {
  readonly seq: number
  readonly id: string
  readonly type: ThoughtType
  readonly task_id: string
  readonly agent_id: string
  readonly session_id: string | null
  readonly timestamp: string
  readonly prev_hash: string
  readonly hash: string
  readonly principal: string
  readonly client: string | null
  readonly public_key: string | null
  readonly signature: string | null
  readonly log_index: number
  readonly leaf_hash: string
}

interface ThoughtFilter {
  readonly task_id?: string
  readonly session_id?: string
  readonly agent_id?: string
  readonly type?: ThoughtType
  /** ISO 8601 in UTC, inclusive. */
  readonly since?: string
  /** ISO 8601 in UTC, exclusive. */
  readonly until?: string
}

export interface ThoughtReader {
  /** The newest record of a task among those before a ledger entry. */
  readonly lastBefore: (taskId: string, logIndex: number) => ThoughtRow | undefined
  readonly list: (filter: ThoughtFilter, page: { after: number; limit: number }) => readonly ThoughtRow[]
  /** Records whose ledger entry lies in `[from, to)`, in that order. */
  readonly between: (from: number, to: number) => readonly ThoughtRow[]
  /** Records that claim a ledger entry which does not exist. */
  readonly beyond: (logSize: number) => readonly ThoughtRow[]
  /** In the order of recording: the order of the leaves in the session's tree. */
  readonly ofSession: (sessionId: string) => readonly ThoughtRow[]
  /** Records about a task that no session has: the first of them, and how many there are. */
  readonly outsideSessions: (
    taskId: string,
    limit: number,
  ) => { readonly rows: readonly ThoughtRow[]; readonly count: number }
}

/** Times compare as text because all are spelt alike (`isoTime`). */
const TESTS: Readonly<Record<keyof ThoughtFilter, string>> = {
  task_id: 'task_id = :task_id',
  session_id: 'session_id = :session_id',
  agent_id: 'agent_id = :agent_id',
  type: 'type = :type',
  since: 'timestamp >= :since',
  until: 'timestamp < :until',
}

export function createThoughtReader(sql: DatabaseSync): ThoughtReader {
  const prepare = (text: string): StatementSync => prepareCachedStatement(sql, text)
  // Ordered by seq: spec 5's chain follows the order of recording, and several records may have the same millisecond.
  const lastBefore = sql.prepare(
    'SELECT * FROM thought_records WHERE task_id = ? AND log_index < ? ORDER BY seq DESC LIMIT 1',
  )
  const between = sql.prepare('SELECT * FROM thought_records WHERE log_index >= ? AND log_index < ? ORDER BY log_index')
  const beyond = sql.prepare('SELECT * FROM thought_records WHERE log_index < 0 OR log_index >= ? ORDER BY log_index')
  const ofSession = sql.prepare('SELECT * FROM thought_records WHERE session_id = ? ORDER BY seq')
  const outside = 'FROM thought_records WHERE task_id = ? AND session_id IS NULL'
  const firstOutside = sql.prepare(`SELECT * ${outside} ORDER BY seq LIMIT ?`)
  const countOutside = sql.prepare(`SELECT count(*) AS count ${outside}`)
  return {
    lastBefore: (taskId, logIndex) => lastBefore.get(taskId, logIndex) as ThoughtRow | undefined,
    list: (filter, page) => {
      const { where, parameters } = createSqlFilterCondition(filter, TESTS)
      const list = prepare(`SELECT * FROM thought_records WHERE ${where} AND seq > :after ORDER BY seq LIMIT :limit`)
      return list.all({ ...parameters, ...page }) as unknown as ThoughtRow[]
    },
    between: (from, to) => between.all(from, to) as unknown as ThoughtRow[],
    beyond: (logSize) => beyond.all(logSize) as unknown as ThoughtRow[],
    ofSession: (sessionId) => ofSession.all(sessionId) as unknown as ThoughtRow[],
    outsideSessions: (taskId, limit) => ({
      rows: firstOutside.all(taskId, limit) as unknown as ThoughtRow[],
      count: Number(countOutside.get(taskId)?.['count'] ?? 0),
    }),
  }
}
