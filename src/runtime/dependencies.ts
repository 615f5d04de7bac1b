/**
 * Dependencies: what the runtime is given. Its tools write through these and know nothing of who made them.
 */
import type { Call, Outcome } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Fault } from '../core/fault.ts'
import type { Json } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { sanitizeLine } from '../core/stranger-text.ts'
import type { Ledger } from '../ledger/ledger.ts'

/** What every tool that keeps records needs: a change and its ledger event are one work of `database.commit`. */
export interface RuntimeRecords {
  readonly database: Database
  readonly ledger: Ledger
  readonly clock: Clock
}

/** Handlers of the family do not overlap (spec 5 § 4, stage 1). */
export const RUNTIME_LOCK = 'runtime'

/** Of what a program calls itself. */
const MAX_CLIENT_LENGTH = 128

export interface CallOrigin {
  /** Whose credential the call came with. */
  readonly principal: string
  /** What the program calls itself: nobody proves it, so it never stands in the credential's place. */
  readonly client: string | undefined
  readonly trace_id: string
}

/** Who asked, and in which call: what every event of the runtime says. */
export function readOrigin({ caller, traceId }: Call): CallOrigin {
  const client = caller.kind === 'principal' ? caller.client : undefined
  return {
    principal: callerKey(caller),
    client: client === undefined ? undefined : sanitizeLine(client, MAX_CLIENT_LENGTH),
    trace_id: traceId,
  }
}

export function runtimeAnswer(data: Json): Outcome {
  return ok({ data })
}

/** For works that may refuse. A fault is no exception, so nothing is undone: a work checks first and writes last. */
export function toRuntimeAnswer(result: Result<Json, Fault>): Outcome {
  return result.ok ? runtimeAnswer(result.value) : fail(result.fault)
}
