/**
 * Tools: what the three tools of the decision trail do.
 *
 * Reads and writes through its stores.
 */
import { randomUUID } from 'node:crypto'
import type { Call } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import { hex } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { isoTime } from '../../toolbox/iso-time.ts'
import { answer, answerOf, origin } from '../dependencies.ts'
import type { Records } from '../dependencies.ts'
import { cursorScope, encodeCursor } from '../../toolbox/cursor.ts'
import { page, readCursor } from '../paging.ts'
import type { SessionStore } from '../proofs/session-store.ts'
import type { RuntimeState } from '../runtime-state.ts'
import { inPieces } from '../stride.ts'
import { refuseAuthor } from './authorship.ts'
import { bindSession } from './binding.ts'
import { auditVerifyChain, thoughtRecord, thoughtRecordList } from './definitions.ts'
import { contentOf, thoughtEvent } from './leaf.ts'
import type { NewThought } from './leaf.ts'
import { GENESIS_HASH, thoughtHash } from './thought.ts'
import type { Signature, Statement, Thought } from './thought.ts'
import type { ThoughtRow, ThoughtStore } from './thought-store.ts'
import { compareSubjects } from './subject-comparison.ts'
import { walkTrail } from './verify.ts'
import type { Leaves, Report, Tally } from './verify.ts'

/** A page of long thoughts ends early rather than flood a model. */
const MAX_PAGE_CHARACTERS = 250_000
/** Beyond it `by_task_omitted` counts; the totals are over all of them. */
const MAX_TASKS_LISTED = 1_000

export interface TrailStores {
  readonly state: RuntimeState
  readonly thoughts: ThoughtStore
  readonly sessions: SessionStore
  readonly leaves: Leaves
}

export function trailTools(records: Records, stores: TrailStores): readonly Capability[] {
  const { thoughts } = stores
  return [
    thoughtRecord.handledBy(async (input, call) =>
      answerOf(await records.database.commit(() => recordThought(records, stores, { ...input, call }))),
    ),

    thoughtRecordList.handledBy(async ({ limit, cursor, ...filter }) => {
      const scope = cursorScope('thought_record_list', filter)
      const after = readCursor<[number]>(cursor, scope, 1)
      if (!after.ok) return after
      // One more than asked for, to know whether there is a next page.
      const found = thoughts.list(filter, { after: after.value?.[0] ?? -1, limit: limit + 1 })
      const readable = found.map((row) => ({ row, content: keptContent(records, row.log_index) }))
      const { rows, ...next } = page(readable, fitting(readable, limit), ({ row }) => encodeCursor(scope, [row.seq]))
      return answer({ records: rows.map(({ row, content }) => toThought(row, content)), ...next })
    }),

    auditVerifyChain.handledBy(async ({ task_id: taskId }, { signal }) => {
      // What is recorded during the walk is left for the next one: a trail that grows would never be verified.
      const to = records.ledger.size()
      const stretch = { from: 0, to, ...(taskId === undefined ? {} : { taskId }) }
      const walked = await inPieces(walkTrail(stores, stretch), signal)
      if (!walked.ok) return walked
      const compared = await inPieces(compareSubjects(records, stores, taskId), signal)
      if (!compared.ok) return compared
      const byTask = taskId === undefined ? tasksOf(walked.value) : {}
      const { findings } = walked.value
      const { brokenSessions, brokenTasks, problems } = compared.value
      const chains = verdict(walked.value)
      return answer({
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

interface Recording extends Statement {
  readonly session_id?: string
  readonly signature?: Signature
  readonly call: Call
}

function recordThought(records: Records, stores: TrailStores, recording: Recording): Result<Thought, Fault> {
  const { state } = stores
  const { type, task_id, agent_id, content, signature, call } = recording
  const session = bindSession(state, task_id, recording.session_id)
  if (!session.ok) return session
  const refused = refuseAuthor(state, recording, signature)
  if (refused !== undefined) return fail(refused)

  const before = state.chains.get(task_id)
  const now = isoTime(records.clock.now())
  const chained = {
    id: randomUUID(),
    type,
    task_id,
    content,
    // The sequence is what orders records; a clock that went back must not seem to contradict it.
    timestamp: before !== undefined && before.timestamp > now ? before.timestamp : now,
    prev_hash: before?.hash ?? GENESIS_HASH,
  }
  const { content: _, ...visible } = chained
  const { principal, trace_id: traceId } = origin(call)
  const thought: NewThought = {
    ...visible,
    agent_id,
    session_id: session.value,
    hash: thoughtHash(chained),
    principal,
    public_key: signature?.public_key ?? null,
    signature: signature?.value ?? null,
  }
  const { seq, leafHash } = records.ledger.appendIn(thoughtEvent(thought, traceId), { content })
  return ok(toThought({ ...thought, log_index: seq, leaf_hash: hex(leafHash) }, content))
}

/** `undefined` once it was erased. */
function keptContent({ ledger }: Records, logIndex: number): string | undefined {
  const state = ledger.body(logIndex)
  return state.kind === 'kept' ? contentOf(state.body) : undefined
}

function toThought(row: Omit<ThoughtRow, 'seq'>, content: string | undefined): Thought {
  const { id, type, task_id, agent_id, timestamp, prev_hash, hash, session_id, log_index, leaf_hash } = row
  return {
    id,
    type,
    task_id,
    agent_id,
    content: content ?? null,
    timestamp,
    prev_hash,
    hash,
    session_id,
    recorded_by: row.principal,
    signed: row.signature !== null,
    log_index,
    leaf_hash,
  }
}

/** How many of the rows a page takes; always one, so that paging goes on. */
function fitting(rows: readonly { readonly content: string | undefined }[], limit: number): number {
  let characters = 0
  const tooMuch = rows.findIndex(({ content }) => (characters += content?.length ?? 0) > MAX_PAGE_CHARACTERS)
  return tooMuch === -1 ? limit : Math.max(1, Math.min(limit, tooMuch))
}

function verdict({ record_count, broken_count, missing_count, erased_count, first_broken_at }: Tally): JsonObject & {
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

function tasksOf({ byTask }: Report): JsonObject {
  const listed = [...byTask].slice(0, MAX_TASKS_LISTED)
  const omitted = byTask.size - listed.length
  return {
    by_task: listed.map(([task_id, tally]) => ({ task_id, ...verdict(tally) })),
    ...(omitted === 0 ? {} : { by_task_omitted: omitted }),
  }
}
