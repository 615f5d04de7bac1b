/** Runtime dependencies: what the runtime's tools are given. */
import type { Call, Outcome } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Fault } from '../core/fault.ts'
import type { Json } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { sanitizeLine } from '../core/untrusted-text.ts'
import type { Ledger } from '../ledger/ledger.ts'

/** What every tool that keeps records needs: a change and its ledger event are one work of `database.commit`. */
export interface RuntimeRecordDependencies {
  readonly database: Database
  readonly ledger: Ledger
  readonly clock: Clock
}

/** The lock key of the family: its handlers do not overlap (spec 5 § 4, stage 1). */
export const RUNTIME_LOCK_KEY = 'runtime'

/** Limit for the name that a program gives itself. */
const MAX_CLIENT_LENGTH = 128

export interface CallOrigin {
  /** The principal whose credential the call came with. */
  readonly principal: string
  /** The name that the program gives itself: not verified, so it never replaces the principal. */
  readonly client: string | undefined
  readonly trace_id: string
}

/** The caller and the trace, which every event of the runtime records. */
export function readCallOrigin({ caller, traceId }: Call): CallOrigin {
  const client = caller.kind === 'principal' ? caller.client : undefined
  return {
    principal: toCallerKey(caller),
    client: client === undefined ? undefined : sanitizeLine(client, MAX_CLIENT_LENGTH),
    trace_id: traceId,
  }
}

export function createRuntimeOutcome(data: Json): Outcome {
  return ok({ data })
}

/**
 * Turns a work's result into an outcome. A fault is not an exception, so nothing is undone: a work must check first and
 * write last.
 */
export function toRuntimeOutcome(result: Result<Json, Fault>): Outcome {
  return result.ok ? createRuntimeOutcome(result.value) : fail(result.fault)
}
