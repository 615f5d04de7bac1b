/**
 * Record meta: what the `_meta` of a request says about the caller's work, and what the `_meta` of an answer says about
 * its record in the ledger.
 *
 *   request  _meta["io.hearthbus/task"], _meta["io.hearthbus/session"]       a task and an audit session of the runtime
 *   answer   _meta["io.hearthbus/record"] { trace_id, log_index, end_log_index, approval?, grant?, task_id?, session_id? }
 *
 * Pure.
 */
import type { Outcome } from '../bus/call.ts'
import type { RecordReference, WorkReference } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'

const TASK_META_KEY = 'io.hearthbus/task'
const SESSION_META_KEY = 'io.hearthbus/session'
const RECORD_META_KEY = 'io.hearthbus/record'

/** Ids of the runtime are shorter. */
const MAX_WORK_ID = 128

/**
 * Names that are no text, empty or too long are left out: a mistake in `_meta` must not break a call. The answer says
 * which names were recorded.
 */
export function workIn(meta: Readonly<Record<string, unknown>>): WorkReference | undefined {
  const [taskId, sessionId] = [workId(meta[TASK_META_KEY]), workId(meta[SESSION_META_KEY])]
  if (taskId === undefined && sessionId === undefined) return undefined
  return { ...(taskId === undefined ? {} : { taskId }), ...(sessionId === undefined ? {} : { sessionId }) }
}

function workId(given: unknown): string | undefined {
  return typeof given === 'string' && given !== '' && given.length <= MAX_WORK_ID && given.isWellFormed()
    ? given
    : undefined
}

/** Nothing for an answer that has no record: the ledger could not be written. */
export function recordMeta(outcome: Outcome): JsonObject {
  const record = outcome.ok ? outcome.value.record : outcome.fault.record
  return record === undefined ? {} : { [RECORD_META_KEY]: recordJson(record) }
}

function recordJson({ traceId, logIndex, endLogIndex, approval, grant, work }: RecordReference): JsonObject {
  return {
    trace_id: traceId,
    log_index: logIndex,
    end_log_index: endLogIndex,
    ...(approval === undefined ? {} : { approval }),
    ...(grant === undefined ? {} : { grant }),
    ...(work?.taskId === undefined ? {} : { task_id: work.taskId }),
    ...(work?.sessionId === undefined ? {} : { session_id: work.sessionId }),
  }
}
