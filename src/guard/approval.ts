/**
 * Approval: a person's yes or no to one exact call.
 *
 *   requested ──yes──▶ approved ──the call──▶ used ──a person is asked further on──▶ approved
 *       ├─────no──▶ denied ◀──no after all── approved
 *       └──time──▶ expired ◀──time── approved
 */
import type { Caller, CallChannel } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import type { Effect } from '../bus/capability.ts'
import type { Fault, Reason } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { CallBinding } from './binding.ts'
import { matchesAnyPattern } from './pattern.ts'
import type { ApprovalStanding } from './policy.ts'
import type { RoundRecord } from './round.ts'

export type ApprovalState = 'requested' | 'approved' | 'denied' | 'expired' | 'used'

/** A call as it is kept for whoever looks. Names and texts in it may come from strangers: data, never markup. */
export interface ShownCall {
  readonly title: string
  /** What a person would call the device. */
  readonly label?: string
  readonly effect: Effect
  /** Secrets are hidden. */
  readonly arguments: JsonObject
  /** Before → after. */
  readonly preview?: JsonObject
  readonly previewHash?: string
  readonly channel: CallChannel
  /** What the client calls itself; nobody proves it. */
  readonly client?: string
  readonly traceId: string
}

/**
 * What the approver sees instead while the question is open: code, and arguments by position, unredacted. There may be
 * a door code among them, so this is held in memory and written nowhere.
 */
export type ApproverCallView = Pick<ShownCall, 'arguments' | 'preview'>

export interface Approval {
  readonly id: string
  readonly state: ApprovalState
  readonly binding: CallBinding
  readonly shown: ShownCall
  readonly requestedAtMs: number
  /** When the question lapses; once approved, when the yes does. */
  readonly expiresAtMs: number
  readonly decidedAtMs: number | undefined
  readonly decidedBy: string | undefined
  readonly reason: string | undefined
  readonly usedAtMs: number | undefined
  readonly grantId: string | undefined
  /** Where several have to agree: who, and who has said what. */
  readonly round?: RoundRecord | undefined
  /** The entry that asked. */
  readonly askedSeq?: number
}

/**
 * A wall clock can be set back. A yes that was given in the future is not good: a minute is forgiven, more is treated
 * as lapsed, because nobody can tell how long ago it really was.
 */
export const APPROVAL_CLOCK_SLACK_MS = 60_000

export function isOutsideTimeSpan(span: { readonly fromMs: number; readonly untilMs: number }, nowMs: number): boolean {
  return nowMs >= span.untilMs || nowMs < span.fromMs - APPROVAL_CLOCK_SLACK_MS
}

type Timed = Pick<Approval, 'state' | 'binding' | 'requestedAtMs' | 'decidedAtMs' | 'expiresAtMs'>

function isOver(approval: Timed, nowMs: number): boolean {
  return isOutsideTimeSpan(
    { fromMs: approval.decidedAtMs ?? approval.requestedAtMs, untilMs: approval.expiresAtMs },
    nowMs,
  )
}

/** What differs between the call that was approved and the one that is made, as a sentence; `undefined`: nothing. */
function bindingChange(approved: CallBinding, made: CallBinding): string | undefined {
  if (approved.definitionHash !== made.definitionHash) return 'the tool itself has changed'
  if (approved.policyVersion !== made.policyVersion) return 'the rules have changed'
  if (approved.target !== made.target) return 'it would act on another device'
  if (approved.promiseHash !== made.promiseHash) return 'it would now do something else than was shown'
  return undefined
}

export interface ApprovalStandingWithNotes {
  readonly standing: ApprovalStanding
  /** Why an earlier yes does not help. */
  readonly notes: readonly Reason[]
}

/** How one exact call stands, from the questions asked about it before, newest first. */
export function findApprovalStanding(
  past: readonly Approval[],
  made: CallBinding,
  nowMs: number,
): ApprovalStandingWithNotes {
  const notes: Reason[] = []
  for (const approval of past.filter((candidate) => !isOver(candidate, nowMs))) {
    const { id, state } = approval
    const change = bindingChange(approval.binding, made)
    if (change !== undefined) {
      if (state === 'approved')
        notes.push({ rule: 'approval-void', message: `Approval ${id} no longer holds: ${change}.` })
      continue
    }
    if (state === 'approved' || state === 'requested') return { standing: { state, id }, notes }
    // The no holds until the question would have lapsed; asking again at once would only wear the approver down.
    if (state === 'denied') return { standing: { state, id, why: approval.reason ?? '' }, notes }
    if (state === 'used') notes.push({ rule: 'approval-used', message: `Approval ${id} was good for one call.` })
  }
  return { standing: { state: 'none' }, notes }
}

/** Why an open question or an unused yes is closed now, or `undefined`. */
export function explainApprovalExpiry(approval: Timed, policyVersion: string, nowMs: number): string | undefined {
  if (approval.binding.policyVersion !== policyVersion) return 'the rules have changed'
  if (!isOver(approval, nowMs)) return undefined
  return approval.state === 'approved' ? 'the call was not made in time' : 'nobody answered in time'
}

/** What somebody decides about, as far as it says who may. */
export interface ApproverRequest {
  readonly principal: string
  readonly target: string | undefined
  /** `undefined` where power is only taken away. */
  readonly effect?: Effect
}

/** Why this caller may not decide about this request, or `undefined`. */
export function refuseApprover(by: Caller, request: ApproverRequest): Fault | undefined {
  if (by.kind !== 'principal' || (by.role !== 'approver' && by.role !== 'admin'))
    return refusal('role', 'Only an approver or an admin decides about approvals.')
  if (callerKey(by) === request.principal)
    return refusal('own-request', 'Nobody approves their own call; it takes another credential.')
  const { devices, effects, profiles } = by.restrictions ?? {}
  if (devices !== undefined && (request.target === undefined || !matchesAnyPattern(devices, request.target)))
    return refusal('token-devices', 'This credential does not cover the device in question.')
  if (request.effect !== undefined && effects?.includes(request.effect) === false)
    return refusal('token-effects', `This credential is narrowed to what ${effects.join(', ')}.`)
  // A profile is a list of tools to call. None of them decides about the calls of others.
  if (profiles !== undefined)
    return refusal('token-profiles', 'A credential that is narrowed to profiles does not decide about approvals.')
  return undefined
}

function refusal(rule: string, message: string): Fault {
  return { kind: 'not-permitted', message, reasons: [{ rule, message }] }
}
