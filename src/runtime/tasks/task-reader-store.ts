/**
 * Task reader: tasks and their dependencies, in the database.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { prepareCachedStatement } from '../../core/prepared-statement-store.ts'
import { createSqlFilterCondition } from '../sql-filter-condition.ts'
import type { SqlWhereCondition } from '../sql-filter-condition.ts'
import type { TaskStatus } from './task-machine.ts'
import type { RuntimeState, TaskState } from '../runtime-state.ts'
import type { Task } from './task.ts'

interface TaskFilter {
  readonly status?: TaskStatus
  readonly project_id?: string
  readonly assignee?: string
  readonly include_deleted?: boolean
}

/** A task with the sort keys of its place in the lists: `seq` in task_list, `(rank, seq)` in task_next_actions. */
interface ListedTask {
  readonly task: Task
  readonly seq: number
  readonly rank: number
}

/** A task that waits for one that will never be done. */
interface StalledTask {
  readonly id: string
  readonly cancelled_dependencies: readonly string[]
}

export interface TaskReader {
  /** The task; `undefined` for a deleted task, as for an unknown id. */
  readonly get: (id: string) => Task | undefined
  readonly dependenciesOf: (id: string) => readonly string[]
  /** Whether there is the reflection that DONE requires. */
  readonly hasReflectionSinceVerify: (id: string) => boolean
  /** In the order they were created. */
  readonly list: (filter: TaskFilter, page: { after: number; limit: number; offset: number }) => readonly ListedTask[]
  readonly count: (filter: TaskFilter) => number
  /** Open tasks that wait for no other task, most pressing first, then oldest first. */
  readonly next: (
    filter: TaskFilter,
    page: { after: readonly [number, number]; limit: number },
  ) => readonly ListedTask[]
  /** How many open tasks wait for one that is not DONE, cancelled ones included. */
  readonly countBlocked: (filter: TaskFilter) => number
  readonly stalled: (filter: TaskFilter, limit: number) => readonly StalledTask[]
}

/** The status and the dependencies of a task come from the log, not from these columns. */
const COLUMNS = `
  task.seq, task.priority_rank, task.id, task.project_id, task.title, task.description, task.priority, task.assignee,
  task.cancel_reason`

const TESTS = {
  status: 'task.status = :status',
  project_id: 'task.project_id = :project_id',
  assignee: 'task.assignee = :assignee',
} as const

/** Written as in the index `tasks_open`: SQLite uses a partial index only if the query repeats its condition. */
const OPEN = `task.status NOT IN ('DONE', 'CANCELLED')`

const WAITS = `EXISTS (
  SELECT 1 FROM task_dependencies JOIN tasks AS other ON other.id = depends_on
  WHERE task_id = task.id AND other.status <> 'DONE')`

export function createTaskReader(sql: DatabaseSync, state: RuntimeState): TaskReader {
  const prepare = (text: string): StatementSync => prepareCachedStatement(sql, text)
  const get = sql.prepare(`SELECT ${COLUMNS} FROM tasks AS task WHERE id = ?`)
  /** A row that is not in the log is not a task. */
  const toListed = (row: Record<string, unknown>): ListedTask[] => {
    const facts = state.tasks.get(String(row['id']))
    if (facts === undefined) return []
    return [{ task: toTask(row, facts, state), seq: Number(row['seq']), rank: Number(row['priority_rank']) }]
  }
  return {
    get: (id) => {
      const [facts, row] = [state.tasks.get(id), get.get(id)]
      return facts === undefined || row === undefined ? undefined : toTask(row, facts, state)
    },
    dependenciesOf: (id) => state.tasks.get(id)?.dependsOn ?? [],
    hasReflectionSinceVerify: (id) => {
      const task = state.tasks.get(id)
      return task !== undefined && task.verifyIndex !== null && task.reflectionIndex > task.verifyIndex
    },
    list: (filter, page) => {
      const { where, parameters } = condition(filter)
      const list = prepare(`
        SELECT ${COLUMNS} FROM tasks AS task WHERE ${where} AND task.seq > :after
        ORDER BY task.seq LIMIT :limit OFFSET :offset`)
      return list.all({ ...parameters, ...page }).flatMap(toListed)
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
      return next.all({ ...parameters, rank, seq, limit }).flatMap(toListed)
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
function condition({ include_deleted, ...filter }: TaskFilter): SqlWhereCondition {
  const { where, parameters } = createSqlFilterCondition(filter, TESTS)
  return { where: include_deleted === true ? where : `${where} AND task.deleted_at IS NULL`, parameters }
}

function countIn(row: Record<string, unknown> | undefined): number {
  return Number(row?.['count'] ?? 0)
}

/** The columns are named as the fields are. */
function toTask(row: Record<string, unknown>, facts: TaskState, { tasks }: RuntimeState): Task {
  const { seq: _seq, priority_rank: _rank, ...words } = row
  const { status, version, attempt, dependsOn, follows, followedBy, createdAt, updatedAt, logIndex } = facts
  return {
    ...words,
    status,
    version,
    attempt,
    created_at: createdAt,
    updated_at: updatedAt,
    deleted_at: null,
    log_index: logIndex,
    depends_on: [...dependsOn],
    blocked_by: dependsOn.filter((other) => tasks.get(other)?.status !== 'DONE'),
    follows,
    followed_by: [...followedBy],
  } as Task
}
