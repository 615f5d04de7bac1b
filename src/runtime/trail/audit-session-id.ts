/**
 * Audit session id: the session that a record belongs to. It makes sure that a record is not left out of its session
 * unnoticed.
 */
import type { Fault } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { createRuntimeFault } from '../faults.ts'
import type { RuntimeState } from '../runtime-state.ts'

/** More are as ambiguous as these. */
const MAX_NAMED = 10

/** The given session, if it is open; else the task's only open session; `null` when it has none. */
export function resolveAuditSessionId(
  state: Pick<RuntimeState, 'sessions' | 'openSessions'>,
  taskId: string,
  given: string | undefined,
): Result<string | null, Fault> {
  if (given !== undefined) return givenSession(state, given)
  // Without a session the record would not be covered by the seal that it was meant for.
  const open = state.openSessions.get(taskId) ?? []
  if (open.length > 1)
    return fail(
      createRuntimeFault(
        'ERR_SESSION_AMBIGUOUS',
        `Task ${taskId} has several open sessions; say which with \`session_id\`.`,
        {
          session_ids: open.slice(0, MAX_NAMED),
        },
      ),
    )
  return ok(open[0] ?? null)
}

function givenSession({ sessions }: Pick<RuntimeState, 'sessions'>, sessionId: string): Result<string, Fault> {
  const session = sessions.get(sessionId)
  if (session === undefined) return fail(createUnknownSessionFault(sessionId))
  if (session.finalizedAt !== null)
    return fail(
      createRuntimeFault('ERR_SESSION_CLOSED', `Session ${sessionId} was finalized and takes no more records.`, {
        session_id: sessionId,
        finalized_at: session.finalizedAt,
      }),
    )
  return ok(sessionId)
}

export function createUnknownSessionFault(sessionId: string): Fault {
  const message = `There is no session ${sessionId}; audit_session_start begins one.`
  return createRuntimeFault('ERR_SESSION_NOT_FOUND', message, { session_id: sessionId })
}
