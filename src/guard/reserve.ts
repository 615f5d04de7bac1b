/**
 * Reserve: the one durable step between a decision and an act, and what the answer means for it afterwards.
 *
 *   turn at the actuator ▸ its rest ▸ key reserved ▸ approval or grant used ▸ budget taken ▸ change of the day counted
 *                                     └──────────────── one transaction: all of it, or nothing ────────────────────┘
 *
 * The decision is made again inside, from what the tables say at that moment: of a hundred calls that were promised
 * the same approval, one finds it there. A crash afterwards leaves a used approval and an unknown key, never a second
 * act. Silence after a change was sent is not a failure that may be repeated: nobody knows whether it took effect, and
 * everybody must be told so.
 *
 * Pure: the stores do the work.
 */
import { accountKey, callerKey } from '../bus/caller.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import type { KeyedLock } from '../core/fair-queue.ts'
import { LedgerRefusalError, ledgerFaultBrief } from '../ledger/fork.ts'
import type { ActuatorStore } from './actuator-store.ts'
import { createApprovalRequest, fileApprovalRequest } from './approval-request.ts'
import type { ApprovalRequestParts } from './approval-request.ts'
import {
  createFaultAuthorization,
  needsPersonApproval,
  authoriseCall,
  decideOnCall,
  hasIdempotencyKey,
  planCall,
  refuseByDecision,
  withFamilyDetails,
} from './decision.ts'
import type { Authorization, UsedApproval, AssessedCall, PlanParts } from './decision.ts'
import { argumentsHash, keyedHash } from './binding.ts'
import type { IdempotencyKeyStore, IdempotencyKeyUse } from './idempotency-key-store.ts'
import { actuatorsDrivenBy, isOnlyActuatorRest } from './limits.ts'
import type { ApprovalStanding, PolicyDecision } from './policy.ts'
import { approvalRequiredFault, repeatedKeyFault, withdrawnCallFault } from './refusal.ts'
import type { TransactionRunner, Transaction } from './transaction-store.ts'
import type { Call, Outcome } from '../bus/call.ts'
import type { Effect, Offer } from '../bus/capability.ts'
import { isUntried } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { ApprovalStore } from './approvals-store.ts'
import type { GrantStore } from './grants-store.ts'

