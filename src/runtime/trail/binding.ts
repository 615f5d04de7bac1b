/**
 * Binding: the session that a record belongs to. A record never ends up outside its session unnoticed.
 *
 * Pure.
 */
import type { Fault } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { fault } from '../faults.ts'
import type { SessionStore } from '../proofs/session-store.ts'

/** More are as ambiguous as these. */
const MAX_NAMED = 10

/** The session given, if it is open; else the task's one open session; `null` when it has none. */
export function bindSession(
  sessions: Pick<SessionStore, 'get' | 'openFor'>,
  taskId: string,
  given: string | undefined,
): Result<string | null, Fault> {
  if (given !== undefined) return givenSession(sessions, given)
  // Left unbound it would be outside the seal of the session that it was meant for.
  const open = sessions.openFor(taskId, MAX_NAMED)
  if (open.length > 1)
    return fail(
      fault('ERR_SESSION_AMBIGUOUS', `Task ${taskId} has several open sessions; say which with \`session_id\`.`, {
        session_ids: [...open],
      }),
    )
  return ok(open[0] ?? null)
}

function givenSession(sessions: Pick<SessionStore, 'get'>, sessionId: string): Result<string, Fault> {
  const session = sessions.get(sessionId)
  if (session === undefined)
    return fail(
      fault('ERR_SESSION_NOT_FOUND', `There is no session ${sessionId}; audit_session_start begins one.`, {
        session_id: sessionId,
      }),
    )
  if (session.finalized_at !== null)
    return fail(
      fault('ERR_SESSION_CLOSED', `Session ${sessionId} was finalized and takes no more records.`, {
        session_id: sessionId,
        finalized_at: session.finalized_at,
      }),
    )
  return ok(sessionId)
}
