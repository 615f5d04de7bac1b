/**
 * Call reservation: the one durable step between a decision and an act, and what the outcome means for it afterwards.
 *
 *   turn at the actuator ▸ its rest ▸ key reserved ▸ approval or grant used ▸ budget taken ▸ change of the day counted
 *                                     └──────────────── one transaction: all of it, or nothing ────────────────────┘
 *
 * The decision is made again inside, from what the tables say at that moment: of a hundred concurrent calls with the
 * same approval, one gets it. A crash afterwards leaves a used approval and an unknown key, never a second act. A
 * change that was sent and not answered may not be repeated: it is not known whether it took effect, and the caller
 * must be told so.
 */
import { toAccountKey, toCallerKey } from '../bus/caller.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import type { KeyedLock } from '../core/fair-queue.ts'
import { LedgerRefusalError, formatLedgerFaultBriefly } from '../ledger/ledger-state.ts'
import type { ActuatorUsageStore } from './actuator-usage-and-stop-store.ts'
import { lookUpCallApproval, recordApprovalRequest } from './approval-request.ts'
import type { ApprovalRequestDependencies, HashedCall } from './approval-request.ts'
import {
  createRefusedAuthorization,
  needsPersonApproval,
  screenCallAgainstPolicy,
  evaluatePolicyForCall,
  hasIdempotencyKey,
  rateLimitPlanAndAssessCall,
  createPolicyRefusedAuthorization,
  addFamilyDetailsToFault,
} from './call-decision.ts'
import type { Authorization, ApprovalInUse, AssessedCall, CallDecisionDependencies } from './call-decision.ts'
import { computeArgumentsHash, computeKeyedHash } from './call-binding.ts'
import type { IdempotencyKeyStore, IdempotencyKeyUse } from './idempotency-key-store.ts'
import { listDrivenActuators, isOnlyActuatorRestReason } from './limits.ts'
import type { CallApprovalStatus, PolicyDecision } from './policy.ts'
import {
  createApprovalRequiredFault,
  createRepeatedKeyOutcome,
  createCancelledCallFault,
  NOT_UNICODE_FAULT,
} from './guard-faults.ts'
import type { GuardTransactionRunner, GuardTransaction } from './guard-transaction-store.ts'
import type { Call, Outcome } from '../bus/call.ts'
import type { Effect, Offer } from '../bus/capability.ts'
import { isFaultBeforeAttempt } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'

