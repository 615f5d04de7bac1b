/**
 * Assessed: a call with all that the policy needs to know about it. What it would do is for its family to say, before
 * anything else is asked.
 *
 * Pure: families look where they have to.
 */
import type { Call } from '../bus/call.ts'
import { accountKey } from '../bus/caller-key.ts'
import type { Assessment, Effect, Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { GuardConfig } from './config.ts'
import { holdsTool } from './config.ts'
import type { Act, Limits } from './limits.ts'
import { decide, effectOf } from './policy.ts'
import type { ApprovalStanding, Decision } from './policy.ts'
import { withdrawn } from './refusal.ts'
import type { EmergencyStop } from './stop-store.ts'

export interface Assessed {
  readonly call: Call
  readonly offer: Offer
  readonly assessment: Assessment
  /** `undefined`: nobody knows what the call would do. */
  readonly effect: Effect | undefined
  readonly act: Act
}

export interface AssessParts {
  readonly config: GuardConfig
  readonly limits: Limits
  readonly stop: EmergencyStop
  readonly monotonic: () => number
  /** For whoever runs the node: what went wrong where a caller hears only that something did. */
  readonly report: (error: unknown, message: string) => void
}

/** What is on record of a call, as far as it was looked up. */
export interface Standing {
  readonly approval: ApprovalStanding
  /** Its idempotency key was there before. */
  readonly repeat: boolean
}

export async function assess(call: Call, offer: Offer, parts: AssessParts): Promise<Result<Assessed, Fault>> {
  const assessed = await assessmentOf(call, offer, parts)
  if (!assessed.ok) return assessed
  const assessment = assessed.value
  const effect = effectOf(offer.effect, assessment.effect)
  const { target, label } = assessment
  const act: Act = { caller: budgetOf(call), effect: effect ?? offer.effect, target, label }
  return ok({ call, offer, assessment, effect, act })
}

/** The policy's word at this moment. */
export function decideOn(
  { call, offer, assessment, act }: Assessed,
  { approval, repeat }: Standing,
  { config, limits, stop }: AssessParts,
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
  })
}

/** Our own services have none, since nobody outside makes them call. A node has one for everybody it speaks for. */
export function budgetOf({ caller }: Call): string | undefined {
  return caller.kind === 'service' ? undefined : accountKey(caller)
}

async function assessmentOf(call: Call, offer: Offer, parts: AssessParts): Promise<Result<Assessment, Fault>> {
  if (offer.assess === undefined) return ok({ effect: offer.effect, reasons: [] })
  try {
    const assessment = await unlessAborted(offer.assess(call), call.signal)
    if (assessment === LEFT) return fail(withdrawn(call, parts.monotonic()))
    if (!Array.isArray(assessment?.reasons)) throw new TypeError('an assessment without reasons')
    return ok(assessment)
  } catch (error) {
    // Whoever cannot say what a call would do does not get to do it.
    parts.report(error, `assessing ${offer.name} failed`)
    return fail({ kind: 'internal', message: `What ${offer.name} would do could not be told. Nothing was tried.` })
  }
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
