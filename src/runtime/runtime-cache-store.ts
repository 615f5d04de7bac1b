/**
 * Runtime cache: tasks, thoughts and audit sessions as tables, written from the entries. Texts of people are in the
 * bodies; where a body was erased, the tables have a placeholder, also after a rebuild.
 */
import type { DatabaseSync } from 'node:sqlite'
import { isJsonObject, parseJsonOrUndefined } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { BODY_ERASED_KIND } from '../ledger/entry-group.ts'
import { prepareCachedStatement } from '../core/prepared-statement-store.ts'
import type { EntryCacheInput, EntryCacheDefinition } from '../ledger/entry-cache-store.ts'
import { readEntryTextField } from '../ledger/entry.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import { ERASED_PLACEHOLDER } from '../ledger/projection-log.ts'
import { runtimeMigrations } from './migrations.ts'
import { SESSION_FINAL_KIND, SESSION_START_KIND } from './trail/session-entry.ts'
import { isRetryTransition } from './tasks/task-machine.ts'
import type { TaskStatus } from './tasks/task-machine.ts'
import { rankPriority } from './tasks/priority.ts'
import {
  ERASABLE_TASK_FIELDS,
  TASK_CHANGED_KIND,
  TASK_CREATED_KIND,
  TASK_TRANSITION_KIND,
  readTaskId,
  listErasableTaskFieldsInEntry,
} from './task-entries.ts'
import type { ErasableTaskField } from './task-entries.ts'
import { THOUGHT_FIELDS, THOUGHT_KIND } from './trail/thought-entry.ts'

type Words = Readonly<Record<ErasableTaskField, string | null>>

interface TaskRow extends Words {
  readonly id: string
  readonly attempt: number
  readonly updated_at: string
  readonly verify_index: number | null
  readonly set_by: string
}

const NO_WORDS: Words = {
  title: '',
  project_id: null,
  description: null,
  priority: null,
  assignee: null,
  cancel_reason: null,
}

