/**
 * Tools: what the five task tools do. Every change and its ledger event are one transaction.
 *
 * Reads and writes through its store.
 */
import { randomUUID } from 'node:crypto'
import type { Call } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { answer, answerOf, origin } from '../dependencies.ts'
import type { Records } from '../dependencies.ts'
import { fault } from '../faults.ts'
import { cursorScope, encodeCursor } from '../../toolbox/cursor.ts'
import { page, readCursor } from '../paging.ts'
import { invalidTransition, refuseChange } from './change.ts'
import { taskCreate, taskGet, taskList, taskNextActions, taskUpdate } from './definitions.ts'
import { findCycle } from './graph.ts'
import { FIRST_STATUS, TRANSITIONS } from './machine.ts'
import type { Task, TaskPatch } from './task.ts'
import { TASK_CHANGED, TASK_CREATED, TASK_TRANSITION } from './task-entries.ts'
import type { TaskStore } from './task-store.ts'

/** Enough to see that something is wrong; the rest shows when these are mended. */
const MAX_STALLED = 50

export function taskTools(records: Records, store: TaskStore): readonly Capability[] {
  return [
    taskCreate.handledBy(async ({ status, depends_on: dependsOn = [], ...input }, call) => {
      if (status !== undefined && status !== FIRST_STATUS) return fail(invalidTransition(null, status))
      return answerOf(await records.database.commit(() => createTask(records, store, { input, dependsOn, call })))
    }),

    taskGet.handledBy(async ({ id }) => {
      const task = store.get(id)
      return task === undefined ? fail(notFound(id)) : answer(task)
    }),

    taskUpdate.handledBy(async ({ ignored, ...update }, call) => {
      const updated = await records.database.commit(() => updateTask(records, store, { ...update, call }))
      return answerOf(updated.ok && ignored.length > 0 ? ok({ ...updated.value, ignored }) : updated)
    }),

    taskList.handledBy(async ({ limit, offset, cursor, ...filter }) => {
      const scope = cursorScope('task_list', filter)
      const after = readCursor<[number]>(cursor, scope, 1)
      if (!after.ok) return after
      const found = store.list(filter, { after: after.value?.[0] ?? -1, limit: limit + 1, offset })
      const { rows, ...next } = page(found, limit, ({ seq }) => encodeCursor(scope, [seq]))
      return answer({ tasks: rows.map(({ task }) => task), total: store.count(filter), ...next })
    }),

    taskNextActions.handledBy(async ({ limit, cursor, ...filter }) => {
      const scope = cursorScope('task_next_actions', filter)
      // By rank and then by age: both are in the cursor, since a rank alone would be shared by many.
      const after = readCursor<[number, number]>(cursor, scope, 2)
      if (!after.ok) return after
      // Before the first: ranks begin at 0.
      const found = store.next(filter, { after: after.value ?? [-1, 0], limit: limit + 1 })
      const { rows, ...next } = page(found, limit, ({ rank, seq }) => encodeCursor(scope, [rank, seq]))
      return answer({
        tasks: rows.map(({ task }) => ({ ...task, next_statuses: TRANSITIONS[task.status] })),
        blocked_count: store.countBlocked(filter),
        stalled: store
          .stalled(filter, MAX_STALLED)
          .map(({ id, cancelled_dependencies }) => ({ id, cancelled_dependencies })),
        ...next,
      })
    }),
  ]
}

interface Creation {
  readonly input: Omit<TaskPatch, 'status' | 'depends_on' | 'reason'> & { readonly title: string }
  readonly dependsOn: readonly string[]
  readonly call: Call
}

