/**
 * Task tools: the handlers of the five task tools. All changes of one call are one transaction.
 *
 * Reads and writes through its store.
 */
import { randomUUID } from 'node:crypto'
import type { Call } from '../../bus/call.ts'
import type { HandlerContext } from '../../bus/call-factory.ts'
import type { Capability } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { LedgerEvent } from '../../ledger/entry.ts'
import { createRuntimeOutcome, toRuntimeOutcome, readCallOrigin } from '../runtime-dependencies.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { createRuntimeArgumentFault, createRuntimeFault } from '../faults.ts'
import { formatCursorScope, encodeCursor } from '../../toolbox/cursor.ts'
import { cutPage, readCursor } from '../paging.ts'
import { appendThought, checkThoughtAndResolveSession } from '../trail/thought-recording.ts'
import type { ThoughtToRecord, ThoughtTrailStores } from '../trail/thought-recording.ts'
import type { Thought } from '../trail/thought.ts'
import { listTaskThoughtsAsJson } from '../trail/thought-tools.ts'
import { createInvalidTransitionFault, explainTaskChangeRefusal } from './task-change.ts'
import type { RequestedTaskTransition } from './task-change.ts'
import { taskCreateTool, taskGetTool, taskListTool, taskNextActionsTool, taskUpdateTool } from './definitions.ts'
import { findDependencyCycle } from './dependency-graph.ts'
import { INITIAL_TASK_STATUS, TASK_TRANSITIONS } from './task-machine.ts'
import type { Task, TaskPatch } from './task.ts'
import { TASK_CHANGED_KIND, TASK_CREATED_KIND, TASK_TRANSITION_KIND } from '../task-entries.ts'
import { listTaskHistoryAsJson } from './task-history.ts'
import type { TaskReader } from './task-reader-store.ts'

/** Enough to see that something is wrong; the others appear when these are resolved. */
const MAX_STALLED = 50

export function createTaskTools(
  records: RuntimeRecordDependencies,
  store: TaskReader,
  stores: ThoughtTrailStores,
): readonly Capability[] {
  return [
    taskCreateTool.handledBy(async ({ status, more = [], ...first }, call) => {
      if (status !== undefined && status !== INITIAL_TASK_STATUS)
        return fail(createInvalidTransitionFault(null, status))
      const created = await records.database.commit(() =>
        createTasks(records, store, { inputs: [first, ...more], call }),
      )
      if (!created.ok) return created
      const [task, ...others] = created.value
      return createRuntimeOutcome({ ...task, ...(others.length === 0 ? {} : { more: others }) })
    }),

    taskGetTool.handledBy(async ({ id, include }, context) => {
      const task = store.get(id)
      if (task === undefined) return fail(notFound(id))
      const changes = include.includes('changes') ? await changesForTask(context, id) : ok({})
      if (!changes.ok) return changes
      return createRuntimeOutcome({
        ...task,
        ...changes.value,
        ...(include.includes('history') ? listTaskHistoryAsJson(records.ledger, task) : {}),
        ...(include.includes('thoughts') ? listTaskThoughtsAsJson(records, stores, id) : {}),
      })
    }),

    taskUpdateTool.handledBy(async ({ ignored, ...update }, call) => {
      const updated = await records.database.commit(() => updateTask(records, { store, stores }, { ...update, call }))
      return toRuntimeOutcome(updated.ok && ignored.length > 0 ? ok({ ...updated.value, ignored }) : updated)
    }),

    taskListTool.handledBy(async ({ limit, offset, cursor, ...filter }) => {
      const scope = formatCursorScope('task_list', filter)
      const after = readCursor<[number]>(cursor, scope, 1)
      if (!after.ok) return after
      const found = store.list(filter, { after: after.value?.[0] ?? -1, limit: limit + 1, offset })
      const { rows, ...next } = cutPage(found, limit, ({ seq }) => encodeCursor(scope, [seq]))
      return createRuntimeOutcome({ tasks: rows.map(({ task }) => task), total: store.count(filter), ...next })
    }),

    taskNextActionsTool.handledBy(async ({ limit, cursor, ...filter }) => {
      const scope = formatCursorScope('task_next_actions', filter)
      // The cursor has rank and age, because many tasks share a rank.
      const after = readCursor<[number, number]>(cursor, scope, 2)
      if (!after.ok) return after
      // A cursor before the first task, because ranks begin at 0.
      const found = store.next(filter, { after: after.value ?? [-1, 0], limit: limit + 1 })
      const { rows, ...next } = cutPage(found, limit, ({ rank, seq }) => encodeCursor(scope, [rank, seq]))
      return createRuntimeOutcome({
        tasks: rows.map(({ task }) => ({ ...task, next_statuses: TASK_TRANSITIONS[task.status] })),
        blocked_count: store.countBlocked(filter),
        stalled: store.stalled(filter, MAX_STALLED).map((task) => ({ ...task })),
        ...next,
      })
    }),
  ]
}