export const runtimeEntryTables: EntryCacheDefinition = {
  migrations: runtimeMigrations,
  tables: [
    { name: 'tasks', key: ['id'], named: ({ id }) => ({ what: 'task', id: String(id) }) },
    {
      name: 'task_dependencies',
      key: ['task_id', 'depends_on'],
      named: ({ task_id: id }) => ({ what: 'task', id: String(id) }),
    },
    { name: 'thought_records', key: ['id'], named: ({ id }) => ({ what: 'thought', id: String(id) }) },
    {
      name: 'audit_sessions',
      key: ['session_id'],
      named: ({ session_id: id }) => ({ what: 'session', id: String(id) }),
    },
    { name: 'merkle_roots', key: ['session_id'], named: ({ session_id: id }) => ({ what: 'seal', id: String(id) }) },
  ],

  apply: {
    [TASK_CREATED_KIND]: (sql, { entry, body }) => {
      const id = readTaskId(entry)
      if (id === undefined) return
      putTask(sql, {
        ...wordsAfter(NO_WORDS, entry, body),
        id,
        seq: entry.seq,
        status: 'INIT',
        created_at: entry.at,
        updated_at: entry.at,
        version: 1,
        attempt: 1,
        log_index: entry.seq,
        verify_index: null,
        set_by: setByAfter('{}', entry),
      })
      putDependencies(sql, id, entry)
    },
    [TASK_CHANGED_KIND]: changeTask,
    [TASK_TRANSITION_KIND]: changeTask,

    [THOUGHT_KIND]: (sql, { entry, leafHash }) => {
      prepareCachedStatement(
        sql,
        `INSERT OR REPLACE INTO thought_records VALUES (:seq, :id, :type, :task_id, :agent_id, :session_id, :timestamp,
           :prev_hash, :hash, :principal, :client, :public_key, :signature, :seq, :leaf_hash)`,
      ).run({
        seq: entry.seq,
        leaf_hash: leafHash,
        ...Object.fromEntries(THOUGHT_FIELDS.map((field) => [field, (entry[field] ?? null) as string | null])),
      })
    },

    [SESSION_START_KIND]: (sql, { entry, body }) => {
      const intent = isJsonObject(body) && typeof body['intent'] === 'string' ? body['intent'] : ERASED_PLACEHOLDER
      prepareCachedStatement(sql, 'INSERT OR REPLACE INTO audit_sessions VALUES (?, ?, ?, ?, ?, ?, ?, NULL)').run(
        readEntryTextField(entry, 'session_id') ?? '',
        intent,
        (entry['task_id'] ?? null) as string | null,
        entry.at,
        readEntryTextField(entry, 'principal') ?? '',
        readEntryTextField(entry, 'client') ?? null,
        entry.seq,
      )
    },
    [SESSION_FINAL_KIND]: (sql, { entry, leafHash }) => {
      const id = readEntryTextField(entry, 'session_id') ?? ''
      prepareCachedStatement(sql, 'UPDATE audit_sessions SET finalized_at = ? WHERE session_id = ?').run(entry.at, id)
      prepareCachedStatement(sql, 'INSERT OR REPLACE INTO merkle_roots VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(
        id,
        readEntryTextField(entry, 'root') ?? '',
        Number(entry['record_count']),
        Number(entry['first_index']),
        Number(entry['last_index']),
        entry.at,
        entry.seq,
        leafHash,
      )
    },

    [BODY_ERASED_KIND]: (sql, { erased }) => {
      if (erased === undefined) return
      const id = readTaskId(erased)
      if (id !== undefined) eraseWords(sql, id, erased.seq)
      if (erased.kind === SESSION_START_KIND)
        prepareCachedStatement(sql, 'UPDATE audit_sessions SET intent = ? WHERE session_id = ?').run(
          ERASED_PLACEHOLDER,
          readEntryTextField(erased, 'session_id') ?? '',
        )
    },
  },

  showing: (entry) => {
    const id = readTaskId(entry)
    if (id !== undefined && listErasableTaskFieldsInEntry(entry).length > 0) return [{ what: 'task', id }]
    return entry.kind === SESSION_START_KIND
      ? [{ what: 'session', id: readEntryTextField(entry, 'session_id') ?? '' }]
      : []
  },
}

function changeTask(sql: DatabaseSync, { entry, body }: EntryCacheInput): void {
  const id = readTaskId(entry)
  const before = id === undefined ? undefined : taskRow(sql, id)
  // The row was deleted by another program; the comparison of the tables reports it.
  if (id === undefined || before === undefined) return
  const { from, to } = entry
  const words = wordsAfter(before, entry, body)
  prepareCachedStatement(
    sql,
    `UPDATE tasks SET title = :title, project_id = :project_id, description = :description, priority = :priority,
       priority_rank = :rank, assignee = :assignee, cancel_reason = :cancel_reason, updated_at = :updated_at,
       attempt = :attempt, version = :version, log_index = :seq, verify_index = :verify_index, set_by = :set_by,
       status = coalesce(:status, status) WHERE id = :id`,
  ).run({
    ...words,
    id,
    seq: entry.seq,
    rank: rankPriority(words.priority),
    status: typeof to === 'string' ? to : null,
    // The wall clock may have been set back; `updated_at` never decreases.
    updated_at: entry.at > before.updated_at ? entry.at : before.updated_at,
    version: Number(entry['version']),
    attempt: isRetryTransition(from as TaskStatus, to as TaskStatus) ? before.attempt + 1 : before.attempt,
    verify_index: to === 'VERIFY' ? entry.seq : before.verify_index,
    set_by: setByAfter(before.set_by, entry),
  })
  if (entry['depends_on'] !== undefined) putDependencies(sql, id, entry)
}

