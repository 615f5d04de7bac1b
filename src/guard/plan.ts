/**
 * Plan: the first step of a decision. The family says what the call would do; with that, the policy has all it needs.
 *
 * Pure: families look where they have to.
 */
import type { Call } from '../bus/call.ts'
import { accountKey } from '../bus/caller.ts'
import type { Assessment, Effect, Offer, PlannedCall } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { holdsTool } from './caller-rights.ts'
import type { GuardConfig } from './config.ts'
import type { Act, Limits } from './limits.ts'
import { ownerQuorum, ownerWord, approvalNeeded, decide, effectOf } from './policy.ts'
import type { ApprovalStanding, Decision } from './policy.ts'
import type { QuorumRequest } from './rounds-store.ts'
import { denied, withdrawn } from './refusal.ts'
import type { EmergencyStop } from './stop-store.ts'

/** A call with what its family says about it. */
export interface AssessedCall {
  readonly call: Call
  readonly offer: Offer
  readonly assessment: Assessment
  /** The mistake that the family found in the arguments: it is the answer to whoever may hear it. */
  readonly mistake: Fault | undefined
  /** `undefined`: nobody knows what the call would do. */
  readonly effect: Effect | undefined
  readonly act: Act
}

export interface PlanParts {
  readonly config: GuardConfig
  readonly limits: Limits
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
export const NO_RECORD: CallRecord = { approval: { state: 'none' }, repeat: false }

/** Counts the call. A caller that makes too many is told so before its call is looked at. */
export function planCall(
  call: Call,
  offer: Offer,
  parts: PlanParts,
): Result<AssessedCall, Fault> | Promise<Result<AssessedCall, Fault>> {
  const arrival = parts.limits.arrive(budgetOf(call))
  if (!arrival.ok) return fail(denied({ verdict: 'deny', ...arrival }))
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
    if (made === LEFT) return fail(withdrawn(call, parts.monotonic()))
    if (!Array.isArray(made?.assessment?.reasons)) throw new TypeError('an assessment without reasons')
    return ok(assessedAs(made.assessment, { ...call, planned: made }, offer))
  } catch (error) {
    // Whoever cannot say what a call would do does not get to do it.
    parts.report(error, `planning ${offer.name} failed`)
    return fail({ kind: 'internal', message: `What ${offer.name} would do could not be told. Nothing was tried.` })
  }
}

function assessedAs(assessment: Assessment, call: Call, offer: Offer): AssessedCall {
  const effect = effectOf(offer.effect, assessment.effect)
  const { target, label, actuator, touches } = assessment
  const act: Act = { caller: budgetOf(call), effect: effect ?? offer.effect, target, actuator, touches, label }
  return { call, offer, assessment, mistake: mistakeIn(call.planned), effect, act }
}

function mistakeIn(planned: PlannedCall | undefined): Fault | undefined {
  return planned === undefined || planned.plan.ok ? undefined : planned.plan.fault
}

/** The policy's word at this moment. */
export function decideOn(
  { call, offer, assessment, act }: AssessedCall,
  { approval, repeat, proposed = false }: CallRecord,
  { config, limits, stop }: PlanParts,
): Decision {
  return decide({
    offer,
    assessment,
    caller: call.caller,
    mode: config.mode,
    stopped: stop.state()?.reason,
    rehearsal: call.rehearsal,
    ownerRules: config.ownerRules,
    inProfile: holdsTool(config, call.caller, offer),
    limits: limits.peek(act),
    approval,
    repeat,
    proposed,
    isDistrusted: config.distrusts?.(call.caller) === true,
    body: call.body,
  })
}

/** Whether a person has a say in it at all. */
export function asksPerson({ call, offer, assessment, effect }: AssessedCall, { config }: PlanParts): boolean {
  const { target, touches, mayTouch } = assessment
  const word = ownerWord(config.ownerRules, { tool: offer.name, target, touches, mayTouch, body: call.body })
  const isDistrusted = config.distrusts?.(call.caller) === true
  return effect !== undefined && approvalNeeded(effect, word, isDistrusted)
}

/** Whom the owner's rules ask about it, where they ask several. */
export function quorumAsked(
  { call, offer, assessment }: AssessedCall,
  { config }: Pick<PlanParts, 'config'>,
): QuorumRequest | undefined {
  const { target, touches, mayTouch } = assessment
  return ownerQuorum(config.ownerRules, { tool: offer.name, target, touches, mayTouch, body: call.body })
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