export interface ReserveParts extends PlanParts, ApprovalRequestParts {
  readonly transact: TransactionRunner
  readonly nowMs: () => number
  readonly actuators: ActuatorStore
  readonly keys: IdempotencyKeyStore
  /** Who acts on an actuator next. */
  readonly turns: KeyedLock
  /** Ends early when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

const MAX_KEY = 512
const FRESH = { state: 'fresh' } as const
const NOT_ASKED = { state: 'none' } as const

/** The decision about one call, as the steps that dispatch takes before and after it executes the call. */
export interface DecisionSteps {
  readonly plan: (call: Call, offer: Offer) => Result<AssessedCall, Fault> | Promise<Result<AssessedCall, Fault>>
  readonly authorise: (assessed: AssessedCall) => Authorization
  readonly reserve: (assessed: AssessedCall, decision: PolicyDecision) => Authorization | Promise<Authorization>
  readonly settle: (outcome: Outcome, reserved: ReservedCall) => Promise<Outcome>
}

export function createDecisionSteps(parts: ReserveParts): DecisionSteps {
  return {
    plan: (call, offer) => planCall(call, offer, parts),
    authorise: (assessed) => authoriseCall(assessed, parts),
    reserve: (assessed, decision) => reserveCall(assessed, decision, parts),
    settle: (outcome, reserved) => settleCall(outcome, reserved, parts),
  }
}

/** Most calls use up nothing that is on record: their budget is taken from memory, in the same turn as the decision. */
export function reserveCall(
  assessed: AssessedCall,
  decision: PolicyDecision,
  parts: ReserveParts,
): Authorization | Promise<Authorization> {
  const { act } = assessed
  const isProposed = parts.approvals.isProposed(callerKey(assessed.call.caller), assessed.offer.name)
  const isRecorded =
    isProposed ||
    hasIdempotencyKey(assessed) ||
    actuatorsDrivenBy(act).length > 0 ||
    decision.verdict === 'approval-required'
  if (isRecorded) return reserveRecorded(assessed, parts)
  if (decision.verdict !== 'allow') return refuseByDecision(assessed, decision)
  parts.limits.take(act)
  return { kind: 'granted', effect: decision.effect, key: undefined, yes: undefined }
}

async function reserveRecorded(assessed: AssessedCall, parts: ReserveParts): Promise<Authorization> {
  const { call, assessment } = assessed
  const argsHash = argumentsHash(parts.hashKey, call.body)
  if (argsHash === undefined)
    return createFaultAuthorization(invalid('The arguments hold text that is not valid Unicode.'))
  const key = assessment.idempotencyKey
  if (key !== undefined && (key === '' || key.length > MAX_KEY))
    return createFaultAuthorization(invalid(`An idempotency key has 1 to ${MAX_KEY} characters.`))
  // One turn is enough for an order among callers: whether the others rest is decided in the transaction.
  const [driven] = actuatorsDrivenBy(assessed.act)
  const reservation = { assessed, argsHash }
  if (driven === undefined) return transacted(reservation, parts)
  // Most find nobody before them, and the actuator at rest long enough.
  const atOnce = parts.turns.isHeld(driven) ? undefined : await transacted(reservation, parts)
  if (atOnce !== undefined && restOf(atOnce) === undefined) return atOnce
  const turn = await parts.turns.acquire(driven, accountKey(call.caller), call.signal)
  if (!turn.ok)
    return createFaultAuthorization(
      turn.fault === 'aborted' ? withdrawnCallFault(call, parts.monotonic()) : crowded(assessed),
    )
  try {
    return await afterItsRest(reservation, parts)
  } finally {
    turn.value()
  }
}

interface Reservation {
  readonly assessed: AssessedCall
  readonly argsHash: string
}

/** Whoever has the turn waits for the actuator's rest, where that is over in time; the others wait for the turn. */
async function afterItsRest(reservation: Reservation, parts: ReserveParts): Promise<Authorization> {
  const { call } = reservation.assessed
  const untilMs = Math.min(call.deadlineMs, parts.monotonic() + parts.config.limits.maxRestWaitMs)
  for (;;) {
    const authorization = await transacted(reservation, parts)
    const restMs = restOf(authorization)
    if (restMs === undefined || parts.monotonic() + restMs >= untilMs) return authorization
    await parts.sleep(restMs, call.signal)
  }
}

/** `undefined`: something else than the actuator's rest decided. */
function restOf(authorization: Authorization): number | undefined {
  if (authorization.kind !== 'answered' || authorization.outcome.ok) return undefined
  const { fault } = authorization.outcome
  return isOnlyActuatorRest(fault.reasons) ? fault.retryAfterMs : undefined
}

async function transacted(reservation: Reservation, parts: ReserveParts): Promise<Authorization> {
  try {
    return await parts.transact((transaction) => reserveIn(transaction, reservation, parts))
  } catch (error) {
    // A full disk, or a ledger that refuses: what cannot be recorded is not done.
    parts.report(error, `${reservation.assessed.offer.name} could not be recorded beforehand`)
    const cause =
      error instanceof LedgerRefusalError
        ? ledgerFaultBrief(error.fault)
        : 'This call cannot be recorded (is the disk full?).'
    return createFaultAuthorization({
      kind: 'internal',
      message: `${cause} Nothing was tried. \`hearthbus doctor\` says more.`,
    })
  }
}

/** First everything is looked up and decided; only then is anything used up. */
function reserveIn(transaction: Transaction, { assessed, argsHash }: Reservation, parts: ReserveParts): Authorization {
  const { call, act } = assessed
  const { keys, approvals, grants, limits, actuators } = parts
  // While the step waited for its turn, the caller may have left: then nothing is used up.
  if (call.signal.aborted) return createFaultAuthorization(withdrawnCallFault(call, parts.monotonic()))

  const key = hasIdempotencyKey(assessed) ? keyUse(assessed, argsHash, parts.hashKey) : undefined
  const keyStanding = key === undefined ? FRESH : keys.standingIn(transaction, key)
  const isAsked = needsPersonApproval(assessed, parts)
  const isProposed = parts.approvals.isProposed(callerKey(call.caller), assessed.offer.name)
  const asked = isAsked || isProposed ? createApprovalRequest(transaction, { assessed, argsHash }, parts) : undefined
  if (asked?.ok === false) return createFaultAuthorization(withFamilyDetails(asked.fault, assessed))
  // Another call of the same tool is before voters: this one is not.
  const request = isAsked || (asked !== undefined && asked.value.standing.state !== 'none') ? asked?.value : undefined
  const approval = request?.standing ?? NOT_ASKED
  const proposed = !isAsked && request !== undefined
  const decision = decideOnCall(assessed, { approval, proposed, repeat: keyStanding.state !== 'fresh' }, parts)
  if (decision.verdict === 'approval-required' && request !== undefined) {
    const filed = fileApprovalRequest(transaction, { assessed, request }, parts)
    if (!filed.ok) return createFaultAuthorization(filed.fault)
    return createFaultAuthorization(
      withFamilyDetails(approvalRequiredFault(filed.value, [...decision.reasons, ...request.notes]), assessed),
    )
  }
  if (decision.verdict !== 'allow') return refuseByDecision(assessed, decision)
  if (keyStanding.state !== 'fresh') return { kind: 'answered', outcome: repeatedKeyFault(keyStanding) }

  if (key !== undefined) keys.reserveIn(transaction, key)
  const yes = decision.needsApproval ? yesOf(approval) : undefined
  if (yes !== undefined) (yes.state === 'approved' ? approvals : grants).useIn(transaction, yes.id, call)
  limits.take(act)
  actuators.countIn(transaction, actuatorsDrivenBy(act))
  return { kind: 'granted', effect: decision.effect, key, yes }
}

function yesOf(standing: ApprovalStanding): UsedApproval | undefined {
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
    principal: callerKey(call.caller),
    capability: offer.name,
    key,
    argsHash: change === undefined ? argsHash : keyedHash(hashKey, change),
  }
}

