/**
 * Thought tools: the handlers of the three tools of the decision trail.
 *
 * Reads and writes through its stores.
 */
import type { Capability } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { createRuntimeOutcome, toRuntimeOutcome } from '../runtime-dependencies.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { formatCursorScope, encodeCursor } from '../../toolbox/cursor.ts'
import { countFittingRows, cutPage, readCursor } from '../paging.ts'
import { runGeneratorYielding } from '../generator-runner.ts'
import { auditVerifyChainTool, thoughtRecordTool, thoughtRecordListTool } from './thought-definitions.ts'
import { readThoughtContent } from './thought-entry.ts'
import {
  appendThought,
  checkThoughtAndResolveSession,
  buildThoughtFromRow,
  createUnknownTaskFault,
} from './thought-recording.ts'
import { createUnknownSessionFault } from './audit-session-id.ts'
import type { ThoughtToRecord, ThoughtTrailStores } from './thought-recording.ts'
import type { Thought } from './thought.ts'
import type { ThoughtReader } from './thought-reader-store.ts'
import { compareTrailTablesWithLedger } from './trail-table-comparison.ts'
import { verifyThoughtTrail } from './trail-verification.ts'
import type { ThoughtTrailReport, ThoughtTrailCounts } from './trail-verification.ts'

/** A page of long thoughts ends early to fit a model. */
const MAX_PAGE_CHARACTERS = 250_000
/** Beyond this number `by_task_omitted` counts the tasks; the totals are over all of them. */
const MAX_TASKS_LISTED = 1_000

export function createThoughtTrailTools(
  records: RuntimeRecordDependencies,
  stores: ThoughtTrailStores,
): readonly Capability[] {
  return [
    thoughtRecordTool.handledBy(async (input, call) =>
      toRuntimeOutcome(await records.database.commit(() => recordThought(records, stores, { ...input, call }))),
    ),

    thoughtRecordListTool.handledBy(async ({ limit, cursor, ...filter }) => {
      const { task_id: taskId, session_id: sessionId } = filter
      // An empty list would mean that the task exists without any thoughts.
      if (taskId !== undefined && !isKnownTask(stores, taskId)) return fail(createUnknownTaskFault(taskId))
      if (sessionId !== undefined && !stores.state.sessions.has(sessionId))
        return fail(createUnknownSessionFault(sessionId))
      const after = readCursor<[number]>(cursor, formatCursorScope('thought_record_list', filter), 1)
      if (!after.ok) return after
      const { listed, ...next } = listThoughts(records, stores, { filter, after: after.value?.[0] ?? -1, limit })
      return createRuntimeOutcome({ records: listed, ...next })
    }),

    auditVerifyChainTool.handledBy(async ({ task_id: taskId }, { signal }) => {
      // A task that does not exist has no valid trail. A task that is only in the tables is a finding, not an unknown
      // one.
      if (taskId !== undefined && !isKnownTask(stores, taskId)) return fail(createUnknownTaskFault(taskId))
      // Records that are added during the verification are left for the next one, because it would never end otherwise.
      const to = records.ledger.size()
      const stretch = { from: 0, to, ...(taskId === undefined ? {} : { taskId }) }
      const walked = await runGeneratorYielding(verifyThoughtTrail(stores, stretch), signal)
      if (!walked.ok) return walked
      const compared = await runGeneratorYielding(compareTrailTablesWithLedger(records, stores, taskId), signal)
      if (!compared.ok) return compared
      const byTask = taskId === undefined ? tasksOf(walked.value) : {}
      const { findings } = walked.value
      const { brokenSessions, brokenTasks, problems } = compared.value
      const chains = verdict(walked.value)
      return createRuntimeOutcome({
        ...chains,
        valid: chains.valid && problems.length === 0,
        ...byTask,
        broken_sessions: [...brokenSessions],
        broken_tasks: [...brokenTasks],
        problems: [...problems],
        findings: findings.map((finding) => ({ ...finding })),
        log_size: to,
      })
    }),
  ]
}

function recordThought(
  records: RuntimeRecordDependencies,
  stores: ThoughtTrailStores,
  recording: ThoughtToRecord,
): Result<Thought & { readonly unsealed?: string }, Fault> {
  const session = checkThoughtAndResolveSession(stores, recording)
  if (!session.ok) return session
  const thought = appendThought(records, stores, recording, session.value)
  return ok(session.value === null ? { ...thought, unsealed: unsealedNote(recording.task_id) } : thought)
}

/** Only the ledger proves a record outside of every session; a caller who meant to seal it must be told now. */
function unsealedNote(taskId: string): string {
  return `Task ${taskId} has no open session, so no seal covers this record. audit_session_start with this task_id opens one for the records to come.`
}

interface ThoughtPage {
  readonly filter: Parameters<ThoughtReader['list']>[0]
  readonly after: number
  readonly limit: number
}

function listThoughts(
  records: RuntimeRecordDependencies,
  { thoughts }: ThoughtTrailStores,
  { filter, after, limit }: ThoughtPage,
): { readonly listed: readonly Thought[]; readonly next_cursor?: string } {
  const scope = formatCursorScope('thought_record_list', filter)
  // One more than requested, to know whether there is a next page.
  const found = thoughts.list(filter, { after, limit: limit + 1 })
  const readable = found.map((row) => ({ row, content: readStoredContent(records, row.log_index) }))
  const size = { limit, maxCharacters: MAX_PAGE_CHARACTERS }
  const fitting = countFittingRows(readable, size, ({ content }) => content?.length ?? 0)
  const { rows, ...next } = cutPage(readable, fitting, ({ row }) => encodeCursor(scope, [row.seq]))
  return { listed: rows.map(({ row, content }) => buildThoughtFromRow(row, content)), ...next }
}

const MAX_WITH_TASK = 50

/** The thoughts about a task, for the tool that shows the task; thought_record_list continues where it stopped. */
export function listTaskThoughtsAsJson(
  records: RuntimeRecordDependencies,
  stores: ThoughtTrailStores,
  taskId: string,
): JsonObject {
  const first = { filter: { task_id: taskId }, after: -1, limit: MAX_WITH_TASK }
  const { listed, next_cursor: cursor } = listThoughts(records, stores, first)
  return { thoughts: [...listed], ...(cursor === undefined ? {} : { thoughts_cursor: cursor }) }
}

function isKnownTask({ state, thoughts }: ThoughtTrailStores, taskId: string): boolean {
  return state.tasks.has(taskId) || thoughts.list({ task_id: taskId }, { after: -1, limit: 1 }).length > 0
}

/** The text; `undefined` once it was erased. */
function readStoredContent({ ledger }: RuntimeRecordDependencies, logIndex: number): string | undefined {
  const state = ledger.body(logIndex)
  return state.kind === 'kept' ? readThoughtContent(state.body) : undefined
}

function verdict({
  record_count,
  broken_count,
  missing_count,
  erased_count,
  first_broken_at,
}: ThoughtTrailCounts): JsonObject & {
  readonly valid: boolean
} {
  return {
    valid: broken_count === 0 && missing_count === 0,
    broken_count,
    record_count,
    missing_count,
    erased_count,
    ...(first_broken_at === undefined ? {} : { first_broken_at }),
  }
}

function tasksOf({ byTask }: ThoughtTrailReport): JsonObject {
  const listed = [...byTask].slice(0, MAX_TASKS_LISTED)
  const omitted = byTask.size - listed.length
  return {
    by_task: listed.map(([task_id, tally]) => ({ task_id, ...verdict(tally) })),
    ...(omitted === 0 ? {} : { by_task_omitted: omitted }),
  }
}
