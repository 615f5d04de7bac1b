/**
 * Decision: the steps of the guard about one call, and the first two of them.
 *
 *   plan        the family says what the call would do; with that, the policy has all it needs
 *   authorise   the policy decides about it, from memory
 *                 ─▶ answered: refused, or the caller's own mistake
 *                 ─▶ rehearsal: no key, approval or budget is touched
 *                 ─▶ open: nothing speaks against it, but it uses something up
 *   reserve     what it uses up, on the disk                                                     reserve.ts
 *   settle      what became of it closes what was reserved                                       reserve.ts
 *
 * Pure: families look where they have to, the stores do the work.
 */
import type { Call, Outcome } from '../bus/call.ts'
import { accountKey } from '../bus/caller.ts'
import type { Assessment, Effect, Offer, PlannedCall } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { isToolInCallerProfiles } from './caller-rights.ts'
import type { GuardConfig } from './config.ts'
import type { GuardedAct, GuardLimits } from './limits.ts'
import { findOwnerQuorum, findOwnerDecision, isApprovalNeeded, decidePolicy, resolveEffect } from './policy.ts'
import type { ApprovalStanding, PolicyDecision } from './policy.ts'
import type { QuorumRequest } from './rounds-store.ts'
import { deniedFault, withdrawnCallFault } from './refusal.ts'
import type { EmergencyStop } from './actuator-store.ts'
import type { IdempotencyKeyUse } from './idempotency-key-store.ts'

/** A call with what its family says about it. */
export interface AssessedCall {
  readonly call: Call
  readonly offer: Offer
  readonly assessment: Assessment
  /** The mistake that the family found in the arguments: it is the answer to whoever may hear it. */
  readonly mistake: Fault | undefined
  /** `undefined`: nobody knows what the call would do. */
  readonly effect: Effect | undefined
  readonly act: GuardedAct
}

export interface PlanParts {
  readonly config: GuardConfig
  readonly limits: GuardLimits
  readonly stop: EmergencyStop
  readonly monotonic: () => number
  /** For whoever runs the node: what went wrong where a caller hears only that something did. */
  readonly report: (error: unknown, message: string) => void
}

/** What is on record of a call, as far as it was looked up. */
export interface CallRecord {
  readonly approval: ApprovalStanding
  /** Its idempotency key was there before. */
  readonly repeat: boolean
  /** It is before voters. */
  readonly proposed?: boolean
}

/** As if the call had never been made before: no person was asked about it, and its key is new. */
export const EMPTY_CALL_RECORD: CallRecord = { approval: { state: 'none' }, repeat: false }

/** Counts the call. A caller that makes too many is told so before its call is looked at. */
export function planCall(
  call: Call,
  offer: Offer,
  parts: PlanParts,
): Result<AssessedCall, Fault> | Promise<Result<AssessedCall, Fault>> {
  const arrival = parts.limits.arrive(budgetOf(call))
  if (!arrival.ok) return fail(deniedFault({ verdict: 'deny', ...arrival }))
  return assessCall(call, offer, parts)
}

/** The same for a call that is only looked at. */
export function assessCall(
  call: Call,
  offer: Offer,
  parts: PlanParts,
): Result<AssessedCall, Fault> | Promise<Result<AssessedCall, Fault>> {
  if (offer.plan === undefined) {
    // What was planned for the call that this one is made for is not meant.
    const unplanned = call.planned === undefined ? call : { ...call, planned: undefined }
    return ok(assessedAs({ effect: offer.effect, reasons: [] }, unplanned, offer))
  }
  return planned(offer.plan, { call, offer }, parts)
}

async function planned(
  plan: NonNullable<Offer['plan']>,
  { call, offer }: { readonly call: Call; readonly offer: Offer },
  parts: PlanParts,
): Promise<Result<AssessedCall, Fault>> {
  try {
    const made = await unlessAborted(plan(call), call.signal)
    if (made === LEFT) return fail(withdrawnCallFault(call, parts.monotonic()))
    if (!Array.isArray(made?.assessment?.reasons)) throw new TypeError('an assessment without reasons')
    return ok(assessedAs(made.assessment, { ...call, planned: made }, offer))
  } catch (error) {
    // Whoever cannot say what a call would do does not get to do it.
    parts.report(error, `planning ${offer.name} failed`)
    return fail({ kind: 'internal', message: `What ${offer.name} would do could not be told. Nothing was tried.` })
  }
}

function assessedAs(assessment: Assessment, call: Call, offer: Offer): AssessedCall {
  const effect = resolveEffect(offer.effect, assessment.effect)
  const { target, label, actuator, touches } = assessment
  const act: GuardedAct = { caller: budgetOf(call), effect: effect ?? offer.effect, target, actuator, touches, label }
  return { call, offer, assessment, mistake: mistakeIn(call.planned), effect, act }
}

function mistakeIn(planned: PlannedCall | undefined): Fault | undefined {
  return planned === undefined || planned.plan.ok ? undefined : planned.plan.fault
}

