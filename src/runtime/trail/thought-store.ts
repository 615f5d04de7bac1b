/**
 * Thought store: the decision trail in the database. The words themselves are bodies of the ledger, where they can be
 * erased; here is everything else.
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'
import { given, preparedOnce } from '../query-store.ts'
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
  readonly public_key: string | null
  readonly signature: string | null
  readonly log_index: number
  readonly leaf_hash: string
}

/** The first key an agent signed with, and the entry of the record that said so. */
export interface AgentKeyRow {
  readonly agent_id: string
  readonly public_key: string
  readonly log_index: number
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

export interface ThoughtStore {
  /** The newest record of a task, whose hash the next one continues. */
  readonly last: (taskId: string) => ThoughtRow | undefined
  /** The newest record of a task among those before a ledger entry. */
  readonly lastBefore: (taskId: string, logIndex: number) => ThoughtRow | undefined
  readonly insert: (row: Omit<ThoughtRow, 'seq'>) => void
  readonly list: (filter: ThoughtFilter, page: { after: number; limit: number }) => readonly ThoughtRow[]
  /** Records whose ledger entry lies in `[from, to)`, in that order. */
  readonly between: (from: number, to: number) => readonly ThoughtRow[]
  /** The record that claims a ledger entry. */
  readonly at: (logIndex: number) => ThoughtRow | undefined
  /** The places of all records, in the order of the entries that they claim. */
  readonly after: (logIndex: number, limit: number) => readonly Pick<ThoughtRow, 'id' | 'log_index'>[]
  /** Records that claim a ledger entry which does not exist. */
  readonly beyond: (logSize: number) => readonly ThoughtRow[]
  /** In the order of recording: the order of the leaves in the session's tree. */
  readonly ofSession: (sessionId: string) => readonly ThoughtRow[]
  /** The key an agent's records have to be signed with, base64; `undefined` while it has never signed. */
  readonly keyOf: (agentId: string) => string | undefined
  /** All of them, in order of the agents' names. */
  readonly keysAfter: (agentId: string | undefined, limit: number) => readonly AgentKeyRow[]
  /** Throws for an agent that has one: keys are never replaced. */
  readonly pinKey: (agentId: string, publicKey: string, logIndex: number) => void
  readonly hasSignature: (signature: string) => boolean
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

export function createThoughtStore(sql: DatabaseSync): ThoughtStore {
  const prepare = preparedOnce(sql)
  // By seq: spec 5's chain follows the order of recording, since times tie within a millisecond.
  const last = sql.prepare('SELECT * FROM thought_records WHERE task_id = ? ORDER BY seq DESC LIMIT 1')
  const lastBefore = sql.prepare(
    'SELECT * FROM thought_records WHERE task_id = ? AND log_index < ? ORDER BY seq DESC LIMIT 1',
  )
  const insert = sql.prepare(`
    INSERT INTO thought_records (id, type, task_id, agent_id, session_id, timestamp, prev_hash, hash, principal,
      public_key, signature, log_index, leaf_hash)
    VALUES (:id, :type, :task_id, :agent_id, :session_id, :timestamp, :prev_hash, :hash, :principal,
      :public_key, :signature, :log_index, :leaf_hash)`)
  const between = sql.prepare('SELECT * FROM thought_records WHERE log_index >= ? AND log_index < ? ORDER BY log_index')
  const at = sql.prepare('SELECT * FROM thought_records WHERE log_index = ?')
  const after = sql.prepare('SELECT id, log_index FROM thought_records WHERE log_index > ? ORDER BY log_index LIMIT ?')
  const beyond = sql.prepare('SELECT * FROM thought_records WHERE log_index < 0 OR log_index >= ? ORDER BY log_index')
  const ofSession = sql.prepare('SELECT * FROM thought_records WHERE session_id = ? ORDER BY seq')
  const keyOf = sql.prepare('SELECT public_key FROM agent_keys WHERE agent_id = ?')
  const keysAfter = sql.prepare('SELECT * FROM agent_keys WHERE ?1 IS NULL OR agent_id > ?1 ORDER BY agent_id LIMIT ?2')
  const pinKey = sql.prepare('INSERT INTO agent_keys VALUES (?, ?, ?)')
  const signature = sql.prepare('SELECT 1 FROM thought_records WHERE signature = ?')
  return {
    last: (taskId) => last.get(taskId) as ThoughtRow | undefined,
    lastBefore: (taskId, logIndex) => lastBefore.get(taskId, logIndex) as ThoughtRow | undefined,
    insert: (row) => void insert.run({ ...row }),
    list: (filter, page) => {
      const { where, parameters } = given(filter, TESTS)
      const list = prepare(`SELECT * FROM thought_records WHERE ${where} AND seq > :after ORDER BY seq LIMIT :limit`)
      return list.all({ ...parameters, ...page }) as unknown as ThoughtRow[]
    },
    between: (from, to) => between.all(from, to) as unknown as ThoughtRow[],
    at: (logIndex) => at.get(logIndex) as ThoughtRow | undefined,
    after: (logIndex, limit) => after.all(logIndex, limit) as unknown as ThoughtRow[],
    beyond: (logSize) => beyond.all(logSize) as unknown as ThoughtRow[],
    ofSession: (sessionId) => ofSession.all(sessionId) as unknown as ThoughtRow[],
    keyOf: (agentId) => keyOf.get(agentId)?.['public_key'] as string | undefined,
    keysAfter: (agentId, limit) => keysAfter.all(agentId ?? null, limit) as unknown as AgentKeyRow[],
    pinKey: (agentId, publicKey, logIndex) => void pinKey.run(agentId, publicKey, logIndex),
    hasSignature: (value) => signature.get(value) !== undefined,
  }
}