const MAX_CHANGES_WITH_TASK = 50

/** Requested through the bus in the caller's name, so that the caller sees the same changes as with ledger_changes. */
async function changesForTask(context: HandlerContext, taskId: string): Promise<Result<JsonObject, Fault>> {
  const listed = await context.call('ledger_changes', { task_id: taskId, limit: MAX_CHANGES_WITH_TASK })
  if (!listed.ok) return listed
  const { data } = listed.value
  if (!isJsonObject(data)) throw new Error('ledger_changes answered no object')
  const { changes = [], next_cursor: cursor } = data
  return ok({ changes, ...(cursor === undefined ? {} : { changes_cursor: cursor }) })
}

interface Creation {
  readonly inputs: readonly TaskCreation[]
  readonly call: Call
}

interface TaskCreation extends Omit<TaskPatch, 'status' | 'reason'> {
  readonly title: string
  readonly follows?: string
}

/** All tasks are checked before the first is written, because a fault undoes nothing. */
function createTasks(
  { ledger }: RuntimeRecordDependencies,
  store: TaskReader,
  { inputs, call }: Creation,
): Result<readonly [Task, ...Task[]], Fault> {
  const ids: readonly string[] = inputs.map(() => randomUUID())
  const events: { readonly event: LedgerEvent; readonly body: JsonObject }[] = []
  for (const [place, input] of inputs.entries()) {
    const earlier = ids.slice(0, place)
    const named = namedTasks(input, earlier)
    if (!named.ok) return named
    const { dependsOn, follows } = named.value
    // A new task cannot be in a cycle, because its id is not known to any other task yet.
    const missing = [...dependsOn, ...(follows === undefined ? [] : [follows])].filter(
      (other) => !earlier.includes(other) && store.get(other) === undefined,
    )
    if (missing.length > 0) return fail(missingTasks(missing))
    const { title, project_id = null, description = null, priority = null, assignee = null } = input
    const body = { title, project_id, description, priority, assignee }
    // The texts that people wrote are in the erasable body; the event contains only what never has to be erased.
    const fields = Object.keys(body).filter((field) => body[field as keyof typeof body] !== null)
    const event = {
      kind: TASK_CREATED_KIND,
      task_id: ids[place],
      status: INITIAL_TASK_STATUS,
      version: 1,
      fields,
      depends_on: dependsOn,
      follows,
      ...readCallOrigin(call),
    }
    events.push({ event, body })
  }
  for (const { event, body } of events) ledger.appendIn(event, body)
  return ok(ids.map((id) => stored(store, id)) as [Task, ...Task[]])
}

const OWN_REFERENCE = /^#(\d{1,2})$/

/** `#0` stands for the first task of the same call. */
function namedTasks(
  { depends_on: given = [], follows }: TaskCreation,
  earlier: readonly string[],
): Result<{ readonly dependsOn: readonly string[]; readonly follows: string | undefined }, Fault> {
  const unresolved: string[] = []
  const resolve = (name: string): string => {
    const place = OWN_REFERENCE.exec(name)?.[1]
    if (place === undefined) return name
    const id = earlier[Number(place)]
    if (id === undefined) unresolved.push(name)
    return id ?? name
  }
  const dependsOn = [...new Set(given.map(resolve))]
  const followed = follows === undefined ? undefined : resolve(follows)
  if (unresolved.length === 0) return ok({ dependsOn, follows: followed })
  return fail(createRuntimeArgumentFault('more', `${unresolved.join(', ')} is no earlier task of this call`))
}

interface Update {
  readonly id: string
  readonly words: Omit<TaskPatch, 'status'>
  readonly transitions: readonly RequestedTaskTransition[]
  readonly reflection?: Omit<ThoughtToRecord, 'type' | 'task_id' | 'call'>
  readonly expected_version?: number
  readonly call: Call
}

interface UpdateStores {
  readonly store: TaskReader
  readonly stores: ThoughtTrailStores
}