/** The policy's word at this moment. */
export function decideOnCall(
  { call, offer, assessment, act }: AssessedCall,
  { approval, repeat, proposed = false }: CallRecord,
  { config, limits, stop }: PlanParts,
): PolicyDecision {
  return decidePolicy({
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

/** Whether a person has a say in it at all. */
export function needsPersonApproval({ call, offer, assessment, effect }: AssessedCall, { config }: PlanParts): boolean {
  const { target, touches, mayTouch } = assessment
  const word = findOwnerDecision(config.ownerRules, { tool: offer.name, target, touches, mayTouch, body: call.body })
  const isDistrusted = config.distrusts?.(call.caller) === true
  return effect !== undefined && isApprovalNeeded(effect, word, isDistrusted)
}

/** Whom the owner's rules ask about it, where they ask several. */
export function findRequiredQuorum(
  { call, offer, assessment }: AssessedCall,
  { config }: Pick<PlanParts, 'config'>,
): QuorumRequest | undefined {
  const { target, touches, mayTouch } = assessment
  return findOwnerQuorum(config.ownerRules, { tool: offer.name, target, touches, mayTouch, body: call.body })
}

/** Our own services have none, since nobody outside makes them call. A node has one for everybody it speaks for. */
function budgetOf({ caller }: Call): string | undefined {
  return caller.kind === 'service' ? undefined : accountKey(caller)
}

const LEFT = Symbol('the caller left')

/** `LEFT` when the signal comes first. */
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

/** How far a call has come with the guard. */
export type Authorization =
  /** It goes no further: refused, asked of a person, or answered as a repeat. */
  | { readonly kind: 'answered'; readonly outcome: Outcome }
  | { readonly kind: 'rehearsal' }
  /** Nothing speaks against it that would not pass; what it needs has to be reserved. */
  | { readonly kind: 'open'; readonly decision: PolicyDecision }
  | {
      readonly kind: 'granted'
      readonly effect: Effect
      readonly key: IdempotencyKeyUse | undefined
      readonly yes: UsedApproval | undefined
    }

/** What a person said before, of which the act uses something up. */
export type UsedApproval = Extract<ApprovalStanding, { readonly state: 'approved' | 'granted' }>

const REHEARSAL: Authorization = { kind: 'rehearsal' }

export function authoriseCall(assessed: AssessedCall, parts: PlanParts): Authorization {
  const decision = decideOnCall(assessed, EMPTY_CALL_RECORD, parts)
  // First: a caller that may not make this call does not learn from its mistakes what is in the house.
  if (isRefusal(decision)) return refuseByDecision(assessed, decision)
  if (assessed.mistake !== undefined) return createFaultAuthorization(assessed.mistake)
  return decision.verdict === 'rehearse' ? REHEARSAL : { kind: 'open', decision }
}

export function hasIdempotencyKey({ assessment, effect }: AssessedCall): boolean {
  return assessment.idempotencyKey !== undefined && effect !== 'reads'
}

/** A limit alone is none: it passes. */
function isRefusal(decision: PolicyDecision): decision is PolicyDecision & { readonly verdict: 'deny' } {
  return decision.verdict === 'deny' && decision.retryAfterMs === undefined
}

export function createFaultAuthorization(fault: Fault): Authorization {
  return { kind: 'answered', outcome: fail(fault) }
}

export function refuseByDecision(assessed: AssessedCall, decision: PolicyDecision): Authorization {
  if (decision.verdict !== 'deny') throw new Error(`${decision.verdict} is no refusal`)
  return createFaultAuthorization(withFamilyDetails(deniedFault(decision), assessed))
}

/** A refusal, with what the family has to say about the call that was refused. */
export function withFamilyDetails(fault: Fault, { assessment: { refusal } }: AssessedCall): Fault {
  return refusal === undefined ? fault : { ...fault, details: { ...refusal, ...fault.details } }
}

/** How one call was classified. An offer declares its strongest effect; the arguments decide about this call. */
export interface CallClassification {
  readonly effect: Effect
  /** What is acted on, and what a person would call it. */
  readonly target: string | undefined
  readonly label: string | undefined
  /** What else it moves, and what it might move. */
  readonly touches: readonly string[]
  readonly mayTouch: readonly string[]
  /** Only a plan was asked for. */
  readonly dryRun: boolean
  /** What a person is asked, or has said: the request, or the bounded yes for calls to come. */
  readonly yes: { readonly approval: string } | { readonly grant: string } | undefined
}

/** For the record: what the family said of this very call, and which word of a person it depends on. */
export function classifyCall({ assessment, act }: AssessedCall, authorization: Authorization): CallClassification {
  const { target, label, touches = [], mayTouch = [], dryRun } = assessment
  const yes = yesTo(authorization)
  return { effect: act.effect, target, label, touches, mayTouch, dryRun: dryRun === true, yes }
}

function yesTo(authorization: Authorization): CallClassification['yes'] {
  if (authorization.kind === 'granted' && authorization.yes !== undefined) {
    const { state, id } = authorization.yes
    return state === 'approved' ? { approval: id } : { grant: id }
  }
  if (authorization.kind !== 'answered' || authorization.outcome.ok) return undefined
  const asked = authorization.outcome.fault.details?.['approval_id']
  return typeof asked === 'string' ? { approval: asked } : undefined
}

/** What would be decided about a call that nobody makes. */
export interface DecisionPreview {
  readonly decision: PolicyDecision
  readonly assessment: Assessment
  /** The mistake that the family found in its arguments. */
  readonly mistake: Fault | undefined
}

export type DecisionPreviewer = (call: Call, offer: Offer) => Promise<Result<DecisionPreview, Fault>>

export async function previewDecision(
  call: Call,
  offer: Offer,
  parts: PlanParts,
): Promise<Result<DecisionPreview, Fault>> {
  const assessed = await assessCall(call, offer, parts)
  if (!assessed.ok) return assessed
  const { assessment, mistake } = assessed.value
  return ok({ decision: decideOnCall(assessed.value, EMPTY_CALL_RECORD, parts), assessment, mistake })
}
