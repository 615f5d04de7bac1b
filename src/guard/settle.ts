/**
 * Settle: what an answer means once a change was under way. Silence after a change was sent is not a failure that may
 * be repeated: nobody knows whether it took effect, and everybody must be told so.
 *
 * Pure: the stores do the work.
 */
import type { Call, Outcome } from '../bus/call.ts'
import type { Effect } from '../bus/capability.ts'
import { isUntried } from '../core/fault.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import type { ApprovalStore } from './approvals-store.ts'
import type { UsedYes } from './authorise.ts'
import type { GrantStore } from './grants-store.ts'
import type { KeyStore, KeyUse } from './keys-store.ts'
import type { Transact } from './transaction-store.ts'

/** Kinds that leave open whether a change that had begun took effect. */
const OPEN: ReadonlySet<FaultKind> = new Set<FaultKind>(['timed-out', 'cancelled', 'internal', 'unknown-outcome'])

export interface SettleParts {
  readonly transact: Transact
  readonly keys: KeyStore
  readonly approvals: ApprovalStore
  readonly grants: GrantStore
  readonly report: (error: unknown, message: string) => void
}

/** What was reserved is closed with what became of it. */
export async function settleCall(
  outcome: Outcome,
  { call, key, yes, effect, isBegun }: Reserved,
  parts: SettleParts,
): Promise<Outcome> {
  const settled = isBegun ? settle(outcome, effect) : outcome
  // Another node, or a call made by this one, asks a person of its own, and nothing was tried: this yes is kept until
  // that one is given.
  if (yes !== undefined && !settled.ok && settled.fault.kind === 'approval-required') await giveBack(yes, call, parts)
  if (key !== undefined) await closeKey(key, isBegun ? settled : undefined, parts)
  return settled
}

export interface Reserved {
  readonly call: Call
  readonly effect: Effect
  readonly key: KeyUse | undefined
  readonly yes: UsedYes | undefined
  /** False: the caller left, or the time was over, before anything was tried. */
  readonly isBegun: boolean
}

/** `undefined`: nothing was tried, so the key is free again. */
async function closeKey(key: KeyUse, outcome: Outcome | undefined, { keys, report }: SettleParts): Promise<void> {
  try {
    await (outcome === undefined ? keys.release(key) : keys.finish(key, outcome))
  } catch (error) {
    // The act is done and its answer stands; only a repeat hears "still under way", and after a restart "unknown".
    report(error, `the outcome of an idempotency key of ${key.capability} could not be kept`)
  }
}

async function giveBack(yes: UsedYes, call: Call, parts: SettleParts): Promise<void> {
  const store = yes.state === 'approved' ? parts.approvals : parts.grants
  try {
    await parts.transact((transaction) => store.giveBackIn(transaction, yes.id, call))
  } catch (error) {
    // The person is asked once more, and nothing worse.
    parts.report(error, `a yes to ${call.capability} could not be given back`)
  }
}

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