export interface CallReservationDependencies extends CallDecisionDependencies, ApprovalRequestDependencies {
  readonly transact: GuardTransactionRunner
  readonly nowMs: () => number
  readonly actuators: ActuatorUsageStore
  readonly keys: IdempotencyKeyStore
  /** A lock per actuator, at which callers take turns. */
  readonly turns: KeyedLock
  /** Ends early when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

const MAX_KEY = 512
const FRESH = { state: 'fresh' } as const
const NO_APPROVAL = { state: 'none' } as const

/** The decision about one call, as the steps that dispatch takes before and after it runs the call. */
export interface CallDecisionSteps {
  readonly plan: (call: Call, offer: Offer) => Result<AssessedCall, Fault> | Promise<Result<AssessedCall, Fault>>
  readonly authorise: (assessed: AssessedCall) => Authorization
  readonly reserve: (assessed: AssessedCall, decision: PolicyDecision) => Authorization | Promise<Authorization>
  readonly settle: (outcome: Outcome, reserved: ReservedCall) => Promise<Outcome>
}

export function createCallDecisionSteps(parts: CallReservationDependencies): CallDecisionSteps {
  return {
    plan: (call, offer) => rateLimitPlanAndAssessCall(call, offer, parts),
    authorise: (assessed) => screenCallAgainstPolicy(assessed, parts),
    reserve: (assessed, decision) => reserveCall(assessed, decision, parts),
    settle: (outcome, reserved) => settleCall(outcome, reserved, parts),
  }
}

/**
 * Most calls reserve nothing durable: their budget is taken from memory, in the same turn of the event loop as the
 * decision.
 */
export function reserveCall(
  assessed: AssessedCall,
  decision: PolicyDecision,
  parts: CallReservationDependencies,
): Authorization | Promise<Authorization> {
  const { act } = assessed
  const isProposed = parts.approvals.isProposed(toCallerKey(assessed.call.caller), assessed.offer.name)
  const isRecorded =
    isProposed ||
    hasIdempotencyKey(assessed) ||
    listDrivenActuators(act).length > 0 ||
    decision.verdict === 'approval-required'
  if (isRecorded) return reserveRecorded(assessed, parts)
  if (decision.verdict !== 'allow') return createPolicyRefusedAuthorization(assessed, decision)
  parts.limits.take(act)
  return { kind: 'granted', effect: decision.effect, key: undefined, approvalInUse: undefined }
}

async function reserveRecorded(assessed: AssessedCall, parts: CallReservationDependencies): Promise<Authorization> {
  const { call, assessment } = assessed
  const argsHash = computeArgumentsHash(parts.hashKey, call.body)
  if (argsHash === undefined) return createRefusedAuthorization(NOT_UNICODE_FAULT)
  const key = assessment.idempotencyKey
  if (key !== undefined && (key === '' || key.length > MAX_KEY))
    return createRefusedAuthorization({
      kind: 'invalid-arguments',
      message: `An idempotency key has 1 to ${MAX_KEY} characters.`,
    })
  // One lock is enough to order the callers: whether the other actuators rest is decided in the transaction.
  const [driven] = listDrivenActuators(assessed.act)
  const reservation = { assessed, argsHash }
  if (driven === undefined) return transacted(reservation, parts)
  // Mostly no other caller is waiting and the actuator has rested long enough.
  const atOnce = parts.turns.isHeld(driven) ? undefined : await transacted(reservation, parts)
  if (atOnce !== undefined && restOf(atOnce) === undefined) return atOnce
  const turn = await parts.turns.acquire(driven, toAccountKey(call.caller), call.signal)
  if (!turn.ok)
    return createRefusedAuthorization(
      turn.fault === 'aborted' ? createCancelledCallFault(call, parts.monotonic()) : crowded(assessed),
    )
  try {
    return await afterItsRest(reservation, parts)
  } finally {
    turn.value()
  }
}

/** The lock's holder waits for the actuator's rest, where that ends in time; the others wait for the lock. */
async function afterItsRest(reservation: HashedCall, parts: CallReservationDependencies): Promise<Authorization> {
  const { call } = reservation.assessed
  const untilMs = Math.min(call.deadlineMs, parts.monotonic() + parts.config.limits.maxRestWaitMs)
  for (;;) {
    const authorization = await transacted(reservation, parts)
    const restMs = restOf(authorization)
    if (restMs === undefined || parts.monotonic() + restMs >= untilMs) return authorization
    await parts.sleep(restMs, call.signal)
  }
}

/** `undefined` when the decision was not about the actuator's rest. */
function restOf(authorization: Authorization): number | undefined {
  if (authorization.kind !== 'answered' || authorization.outcome.ok) return undefined
  const { fault } = authorization.outcome
  return isOnlyActuatorRestReason(fault.reasons) ? fault.retryAfterMs : undefined
}

async function transacted(reservation: HashedCall, parts: CallReservationDependencies): Promise<Authorization> {
  try {
    return await parts.transact((transaction) => reserveIn(transaction, reservation, parts))
  } catch (error) {
    // The disk is full, or the ledger refuses entries: a call that cannot be recorded is not made.
    parts.report(error, `${reservation.assessed.offer.name} could not be recorded beforehand`)
    const cause =
      error instanceof LedgerRefusalError
        ? formatLedgerFaultBriefly(error.fault)
        : 'This call cannot be recorded (is the disk full?).'
    return createRefusedAuthorization({
      kind: 'internal',
      message: `${cause} Nothing was tried. \`hearthbus doctor\` says more.`,
    })
  }
}

/** Everything is looked up and decided first; only then is anything used up. */
function reserveIn(
  transaction: GuardTransaction,
  { assessed, argsHash }: HashedCall,
  parts: CallReservationDependencies,
): Authorization {
  const { call, act } = assessed
  const { keys, approvals, grants, limits, actuators } = parts
  // The caller may have gone while the transaction waited: then nothing is used up.
  if (call.signal.aborted) return createRefusedAuthorization(createCancelledCallFault(call, parts.monotonic()))

  const key = hasIdempotencyKey(assessed) ? keyUse(assessed, argsHash, parts.hashKey) : undefined
  const keyStatus = key === undefined ? FRESH : keys.standingIn(transaction, key)
  const isApprovalRequired = needsPersonApproval(assessed, parts)
  const isProposed = parts.approvals.isProposed(toCallerKey(call.caller), assessed.offer.name)
  const lookup =
    isApprovalRequired || isProposed ? lookUpCallApproval(transaction, { assessed, argsHash }, parts) : undefined
  if (lookup?.ok === false) return createRefusedAuthorization(addFamilyDetailsToFault(lookup.fault, assessed))
  // Then another call of the same tool is in a voting round, not this one.
  const request =
    isApprovalRequired || (lookup !== undefined && lookup.value.standing.state !== 'none') ? lookup?.value : undefined
  const approval = request?.standing ?? NO_APPROVAL
  const proposed = !isApprovalRequired && request !== undefined
  const decision = evaluatePolicyForCall(assessed, { approval, proposed, repeat: keyStatus.state !== 'fresh' }, parts)
  if (decision.verdict === 'approval-required' && request !== undefined) {
    const filed = recordApprovalRequest(transaction, { assessed, request }, parts)
    if (!filed.ok) return createRefusedAuthorization(filed.fault)
    return createRefusedAuthorization(
      addFamilyDetailsToFault(
        createApprovalRequiredFault(filed.value, [...decision.reasons, ...request.notes]),
        assessed,
      ),
    )
  }
  if (decision.verdict !== 'allow') return createPolicyRefusedAuthorization(assessed, decision)
  if (keyStatus.state !== 'fresh') return { kind: 'answered', outcome: createRepeatedKeyOutcome(keyStatus) }

  if (key !== undefined) keys.reserveIn(transaction, key)
  const approvalInUse = decision.needsApproval ? toApprovalInUse(approval) : undefined
  if (approvalInUse !== undefined)
    (approvalInUse.state === 'approved' ? approvals : grants).useIn(transaction, approvalInUse.id, call)
  limits.take(act)
  actuators.countIn(transaction, listDrivenActuators(act))
  return { kind: 'granted', effect: decision.effect, key, approvalInUse }
}

function toApprovalInUse(standing: CallApprovalStatus): ApprovalInUse | undefined {
  return standing.state === 'approved' || standing.state === 'granted' ? standing : undefined
}

function keyUse(
  { call, offer, assessment }: AssessedCall,
  argsHash: string,
  hashKey: Uint8Array,
): IdempotencyKeyUse | undefined {
  const { idempotencyKey: key, keyedChange: change } = assessment
  if (key === undefined) return undefined
  return {
    principal: toCallerKey(call.caller),
    capability: offer.name,
    key,
    argsHash: change === undefined ? argsHash : computeKeyedHash(hashKey, change),
  }
}

const CROWDED_RETRY_MS = 1_000

function crowded({ act, offer }: AssessedCall): Fault {
  return {
    kind: 'busy',
    message: `Too many changes wait for ${act.label ?? offer.name}. Try again in a moment.`,
    retryAfterMs: CROWDED_RETRY_MS,
  }
}

/** Fault kinds after which it is not known whether a change that had begun took effect. */
const OPEN: ReadonlySet<FaultKind> = new Set<FaultKind>(['timed-out', 'cancelled', 'internal', 'unknown-outcome'])

type CallSettlementDependencies = Pick<
  CallReservationDependencies,
  'transact' | 'keys' | 'approvals' | 'grants' | 'report'
>

/** Closes the reservation according to the outcome. */
export async function settleCall(
  outcome: Outcome,
  { call, key, approvalInUse, effect, isBegun }: ReservedCall,
  parts: CallSettlementDependencies,
): Promise<Outcome> {
  const settled = isBegun ? markUncertainOutcome(outcome, effect) : outcome
  // Another node, or a nested call, asks a person itself, and nothing was done yet: this approval is kept until the
  // other one is given.
  if (approvalInUse !== undefined && !settled.ok && settled.fault.kind === 'approval-required')
    await giveBack(approvalInUse, call, parts)
  if (key !== undefined) await closeKey(key, isBegun ? settled : undefined, parts)
  return settled
}

export interface ReservedCall {
  readonly call: Call
  readonly effect: Effect
  readonly key: IdempotencyKeyUse | undefined
  readonly approvalInUse: ApprovalInUse | undefined
  /** False if the caller had gone, or the deadline had passed, before anything was tried. */
  readonly isBegun: boolean
}

/** Records the outcome under the key; `undefined` means that nothing was tried, so the key is free again. */
async function closeKey(
  key: IdempotencyKeyUse,
  outcome: Outcome | undefined,
  { keys, report }: CallSettlementDependencies,
): Promise<void> {
  try {
    await (outcome === undefined ? keys.release(key) : keys.finish(key, outcome))
  } catch (error) {
    // The change is made and its answer is returned all the same. Only a repetition is affected: it is told "still
    // under way", and "unknown" after a restart.
    report(error, `the outcome of an idempotency key of ${key.capability} could not be kept`)
  }
}

async function giveBack(approvalInUse: ApprovalInUse, call: Call, parts: CallSettlementDependencies): Promise<void> {
  const store = approvalInUse.state === 'approved' ? parts.approvals : parts.grants
  try {
    await parts.transact((transaction) => store.giveBackIn(transaction, approvalInUse.id, call))
  } catch (error) {
    // The worst consequence is that the person is asked once more.
    parts.report(error, `an approval of ${call.capability} could not be given back`)
  }
}

/**
 * The outcome as the caller gets it, for a call that was allowed to act. Calls that only write our own records are
 * exempt: such a write is complete or absent, and reading shows which.
 */
export function markUncertainOutcome(outcome: Outcome, effect: Effect): Outcome {
  if (outcome.ok || effect === 'reads' || effect === 'records' || !OPEN.has(outcome.fault.kind)) return outcome
  return fail(unknownOutcome(outcome.fault))
}

export function mapOutcomeToKeyState(outcome: Outcome): 'done' | 'free' | 'unknown' {
  if (outcome.ok) return 'done'
  // The same key may be used again.
  if (isFaultBeforeAttempt(outcome.fault)) return 'free'
  return OPEN.has(outcome.fault.kind) ? 'unknown' : 'done'
}

function unknownOutcome(fault: Fault): Fault {
  if (fault.kind === 'unknown-outcome') return fault
  const { retryAfterMs: _, ...rest } = fault
  return {
    ...rest,
    kind: 'unknown-outcome',
    message: `The change was sent and no answer says whether it took effect. Check the state before trying again. (${fault.message})`,
    details: { ...fault.details, cause: fault.kind },
  }
}
