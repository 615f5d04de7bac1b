/**
 * Task store: tasks and what they wait for, in the database.
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'
import { BLANK } from '../../ledger/copies.ts'
import { given, preparedOnce } from '../query-store.ts'
import type { Condition } from '../query-store.ts'
import type { Status } from './machine.ts'
import { priorityRank } from './priority.ts'
import type { Task } from './task.ts'

/** What a new task starts with; the rest of its fields follow from being new. */
interface NewTask {
  readonly id: string
  readonly project_id: string | null
  readonly title: string
  readonly description: string | null
  readonly priority: string | null
  readonly priority_rank: number
  readonly assignee: string | null
  readonly created_at: string
  readonly log_index: number
}

/** Every column that a change may write; the caller has laid the patch over what was there. */
export interface ChangedTask {
  readonly project_id: string | null
  readonly title: string
  readonly description: string | null
  readonly status: Status
  readonly priority: string | null
  readonly priority_rank: number
  readonly assignee: string | null
  readonly cancel_reason: string | null
  readonly updated_at: string
  readonly attempt: number
}

/** Dependencies are not among them: they are ids, and other tasks wait for them. */
export const ERASABLE = ['title', 'project_id', 'description', 'priority', 'assignee', 'cancel_reason'] as const
export type ErasableWord = (typeof ERASABLE)[number]

interface TaskFilter {
  readonly status?: Status
  readonly project_id?: string
  readonly assignee?: string
  readonly include_deleted?: boolean
}

/** With the two halves of its place in the lists: `seq` in task_list, `(rank, seq)` in task_next_actions. */
interface ListedTask {
  readonly task: Task
  readonly seq: number
  readonly rank: number
}

/** A task whose way is barred by one that will never be done. */
interface StalledTask {
  readonly id: string
  readonly cancelled_dependencies: readonly string[]
}

/** A row as it stands, deleted or not: what an audit compares. */
export interface StoredTask extends Omit<Task, 'blocked_by'> {
  readonly seq: number
  readonly priority_rank: number
  readonly verify_index: number | null
}

export interface TaskStore {
  /** Deleted tasks are not there: `undefined`, as for ids that never were. */
  readonly get: (id: string) => Task | undefined
  readonly stored: (id: string) => StoredTask | undefined
  /** Of all rows, deleted ones included, in the order they were created. */
  readonly ids: (after: number, limit: number) => readonly Pick<StoredTask, 'id' | 'seq'>[]
  readonly dependenciesOf: (id: string) => readonly string[]
  readonly insert: (task: NewTask) => void
  /** `false` when the task is no longer at `version`. */
  readonly change: (at: { id: string; version: number; logIndex: number }, to: ChangedTask) => boolean
  /** Puts `[erased]` where one of these fields has words; `false` when none has. */
  readonly blank: (id: string, words: readonly ErasableWord[]) => boolean
  /** Replaces the list, in its order. That it closes no circle is the caller's to check. */
  readonly setDependencies: (id: string, dependsOn: readonly string[]) => void
  /** The writeback that DONE needs; the trigger `task_is_written_back` asks the same. */
  readonly hasReflectionSinceVerify: (id: string) => boolean
  /** In the order they were created. */
  readonly list: (filter: TaskFilter, page: { after: number; limit: number; offset: number }) => readonly ListedTask[]
  readonly count: (filter: TaskFilter) => number
  /** Open tasks that wait for nobody, most pressing first, then oldest first. */
  readonly next: (
    filter: TaskFilter,
    page: { after: readonly [number, number]; limit: number },
  ) => readonly ListedTask[]
  /** Open tasks that wait for one which is not DONE, cancelled ones included. */
  readonly countBlocked: (filter: TaskFilter) => number
  readonly stalled: (filter: TaskFilter, limit: number) => readonly StalledTask[]
}