/** Everything is checked before anything is written: a fault undoes nothing. */
function updateTask(
  records: RuntimeRecordDependencies,
  { store, stores }: UpdateStores,
  { id, words, transitions, expected_version: expected, reflection, call }: Update,
): Result<Task & { readonly reflection?: Thought }, Fault> {
  const task = store.get(id)
  if (task === undefined) return fail(notFound(id))
  // Read inside the transaction, so that nobody can change the task between this read and the write.
  if (expected !== undefined && expected !== task.version) return fail(versionConflict(task, expected))
  const wanted = words.depends_on === undefined ? ok(undefined) : checkDependencies(store, id, words.depends_on)
  if (!wanted.ok) return wanted
  const refused = explainTaskChangeRefusal(task, transitions, {
    hasReflection: () => store.hasReflectionSinceVerify(id),
    includesReflection: reflection !== undefined,
    // With the dependencies that the patch sets, not with those that it replaces.
    unfinished: wanted.value?.filter((other) => store.get(other)?.status !== 'DONE') ?? task.blocked_by,
  })
  if (refused !== undefined) return fail(refused)
  const recording: ThoughtToRecord | undefined =
    reflection === undefined ? undefined : { ...reflection, type: 'reflection', task_id: id, call }
  const session = recording === undefined ? ok(null) : checkThoughtAndResolveSession(stores, recording)
  if (!session.ok) return session

  const { depends_on: _, ...patch } = words
  const [first, ...later] = transitions
  let recorded: Thought | undefined
  const append = (
    transition: RequestedTaskTransition | undefined,
    own: typeof patch,
    dependsOn?: readonly string[],
  ): void => {
    if (transition?.status === 'DONE' && recording !== undefined)
      recorded = appendThought(records, stores, recording, session.value)
    const event = changeEvent(stored(store, id), { ...own, ...transition }, call)
    const { status: _status, ...body } = { ...own, ...transition }
    records.ledger.appendIn({ ...event, depends_on: dependsOn }, body)
  }
  append(first, patch, wanted.value)
  for (const transition of later) append(transition, {})
  return ok({ ...stored(store, id), ...(recorded === undefined ? {} : { reflection: recorded }) })
}

const NOT_WORDS: ReadonlySet<string> = new Set(['status', 'reason', 'depends_on'])

/** The texts of a task are in the erasable body; the event lists which of them it set, and which it emptied. */
function changeEvent(
  task: Task,
  patch: TaskPatch,
  call: Call,
): { kind: string; [field: string]: string | number | string[] | undefined } {
  const named = Object.entries(patch).filter(([field]) => !NOT_WORDS.has(field))
  const fields = named.filter(([, value]) => value !== null).map(([field]) => field)
  const emptied = named.filter(([, value]) => value === null).map(([field]) => field)
  const common = {
    task_id: task.id,
    version: task.version + 1,
    previous_entry: task.log_index,
    fields,
    emptied,
    ...readCallOrigin(call),
  }
  if (patch.status === undefined) return { kind: TASK_CHANGED_KIND, ...common }
  return { kind: TASK_TRANSITION_KIND, from: task.status, to: patch.status, ...common }
}

/** The dependencies without repetitions; refused when one does not exist or would close a cycle. */
function checkDependencies(
  store: TaskReader,
  id: string,
  dependsOn: readonly string[],
): Result<readonly string[], Fault> {
  const wanted = [...new Set(dependsOn)]
  // A task that names itself exists; this is the shortest cycle, and is reported as one below.
  const missing = wanted.filter((other) => other !== id && store.get(other) === undefined)
  if (missing.length > 0) return fail(missingTasks(missing))
  const cycle = findDependencyCycle(id, wanted, store.dependenciesOf)
  if (cycle === undefined) return ok(wanted)
  return fail(
    createRuntimeFault('ERR_DEPENDENCY_CYCLE', `The task would wait for itself: ${cycle.join(' ▸ ')}.`, {
      cycle: [...cycle],
    }),
  )
}

function stored(store: TaskReader, id: string): Task {
  const task = store.get(id)
  if (task === undefined) throw new Error(`task ${id} was written and is not there`)
  return task
}

function notFound(id: string): Fault {
  return createRuntimeFault('ERR_NOT_FOUND', `There is no task ${id}.`, { id })
}

function missingTasks(missing: readonly string[]): Fault {
  return createRuntimeFault('ERR_DEPENDENCY_NOT_FOUND', `There is no task ${missing.join(', ')}.`, {
    missing: [...missing],
  })
}

function versionConflict(task: Task, expected: number): Fault {
  return createRuntimeFault(
    'ERR_VERSION_CONFLICT',
    `The task is at version ${task.version}, not ${expected}: somebody changed it. Read it again.`,
    { expected_version: expected, version: task.version },
  )
}
