/**
 * Authorise: the second step of a decision, from memory.
 *
 *   plan ▸ authorise ─▶ answered: refused, or the caller's own mistake
 *             ├─▶ rehearsal: no key, approval or budget is touched
 *             └─▶ open: nothing speaks against it, but it uses something up ─▶ reserve (reserve.ts)
 *
 * Pure.
 */
import type { Call, Outcome } from '../bus/call.ts'
import type { Assessment, Effect, Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { KeyUse } from './keys-store.ts'
import { assessCall, decideOn, NO_RECORD } from './plan.ts'
import type { AssessedCall, PlanParts } from './plan.ts'
import type { ApprovalStanding, Decision } from './policy.ts'
import { denied } from './refusal.ts'

/** How far a call has come with the guard. */
export type Authorization =
  /** It goes no further: refused, asked of a person, or answered as a repeat. */
  | { readonly kind: 'answered'; readonly outcome: Outcome }
  | { readonly kind: 'rehearsal' }
  /** Nothing speaks against it that would not pass; what it needs has to be reserved. */
  | { readonly kind: 'open'; readonly decision: Decision }
  | {
      readonly kind: 'granted'
      readonly effect: Effect
      readonly key: KeyUse | undefined
      readonly yes: UsedYes | undefined
    }

/** What a person said before, of which the act uses something up. */
export type UsedYes = Extract<ApprovalStanding, { readonly state: 'approved' | 'granted' }>

const REHEARSAL: Authorization = { kind: 'rehearsal' }

export function authorise(assessed: AssessedCall, parts: PlanParts): Authorization {
  const decision = decideOn(assessed, NO_RECORD, parts)
  // First: a caller that may not make this call does not learn from its mistakes what is in the house.
  if (isRefusal(decision)) return refuse(assessed, decision)
  if (assessed.mistake !== undefined) return answer(assessed.mistake)
  return decision.verdict === 'rehearse' ? REHEARSAL : { kind: 'open', decision }
}

export function isKeyed({ assessment, effect }: AssessedCall): boolean {
  return assessment.idempotencyKey !== undefined && effect !== 'reads'
}

/** A limit alone is none: it passes. */
function isRefusal(decision: Decision): decision is Decision & { readonly verdict: 'deny' } {
  return decision.verdict === 'deny' && decision.retryAfterMs === undefined
}

export function answer(fault: Fault): Authorization {
  return { kind: 'answered', outcome: fail(fault) }
}

export function refuse(assessed: AssessedCall, decision: Decision): Authorization {
  if (decision.verdict !== 'deny') throw new Error(`${decision.verdict} is no refusal`)
  return answer(withFamilyDetails(denied(decision), assessed))
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
  readonly decision: Decision
  readonly assessment: Assessment
  /** The mistake that the family found in its arguments. */
  readonly mistake: Fault | undefined
}

export type PreviewDecision = (call: Call, offer: Offer) => Promise<Result<DecisionPreview, Fault>>

export async function previewDecision(
  call: Call,
  offer: Offer,
  parts: PlanParts,
): Promise<Result<DecisionPreview, Fault>> {
  const assessed = await assessCall(call, offer, parts)
  if (!assessed.ok) return assessed
  const { assessment, mistake } = assessed.value
  return ok({ decision: decideOn(assessed.value, NO_RECORD, parts), assessment, mistake })
}
