/**
 * Settle: what an answer means once a change was under way. Silence after a change was sent is not a failure that may
 * be repeated: nobody knows whether it took effect, and everybody must be told so.
 *
 * Pure.
 */
import type { Outcome } from '../bus/call.ts'
import type { Effect } from '../bus/capability.ts'
import { isUntried } from '../core/fault.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import { fail } from '../core/result.ts'

/** Kinds that leave open whether a change that had begun took effect. */
const OPEN: ReadonlySet<FaultKind> = new Set<FaultKind>(['timed-out', 'cancelled', 'internal', 'unknown-outcome'])

/**
 * The outcome as the caller may hear it, for a call that was let through to act. Our own records are exempt: they are
 * written whole or not at all, and reading them tells which.
 */
export function settle(outcome: Outcome, effect: Effect): Outcome {
  if (outcome.ok || effect === 'reads' || effect === 'records' || !OPEN.has(outcome.fault.kind)) return outcome
  return fail(unknownOutcome(outcome.fault))
}

export function keyFate(outcome: Outcome): 'done' | 'free' | 'unknown' {
  if (outcome.ok) return 'done'
  // The same key may try again.
  if (isUntried(outcome.fault)) return 'free'
  return OPEN.has(outcome.fault.kind) ? 'unknown' : 'done'
}

function unknownOutcome(fault: Fault): Fault {
  if (fault.kind === 'unknown-outcome') return fault
  const { retryAfterMs: _, ...rest } = fault
  return {
    ...rest,
    kind: 'unknown-outcome',
    message: `The change was sent and no answer says whether it took effect. Look before trying again. (${fault.message})`,
    details: { ...fault.details, cause: fault.kind },
  }
}