function createTask({ ledger }: Records, store: TaskStore, { input, dependsOn, call }: Creation): Result<Task, Fault> {
  const id = randomUUID()
  const wanted = checkDependencies(store, id, dependsOn)
  if (!wanted.ok) return wanted
  const { title, project_id = null, description = null, priority = null, assignee = null } = input
  const body = { title, project_id, description, priority, assignee }
  // What people wrote is the erasable body; the event has only what never needs erasing.
  const fields = Object.keys(body).filter((field) => body[field as keyof typeof body] !== null)
  const common = { task_id: id, status: FIRST_STATUS, version: 1, fields, depends_on: wanted.value }
  ledger.appendIn({ kind: TASK_CREATED, ...common, ...origin(call) }, body)
  return ok(stored(store, id))
}

interface Update {
  readonly id: string
  readonly patch: TaskPatch
  readonly expected_version?: number
  readonly call: Call
}

function updateTask(
  { ledger }: Records,
  store: TaskStore,
  { id, patch, expected_version: expected, call }: Update,
): Result<Task, Fault> {
  const task = store.get(id)
  if (task === undefined) return fail(notFound(id))
  // Inside the transaction: nobody can change the task between this look and the write.
  if (expected !== undefined && expected !== task.version) return fail(versionConflict(task, expected))
  const wanted = patch.depends_on === undefined ? ok(undefined) : checkDependencies(store, id, patch.depends_on)
  if (!wanted.ok) return wanted
  const refused = refuseChange(task, patch, {
    hasReflection: () => store.hasReflectionSinceVerify(id),
    // With the dependencies that the patch sets, not those that it replaces.
    unfinished: wanted.value?.filter((other) => store.get(other)?.status !== 'DONE') ?? task.blocked_by,
  })
  if (refused !== undefined) return fail(refused)
  const { depends_on: _, ...words } = patch
  ledger.appendIn({ ...changeEvent(task, patch, call), depends_on: wanted.value }, words)
  return ok(stored(store, id))
}

const NOT_WORDS: ReadonlySet<string> = new Set(['status', 'reason', 'depends_on'])

/** The words of a task are in the erasable body; the event says which of them it set, and which it emptied. */
function changeEvent(
  task: Task,
  patch: TaskPatch,
  call: Call,
): { kind: string; [field: string]: string | number | string[] } {
  const named = Object.entries(patch).filter(([field]) => !NOT_WORDS.has(field))
  const fields = named.filter(([, value]) => value !== null).map(([field]) => field)
  const emptied = named.filter(([, value]) => value === null).map(([field]) => field)
  const common = { task_id: task.id, version: task.version + 1, fields, emptied, ...origin(call) }
  if (patch.status === undefined) return { kind: TASK_CHANGED, ...common }
  return { kind: TASK_TRANSITION, from: task.status, to: patch.status, ...common }
}

/** Without repetitions; refused when one does not exist or would close a circle. */
function checkDependencies(
  store: TaskStore,
  id: string,
  dependsOn: readonly string[],
): Result<readonly string[], Fault> {
  const wanted = [...new Set(dependsOn)]
  // A task that names itself exists; it is the shortest circle, and said to be one below.
  const missing = wanted.filter((other) => other !== id && store.get(other) === undefined)
  if (missing.length > 0)
    return fail(fault('ERR_DEPENDENCY_NOT_FOUND', `There is no task ${missing.join(', ')}.`, { missing }))
  const cycle = findCycle(id, wanted, store.dependenciesOf)
  if (cycle === undefined) return ok(wanted)
  return fail(
    fault('ERR_DEPENDENCY_CYCLE', `The task would wait for itself: ${cycle.join(' ▸ ')}.`, { cycle: [...cycle] }),
  )
}

function stored(store: TaskStore, id: string): Task {
  const task = store.get(id)
  if (task === undefined) throw new Error(`task ${id} was written and is not there`)
  return task
}

function notFound(id: string): Fault {
  return fault('ERR_NOT_FOUND', `There is no task ${id}.`, { id })
}

function versionConflict(task: Task, expected: number): Fault {
  return fault(
    'ERR_VERSION_CONFLICT',
    `The task is at version ${task.version}, not ${expected}: somebody changed it. Read it again.`,
    { expected_version: expected, version: task.version },
  )
}