function putTask(sql: DatabaseSync, row: TaskRow & Readonly<Record<string, string | number | null>>): void {
  prepareCachedStatement(
    sql,
    `INSERT OR REPLACE INTO tasks (seq, id, project_id, title, description, status, priority, priority_rank, assignee,
       cancel_reason, created_at, updated_at, version, attempt, log_index, verify_index, set_by)
     VALUES (:seq, :id, :project_id, :title, :description, :status, :priority, :rank, :assignee, :cancel_reason,
       :created_at, :updated_at, :version, :attempt, :log_index, :verify_index, :set_by)`,
  ).run({ ...row, rank: rankPriority(row.priority) })
}

/** Task ids are not texts of people, so they are in the entry and cannot be erased. */
function putDependencies(sql: DatabaseSync, id: string, { seq, depends_on: ids }: LedgerEntry): void {
  prepareCachedStatement(sql, 'DELETE FROM task_dependencies WHERE task_id = ?').run(id)
  for (const [position, other] of (Array.isArray(ids) ? ids : []).entries())
    prepareCachedStatement(sql, 'INSERT INTO task_dependencies VALUES (?, ?, ?, ?)').run(
      id,
      String(other),
      position,
      seq,
    )
}

function wordsAfter(before: Words, entry: LedgerEntry, body: Json | undefined): Words {
  const words = { ...pick(before) }
  for (const word of listErasableTaskFieldsInEntry(entry)) words[word] = readField(word, body)
  for (const word of emptiedBy(entry)) words[word] = null
  return words
}

function pick(row: Words): Record<ErasableTaskField, string | null> {
  return Object.fromEntries(ERASABLE_TASK_FIELDS.map((word) => [word, row[word]])) as Record<
    ErasableTaskField,
    string | null
  >
}

function readField(word: ErasableTaskField, body: Json | undefined): string | null {
  if (!isJsonObject(body)) return ERASED_PLACEHOLDER
  const text = body[word === 'cancel_reason' ? 'reason' : word] ?? null
  return typeof text === 'string' ? text : null
}

function emptiedBy({ emptied }: LedgerEntry): readonly ErasableTaskField[] {
  return Array.isArray(emptied) ? ERASABLE_TASK_FIELDS.filter((word) => emptied.includes(word)) : []
}

/** For each field, the number of the entry whose body has its text, as JSON. */
function setByAfter(before: string, entry: LedgerEntry): string {
  const setBy = readSetBy(before) ?? {}
  for (const word of listErasableTaskFieldsInEntry(entry)) setBy[word] = entry.seq
  for (const word of emptiedBy(entry)) delete setBy[word]
  return JSON.stringify(
    Object.fromEntries(Object.entries(setBy).toSorted(([left], [right]) => (left < right ? -1 : 1))),
  )
}

function readSetBy(text: string): Record<string, number> | undefined {
  const setBy = parseJsonOrUndefined(text)
  return isJsonObject(setBy) ? ({ ...setBy } as Record<string, number>) : undefined
}

function eraseWords(sql: DatabaseSync, id: string, seq: number): void {
  const row = taskRow(sql, id)
  if (row === undefined) return
  const setBy = readSetBy(row.set_by)
  const words = pick(row)
  for (const word of ERASABLE_TASK_FIELDS)
    // If another program changed `set_by`, too much is erased rather than too little; a rebuild corrects that.
    if ((setBy === undefined || setBy[word] === seq) && words[word] !== null) words[word] = ERASED_PLACEHOLDER
  prepareCachedStatement(
    sql,
    `UPDATE tasks SET title = :title, project_id = :project_id, description = :description, priority = :priority,
       priority_rank = :rank, assignee = :assignee, cancel_reason = :cancel_reason WHERE id = :id`,
  ).run({ ...words, id, rank: rankPriority(words.priority) })
}

function taskRow(sql: DatabaseSync, id: string): TaskRow | undefined {
  return prepareCachedStatement(sql, 'SELECT * FROM tasks WHERE id = ?').get(id) as TaskRow | undefined
}
