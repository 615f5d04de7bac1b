/**
 * Call decision: the guard's four steps for one call; the first two are in this file.
 *
 *   plan        the family says what the call would do; with that, the policy has all it needs
 *   authorise   the policy decides about it, from memory
 *                 ─▶ answered: refused, or the caller's own mistake
 *                 ─▶ rehearsal: no key, approval or budget is touched
 *                 ─▶ open: nothing forbids it, but it needs a key, an approval or budget
 *   reserve     what it uses up, on the disk                                                     call-reservation.ts
 *   settle      the outcome closes what was reserved                                       call-reservation.ts
 *
 * Pure: families look where they have to, the stores do the work.
 */
import type { Call, Outcome } from '../bus/call.ts'
import { toAccountKey } from '../bus/caller.ts'
import type { CallAssessment, Effect, Offer, PlannedCall } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { sanitizeJson, sanitizeLine } from '../core/untrusted-text.ts'
import { isToolInCallerProfiles } from './call-permission.ts'
import type { GuardConfig } from './config.ts'
import type { LimitedAct, GuardLimiter } from './limits.ts'
import {
  findOwnerRuleQuorum,
  findOwnerRuleDecision,
  isApprovalNeeded,
  evaluatePolicy,
  resolveEffectiveEffect,
} from './policy.ts'
import type { CallApprovalStatus, PolicyDecision } from './policy.ts'
import type { QuorumRequirement } from './quorum-voters.ts'
import {
  fillInConfirmationArguments,
  createPolicyDenialFault,
  isMissingOnlyConfirmationArguments,
  createCancelledCallFault,
} from './guard-faults.ts'
import type { EmergencyStopControl } from './actuator-usage-and-stop-store.ts'
import type { IdempotencyKeyUse } from './idempotency-key-store.ts'

/** Longer than any name of a device together with its room. */
const MAX_LABEL = 300

/** A call with its family's assessment. */
export interface AssessedCall {
  readonly call: Call
  readonly offer: Offer
  readonly assessment: CallAssessment
  /** The mistake that the family found in the arguments: the answer to callers that may be told. */
  readonly mistake: Fault | undefined
  /** `undefined` when it is not known what the call would do. */
  readonly effect: Effect | undefined
  readonly act: LimitedAct
}

export interface CallDecisionDependencies {
  readonly config: GuardConfig
  readonly limits: GuardLimiter
  readonly stop: EmergencyStopControl
  readonly monotonic: () => number
  /** Reports internal errors to whoever runs the node; the caller is only told that there was one. */
  readonly report: (error: unknown, message: string) => void
}

/** What is already on record about a call, as far as it was looked up. */
export interface RecordedCallFacts {
  readonly approval: CallApprovalStatus
  /** Its idempotency key was used before. */
  readonly repeat: boolean
  /** It is in an open voting round. */
  readonly proposed?: boolean
}

/** The record of a call that was never made: no person was asked about it, and its key is new. */
export const EMPTY_RECORDED_CALL_FACTS: RecordedCallFacts = { approval: { state: 'none' }, repeat: false }

/** Counts the call. A caller that makes too many calls is refused before its call is planned. */
export function rateLimitPlanAndAssessCall(
  call: Call,
  offer: Offer,
  parts: CallDecisionDependencies,
): Result<AssessedCall, Fault> | Promise<Result<AssessedCall, Fault>> {
  const arrival = parts.limits.arrive(budgetOf(call))
  if (!arrival.ok) return fail(createPolicyDenialFault({ verdict: 'deny', ...arrival }))
  return planAndAssessCall(call, offer, parts)
}

/** Plans a call that is only previewed, and does not count it. */
export function planAndAssessCall(
  call: Call,
  offer: Offer,
  parts: CallDecisionDependencies,
): Result<AssessedCall, Fault> | Promise<Result<AssessedCall, Fault>> {
  if (offer.plan === undefined) {
    // A nested call must not use the plan of its parent call.
    const unplanned = call.planned === undefined ? call : { ...call, planned: undefined }
    return ok(assessedAs({ effect: offer.effect, reasons: [] }, unplanned, offer))
  }
  return planned(offer.plan, { call, offer }, parts)
}