function invalid(message: string): Fault {
  return { kind: 'invalid-arguments', message }
}

const CROWDED_RETRY_MS = 1_000

function crowded({ act, offer }: AssessedCall): Fault {
  return {
    kind: 'busy',
    message: `Too many changes wait for ${act.label ?? offer.name}. Try again in a moment.`,
    retryAfterMs: CROWDED_RETRY_MS,
  }
}

/** Kinds that leave open whether a change that had begun took effect. */
const OPEN: ReadonlySet<FaultKind> = new Set<FaultKind>(['timed-out', 'cancelled', 'internal', 'unknown-outcome'])

export interface SettleParts {
  readonly transact: TransactionRunner
  readonly nowMs: () => number
  readonly keys: IdempotencyKeyStore
  readonly approvals: ApprovalStore
  readonly grants: GrantStore
  readonly report: (error: unknown, message: string) => void
}

/** What was reserved is closed with what became of it. */
export async function settleCall(
  outcome: Outcome,
  { call, key, yes, effect, isBegun }: ReservedCall,
  parts: SettleParts,
): Promise<Outcome> {
  const settled = isBegun ? settleOutcome(outcome, effect) : outcome
  // Another node, or a call made by this one, asks a person of its own, and nothing was tried: this yes is kept until
  // that one is given.
  if (yes !== undefined && !settled.ok && settled.fault.kind === 'approval-required') await giveBack(yes, call, parts)
  if (key !== undefined) await closeKey(key, isBegun ? settled : undefined, parts)
  return settled
}

export interface ReservedCall {
  readonly call: Call
  readonly effect: Effect
  readonly key: IdempotencyKeyUse | undefined
  readonly yes: UsedApproval | undefined
  /** False: the caller left, or the time was over, before anything was tried. */
  readonly isBegun: boolean
}

/** `undefined`: nothing was tried, so the key is free again. */
async function closeKey(
  key: IdempotencyKeyUse,
  outcome: Outcome | undefined,
  { keys, report }: SettleParts,
): Promise<void> {
  try {
    await (outcome === undefined ? keys.release(key) : keys.finish(key, outcome))
  } catch (error) {
    // The act is done and its answer stands; only a repeat hears "still under way", and after a restart "unknown".
    report(error, `the outcome of an idempotency key of ${key.capability} could not be kept`)
  }
}

async function giveBack(yes: UsedApproval, call: Call, parts: SettleParts): Promise<void> {
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
export function settleOutcome(outcome: Outcome, effect: Effect): Outcome {
  if (outcome.ok || effect === 'reads' || effect === 'records' || !OPEN.has(outcome.fault.kind)) return outcome
  return fail(unknownOutcome(outcome.fault))
}

export function decideIdempotencyKeyState(outcome: Outcome): 'done' | 'free' | 'unknown' {
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