/** Dependencies come with the row: a list of 200 tasks is one statement, not 401. */
const COLUMNS = `
  task.seq, task.priority_rank, task.id, task.project_id, task.title, task.description, task.status, task.priority,
  task.assignee, task.created_at, task.updated_at, task.deleted_at, task.version, task.attempt, task.cancel_reason,
  task.log_index,
  (SELECT json_group_array(depends_on ORDER BY position) FROM task_dependencies WHERE task_id = task.id) AS depends_on,
  (SELECT json_group_array(depends_on ORDER BY position)
     FROM task_dependencies JOIN tasks AS other ON other.id = depends_on
     WHERE task_id = task.id AND other.status <> 'DONE') AS blocked_by`

const TESTS = {
  status: 'task.status = :status',
  project_id: 'task.project_id = :project_id',
  assignee: 'task.assignee = :assignee',
} as const

/** Spelt as in the index `tasks_open`: SQLite uses a partial index only where the query repeats its condition. */
const OPEN = `task.status NOT IN ('DONE', 'CANCELLED')`

const WAITS = `EXISTS (
  SELECT 1 FROM task_dependencies JOIN tasks AS other ON other.id = depends_on
  WHERE task_id = task.id AND other.status <> 'DONE')`

export function createTaskStore(sql: DatabaseSync): TaskStore {
  const prepare = preparedOnce(sql)
  const get = sql.prepare(`SELECT ${COLUMNS} FROM tasks AS task WHERE id = ? AND deleted_at IS NULL`)
  const stored = sql.prepare('SELECT * FROM tasks WHERE id = ?')
  const ids = sql.prepare('SELECT seq, id FROM tasks WHERE seq > ? ORDER BY seq LIMIT ?')
  const dependencies = sql.prepare('SELECT depends_on FROM task_dependencies WHERE task_id = ? ORDER BY position')
  const clearDependencies = sql.prepare('DELETE FROM task_dependencies WHERE task_id = ?')
  const putDependency = sql.prepare('INSERT INTO task_dependencies VALUES (?, ?, ?)')
  const insert = sql.prepare(`
    INSERT INTO tasks (id, project_id, title, description, status, priority, priority_rank, assignee, created_at,
      updated_at, version, attempt, log_index)
    VALUES (:id, :project_id, :title, :description, 'INIT', :priority, :priority_rank, :assignee, :created_at,
      :created_at, 1, 1, :log_index)`)
  // The version in WHERE makes it optimistic: a writer that read an older one changes nothing. On the right of an
  // assignment SQLite has the old row, so `status <> 'VERIFY'` asks where the task comes from.
  const change = sql.prepare(`
    UPDATE tasks SET project_id = :project_id, title = :title, description = :description, priority = :priority,
      priority_rank = :priority_rank, assignee = :assignee, cancel_reason = :cancel_reason, updated_at = :updated_at,
      attempt = :attempt, version = version + 1, log_index = :logIndex,
      verify_index = iif(:status = 'VERIFY' AND status <> 'VERIFY', :logIndex, verify_index),
      status = :status
    WHERE id = :id AND version = :version`)
  // Words may be few and rows many: only those are touched that have something to lose.
  const blank = sql.prepare(`
    UPDATE tasks SET ${ERASABLE.map((word) => `${word} = iif(:${word} AND ${word} IS NOT NULL, '${BLANK}', ${word})`).join(', ')},
      priority_rank = iif(:priority AND priority IS NOT NULL, :rank, priority_rank)
    WHERE id = :id AND (${ERASABLE.map((word) => `:${word} AND ${word} <> '${BLANK}'`).join(' OR ')})`)
  const reflection = sql.prepare(`
    SELECT 1 FROM tasks JOIN thought_records AS thought ON thought.task_id = tasks.id
    WHERE tasks.id = ? AND thought.type = 'reflection' AND thought.log_index > tasks.verify_index LIMIT 1`)
  const dependenciesOf = (id: string): string[] => dependencies.all(id).map((row) => String(row['depends_on']))
  return {
    get: (id) => {
      const row = get.get(id)
      return row === undefined ? undefined : toTask(row)
    },
    stored: (id) => {
      const row = stored.get(id)
      return row === undefined ? undefined : ({ ...row, depends_on: dependenciesOf(id) } as unknown as StoredTask)
    },
    ids: (after, limit) => ids.all(after, limit) as unknown as StoredTask[],
    dependenciesOf,
    insert: (task) => void insert.run({ ...task }),
    change: (at, to) => change.run({ ...at, ...to }).changes === 1,
    blank: (id, words) => {
      const erased = Object.fromEntries(ERASABLE.map((word) => [word, words.includes(word) ? 1 : 0]))
      return blank.run({ id, rank: priorityRank(BLANK), ...erased }).changes === 1
    },
    setDependencies: (id, dependsOn) => {
      clearDependencies.run(id)
      for (const [position, other] of dependsOn.entries()) putDependency.run(id, other, position)
    },
    hasReflectionSinceVerify: (id) => reflection.get(id) !== undefined,
    list: (filter, page) => {
      const { where, parameters } = condition(filter)
      const list = prepare(`
        SELECT ${COLUMNS} FROM tasks AS task WHERE ${where} AND task.seq > :after
        ORDER BY task.seq LIMIT :limit OFFSET :offset`)
      return list.all({ ...parameters, ...page }).map(toListed)
    },
    count: (filter) => {
      const { where, parameters } = condition(filter)
      return countIn(prepare(`SELECT count(*) AS count FROM tasks AS task WHERE ${where}`).get(parameters))
    },
    next: (filter, { after: [rank, seq], limit }) => {
      const { where, parameters } = condition(filter)
      const next = prepare(`
        SELECT ${COLUMNS} FROM tasks AS task
        WHERE ${OPEN} AND ${where} AND (task.priority_rank, task.seq) > (:rank, :seq) AND NOT ${WAITS}
        ORDER BY task.priority_rank, task.seq LIMIT :limit`)
      return next.all({ ...parameters, rank, seq, limit }).map(toListed)
    },
    countBlocked: (filter) => {
      const { where, parameters } = condition(filter)
      const blocked = prepare(`SELECT count(*) AS count FROM tasks AS task WHERE ${OPEN} AND ${where} AND ${WAITS}`)
      return countIn(blocked.get(parameters))
    },
    stalled: (filter, limit) => {
      const { where, parameters } = condition(filter)
      const stalled = prepare(`
        SELECT task.id AS id, json_group_array(cancelled.id ORDER BY position) AS cancelled
        FROM tasks AS task JOIN task_dependencies ON task_id = task.id
          JOIN tasks AS cancelled ON cancelled.id = depends_on
        WHERE ${OPEN} AND ${where} AND cancelled.status = 'CANCELLED'
        GROUP BY task.seq ORDER BY task.priority_rank, task.seq LIMIT :limit`)
      return stalled.all({ ...parameters, limit }).map((row) => ({
        id: String(row['id']),
        cancelled_dependencies: JSON.parse(String(row['cancelled'])) as string[],
      }))
    },
  }
}

/** Deleted tasks are hidden unless they were asked for. */
function condition({ include_deleted, ...filter }: TaskFilter): Condition {
  const { where, parameters } = given(filter, TESTS)
  return { where: include_deleted === true ? where : `${where} AND task.deleted_at IS NULL`, parameters }
}

function countIn(row: Record<string, unknown> | undefined): number {
  return Number(row?.['count'] ?? 0)
}

function toListed(row: Record<string, unknown>): ListedTask {
  return { task: toTask(row), seq: Number(row['seq']), rank: Number(row['priority_rank']) }
}

/** The columns are named as the fields are. */
function toTask(row: Record<string, unknown>): Task {
  const { seq: _seq, priority_rank: _rank, depends_on, blocked_by, ...fields } = row
  return {
    ...fields,
    depends_on: JSON.parse(String(depends_on)) as string[],
    blocked_by: JSON.parse(String(blocked_by)) as string[],
  } as Task
}