async function planned(
  plan: NonNullable<Offer['plan']>,
  { call, offer }: { readonly call: Call; readonly offer: Offer },
  parts: CallDecisionDependencies,
): Promise<Result<AssessedCall, Fault>> {
  try {
    const made = await unlessAborted(plan(call), call.signal)
    if (made === LEFT) return fail(createCancelledCallFault(call, parts.monotonic()))
    if (!Array.isArray(made?.assessment?.reasons)) throw new TypeError('an assessment without reasons')
    return ok(assessedAs(made.assessment, { ...call, planned: made }, offer))
  } catch (error) {
    // A call whose effect cannot be determined is not carried out.
    parts.report(error, `planning ${offer.name} failed`)
    return fail({ kind: 'internal', message: `What ${offer.name} would do could not be told. Nothing was tried.` })
  }
}

function assessedAs(given: CallAssessment, call: Call, offer: Offer): AssessedCall {
  const assessment = sanitizeAssessment(given)
  const effect = resolveEffectiveEffect(offer.effect, assessment.effect)
  const { target, label, actuator, touches } = assessment
  const act: LimitedAct = { caller: budgetOf(call), effect: effect ?? offer.effect, target, actuator, touches, label }
  return { call, offer, assessment, mistake: mistakeIn(call.planned), effect, act }
}

/**
 * Names in an assessment may come from a device, a HomeSeer or a peer, so characters that nobody can see are removed.
 */
function sanitizeAssessment(assessment: CallAssessment): CallAssessment {
  const { label, preview } = assessment
  return {
    ...assessment,
    ...(label === undefined ? {} : { label: sanitizeLine(label, MAX_LABEL) }),
    ...(preview === undefined ? {} : { preview: sanitizeJson(preview) as JsonObject }),
  }
}

function mistakeIn(planned: PlannedCall | undefined): Fault | undefined {
  return planned === undefined || planned.plan.ok ? undefined : planned.plan.fault
}

/** What the policy decides about the call at this moment. */
export function evaluatePolicyForCall(
  { call, offer, assessment, act }: AssessedCall,
  { approval, repeat, proposed = false }: RecordedCallFacts,
  { config, limits, stop }: CallDecisionDependencies,
): PolicyDecision {
  return evaluatePolicy({
    offer,
    assessment,
    caller: call.caller,
    mode: config.mode,
    stopped: stop.state()?.reason,
    rehearsal: call.rehearsal,
    ownerRules: config.ownerRules,
    inProfile: isToolInCallerProfiles(config, call.caller, offer),
    limits: limits.peek(act),
    approval,
    repeat,
    proposed,
    isDistrusted: config.distrusts?.(call.caller) === true,
    body: call.body,
  })
}

/** Whether a person has to approve it. */
export function needsPersonApproval(
  { call, offer, assessment, effect }: AssessedCall,
  { config }: CallDecisionDependencies,
): boolean {
  const word = findOwnerRuleDecision(config.ownerRules, { ...assessment, tool: offer.name, body: call.body })
  const isDistrusted = config.distrusts?.(call.caller) === true
  return effect !== undefined && isApprovalNeeded(effect, word, isDistrusted)
}

/** The quorum that the owner's rules demand for it, if any. */
export function findRequiredQuorum(
  { call, offer, assessment }: AssessedCall,
  { config }: Pick<CallDecisionDependencies, 'config'>,
): QuorumRequirement | undefined {
  return findOwnerRuleQuorum(config.ownerRules, { ...assessment, tool: offer.name, body: call.body })
}

/**
 * The account that pays for the call. Our own services have none, since no outside caller triggers them; a node has one
 * for every caller that it speaks for.
 */
function budgetOf({ caller }: Call): string | undefined {
  return caller.kind === 'service' ? undefined : toAccountKey(caller)
}

const LEFT = Symbol('the caller left')

