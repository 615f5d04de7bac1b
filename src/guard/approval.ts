/**
 * Approval: a person's yes or no to one exact call.
 *
 *   requested ──yes──▶ approved ──the call──▶ used ──another node asks a person──▶ approved
 *       ├─────no──▶ denied ◀──no after all── approved
 *       └──time──▶ expired ◀──time── approved
 */
import type { Caller, CallChannel } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { Effect } from '../bus/capability.ts'
import type { Fault, PolicyReason } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { CallBinding } from './call-binding.ts'
import { createRuleRefusalFault } from './guard-faults.ts'
import { matchesAnyPattern } from './name-pattern.ts'
import type { CallApprovalStatus } from './policy.ts'
import type { QuorumRoundRecord } from './quorum-round-terms.ts'

export type ApprovalState = 'requested' | 'approved' | 'denied' | 'expired' | 'used'

/** A call as it is stored for readers. Names and texts in it may be untrusted: they are data, never markup. */
export interface StoredCallView {
  readonly title: string
  /** What a person would call the device. */
  readonly label?: string
  readonly effect: Effect
  /** Secrets are hidden. */
  readonly arguments: JsonObject
  /** The state before the change, and after it. */
  readonly preview?: JsonObject
  readonly previewHash?: string
  readonly channel: CallChannel
  /** The name that the client gives itself; not verified. */
  readonly client?: string
  readonly traceId: string
}

/**
 * What the approver sees while the request is open: code, and positional arguments, unredacted. There may be a door
 * code among them, so this is held in memory and never stored.
 */
export type ApproverOnlyCallView = Pick<StoredCallView, 'arguments' | 'preview'>

/** The reason that is recorded when the caller takes back its own approval request. */
export const APPROVAL_WITHDRAWN_REASON = 'the caller withdrew it'

export interface Approval {
  readonly id: string
  readonly state: ApprovalState
  readonly binding: CallBinding
  readonly shown: StoredCallView
  readonly requestedAtMs: number
  /** When the request lapses; after an approval, when the approval lapses. */
  readonly expiresAtMs: number
  readonly decidedAtMs: number | undefined
  readonly decidedBy: string | undefined
  readonly reason: string | undefined
  readonly usedAtMs: number | undefined
  readonly grantId: string | undefined
  /** Where several people have to agree: who they are, and how each voted. */
  readonly round?: QuorumRoundRecord | undefined
  /** The ledger entry of the request. */
  readonly askedSeq?: number
}

/**
 * A wall clock can be set back. An approval that is dated in the future is not valid: a minute is tolerated, more
 * counts as lapsed, because its true age is unknown.
 */
export const APPROVAL_CLOCK_SLACK_MS = 60_000

export function isOutsideValidityPeriod(
  span: { readonly fromMs: number; readonly untilMs: number },
  nowMs: number,
): boolean {
  return nowMs >= span.untilMs || nowMs < span.fromMs - APPROVAL_CLOCK_SLACK_MS
}

type Timed = Pick<Approval, 'state' | 'binding' | 'requestedAtMs' | 'decidedAtMs' | 'expiresAtMs'>

function isOver(approval: Timed, nowMs: number): boolean {
  return isOutsideValidityPeriod(
    { fromMs: approval.decidedAtMs ?? approval.requestedAtMs, untilMs: approval.expiresAtMs },
    nowMs,
  )
}

/** What differs between the approved call and this one, as a sentence; `undefined` when nothing does. */
function bindingChange(approved: CallBinding, made: CallBinding): string | undefined {
  if (approved.definitionHash !== made.definitionHash) return 'the tool itself has changed'
  if (approved.policyVersion !== made.policyVersion) return 'the rules have changed'
  if (approved.target !== made.target) return 'it would act on another device'
  if (approved.promiseHash !== made.promiseHash) return 'it would now do something else than was shown'
  return undefined
}

export interface ApprovalStatusWithNotes {
  readonly standing: CallApprovalStatus
  /** Why an earlier yes does not count. */
  readonly notes: readonly PolicyReason[]
}

/** The status of one exact call, from the earlier requests about it, newest first. */
export function findCallApprovalStatus(
  past: readonly Approval[],
  made: CallBinding,
  nowMs: number,
): ApprovalStatusWithNotes {
  const notes: PolicyReason[] = []
  for (const approval of past.filter((candidate) => !isOver(candidate, nowMs))) {
    const { id, state } = approval
    const change = bindingChange(approval.binding, made)
    if (change !== undefined) {
      if (state === 'approved')
        notes.push({ rule: 'approval-void', message: `Approval ${id} no longer holds: ${change}.` })
      continue
    }
    if (state === 'approved' || state === 'requested') return { standing: { state, id }, notes }
    // A denial holds until the request would have lapsed; asking again at once would only wear the approver down.
    if (state === 'denied') return { standing: { state, id, why: approval.reason ?? '' }, notes }
    if (state === 'used') notes.push({ rule: 'approval-used', message: `Approval ${id} was good for one call.` })
  }
  return { standing: { state: 'none' }, notes }
}

/** Why an open request or an unused approval is closed now, or `undefined`. */
export function explainApprovalLapse(approval: Timed, policyVersion: string, nowMs: number): string | undefined {
  if (approval.binding.policyVersion !== policyVersion) return 'the rules have changed'
  if (!isOver(approval, nowMs)) return undefined
  return approval.state === 'approved' ? 'the call was not made in time' : 'nobody answered in time'
}

/** What decides who may decide about a request. */
export interface ApproverEligibilityFacts {
  readonly principal: string
  readonly target: string | undefined
  /** The effect of the call; `undefined` where the decision only takes rights away. */
  readonly effect?: Effect
}

export function toApproverEligibilityFacts({ binding, shown }: Approval): ApproverEligibilityFacts {
  return { principal: binding.principal, target: binding.target, effect: shown.effect }
}

/** Why this caller may not decide about this request, or `undefined`. */
export function explainApproverRefusal(by: Caller, request: ApproverEligibilityFacts): Fault | undefined {
  if (by.kind !== 'principal' || (by.role !== 'approver' && by.role !== 'admin'))
    return createRuleRefusalFault('role', 'Only an approver or an admin decides about approvals.')
  if (toCallerKey(by) === request.principal)
    return createRuleRefusalFault('own-request', 'Nobody approves their own call; it takes another credential.')
  const { devices, effects, profiles } = by.restrictions ?? {}
  if (devices !== undefined && (request.target === undefined || !matchesAnyPattern(devices, request.target)))
    return createRuleRefusalFault('token-devices', 'This credential does not cover the device in question.')
  if (request.effect !== undefined && effects?.includes(request.effect) === false)
    return createRuleRefusalFault('token-effects', `This credential is narrowed to the effects ${effects.join(', ')}.`)
  // A profile is a list of tools to call, and no tool in it decides about other callers' calls.
  if (profiles !== undefined)
    return createRuleRefusalFault(
      'token-profiles',
      'A credential that is narrowed to profiles does not decide about approvals.',
    )
  return undefined
}