/** Returns `LEFT` when the signal aborts first. */
function unlessAborted<Value>(
  value: Value | Promise<Value>,
  signal: AbortSignal,
): Value | Promise<Value | typeof LEFT> {
  if (!(value instanceof Promise)) return value
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(LEFT)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    void value.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** How far a call has come in the guard. */
export type Authorization =
  /** The call ends here: refused, waiting for a person's approval, or answered as a repetition. */
  | { readonly kind: 'answered'; readonly outcome: Outcome }
  | { readonly kind: 'rehearsal' }
  /** Nothing forbids the call for good; what it needs has to be reserved. */
  | { readonly kind: 'open'; readonly decision: PolicyDecision }
  | {
      readonly kind: 'granted'
      readonly effect: Effect
      readonly key: IdempotencyKeyUse | undefined
      readonly approvalInUse: ApprovalInUse | undefined
    }

/** An earlier approval or grant, of which this call takes one use. */
export type ApprovalInUse = Extract<CallApprovalStatus, { readonly state: 'approved' | 'granted' }>

const REHEARSAL: Authorization = { kind: 'rehearsal' }

export function screenCallAgainstPolicy(assessed: AssessedCall, parts: CallDecisionDependencies): Authorization {
  const decision = evaluatePolicyForCall(assessed, EMPTY_RECORDED_CALL_FACTS, parts)
  // The refusal comes before the mistake: a caller that may not make this call must not learn from its mistakes what is
  // in the house.
  if (isRefusal(decision)) return createPolicyRefusedAuthorization(assessed, decision)
  if (assessed.mistake !== undefined) return createRefusedAuthorization(assessed.mistake)
  return decision.verdict === 'rehearse' ? REHEARSAL : { kind: 'open', decision }
}

export function hasIdempotencyKey({ assessment, effect }: AssessedCall): boolean {
  return assessment.idempotencyKey !== undefined && effect !== 'reads'
}

/** A limit alone is not a refusal: it passes with time. */
function isRefusal(decision: PolicyDecision): decision is PolicyDecision & { readonly verdict: 'deny' } {
  return decision.verdict === 'deny' && decision.retryAfterMs === undefined
}

export function createRefusedAuthorization(fault: Fault): Authorization {
  return { kind: 'answered', outcome: fail(fault) }
}

export function createPolicyRefusedAuthorization(assessed: AssessedCall, decision: PolicyDecision): Authorization {
  if (decision.verdict !== 'deny') throw new Error(`${decision.verdict} is not a refusal`)
  const fault = addFamilyDetailsToFault(createPolicyDenialFault(decision), assessed)
  return createRefusedAuthorization(
    isMissingOnlyConfirmationArguments(fault) ? withCompletedCall(fault, assessed) : fault,
  )
}

/** Adds the call that would be right to the fault, unless something else is wrong with the call. */
function withCompletedCall(fault: Fault, { call, offer, mistake }: AssessedCall): Fault {
  const next = mistake === undefined ? fillInConfirmationArguments(offer, call) : undefined
  return next === undefined ? fault : { ...fault, details: { ...fault.details, next } }
}

/** Adds the family's details about the refused call to the fault. */
export function addFamilyDetailsToFault(fault: Fault, { assessment: { refusal } }: AssessedCall): Fault {
  return refusal === undefined ? fault : { ...fault, details: { ...refusal, ...fault.details } }
}

/** How one call was classified. An offer declares its strongest effect; the arguments decide about this call. */
export interface CallClassification {
  readonly effect: Effect
  /** The target, and what a person would call it. */
  readonly target: string | undefined
  readonly label: string | undefined
  /** Other actuators that it moves, and those that it might move. */
  readonly touches: readonly string[]
  readonly mayTouch: readonly string[]
  /** Only a plan was requested. */
  readonly dryRun: boolean
  /** The approval request, or the grant, that the call depends on. */
  readonly approvalReference: { readonly approval: string } | { readonly grant: string } | undefined
}

/** The classification for the record: the family's assessment of this call, and which person's answer it depends on. */
export function createCallClassification(
  { assessment, act }: AssessedCall,
  authorization: Authorization,
): CallClassification {
  const { target, label, touches = [], mayTouch = [], dryRun } = assessment
  const approvalReference = findApprovalReference(authorization)
  return { effect: act.effect, target, label, touches, mayTouch, dryRun: dryRun === true, approvalReference }
}

function findApprovalReference(authorization: Authorization): CallClassification['approvalReference'] {
  if (authorization.kind === 'granted' && authorization.approvalInUse !== undefined) {
    const { state, id } = authorization.approvalInUse
    return state === 'approved' ? { approval: id } : { grant: id }
  }
  if (authorization.kind !== 'answered' || authorization.outcome.ok) return undefined
  const approvalId = authorization.outcome.fault.details?.['approval_id']
  return typeof approvalId === 'string' ? { approval: approvalId } : undefined
}

/** The decision about a call that is not made. */
export interface DecisionPreview {
  readonly decision: PolicyDecision
  readonly assessment: CallAssessment
  /** The mistake that the family found in its arguments. */
  readonly mistake: Fault | undefined
}

export type DecisionPreviewer = (call: Call, offer: Offer) => Promise<Result<DecisionPreview, Fault>>

export async function previewDecision(
  call: Call,
  offer: Offer,
  parts: CallDecisionDependencies,
): Promise<Result<DecisionPreview, Fault>> {
  const assessed = await planAndAssessCall(call, offer, parts)
  if (!assessed.ok) return assessed
  const { assessment, mistake } = assessed.value
  return ok({ decision: evaluatePolicyForCall(assessed.value, EMPTY_RECORDED_CALL_FACTS, parts), assessment, mistake })
}
