/**
 * Approval state: what the log says of every approval request, and which entry may follow which.
 *
 *   approval.requested ─▶ approved ─▶ used ─▶ approved, with `given_back_by`
 *          ├─▶ denied ◀── approved        ├─▶ expired ◀── approved
 *
 * What people are shown and what they answered are the bodies of the entries `askedSeq` and `saidSeq`.
 *
 * Pure, but for the state that it is given.
 */
import type { LedgerEntry } from '../ledger/entry.ts'
import { readEntryTime, readEntryTextField, readEntryTimeField } from '../ledger/entry.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import type { Approval } from './approval.ts'
import type { CallBinding } from './call-binding.ts'
import type { GuardState } from './guard-state.ts'
import { findRoleOfPrincipalAt } from './principal-state.ts'
import {
  QUORUM_DECIDER_NAME,
  openQuorumRound,
  explainRoundApprovalEntryFlaw,
  explainRoundDenial,
} from './quorum-round-state.ts'
import { raiseFinalityLevel } from './quorum-round-terms.ts'

export interface ApprovalRecord extends Omit<Approval, 'shown' | 'reason'> {
  readonly askedSeq: number
  /** The entry whose body has the reason of a denial. */
  readonly decisionSeq: number | undefined
  /** Why it expired. */
  readonly because: string | undefined
  /** The call that used it. */
  readonly usedTrace: string | undefined
}

/** Answered requests that stay readable; denials that still hold stay in any case. */
const MAX_APPROVALS = 10_000

export const approvalEntryHandlers: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'approval.requested': (state, entry) => {
    const [id, expiresAtMs, binding] = [
      readEntryTextField(entry, 'approval'),
      readEntryTimeField(entry, 'expires_at'),
      bindingOf(entry),
    ]
    if (id === undefined || expiresAtMs === undefined || binding === undefined) return INCOMPLETE
    if (state.approvals.has(id)) return `approval ${id} was asked for before`
    const requestedAtMs = readEntryTime(entry)
    state.approvals.dropOldest(
      MAX_APPROVALS,
      (approval) => isApprovalClosed(approval) && approval.expiresAtMs <= requestedAtMs,
    )
    const approval: ApprovalRecord = {
      id,
      state: 'requested',
      binding,
      requestedAtMs,
      expiresAtMs,
      decidedAtMs: undefined,
      decidedBy: undefined,
      usedAtMs: undefined,
      grantId: undefined,
      askedSeq: entry.seq,
      decisionSeq: undefined,
      because: undefined,
      usedTrace: undefined,
    }
    const unlawful = openQuorumRound(state, approval, entry)
    if (unlawful !== undefined) return unlawful
    state.approvals.set(id, approval)
    return undefined
  },

  'approval.approved': (state, entry) => {
    const approval = known(state, entry)
    if (approval === undefined) return NO_SUCH_REQUEST
    if (entry['given_back_by'] !== undefined) return giveBack(state, approval, entry)
    if (approval.state !== 'requested') return `approval ${approval.id} is ${approval.state}, not requested`
    const unlawful = refuseDecision(state, approval, entry)
    if (unlawful !== undefined) return unlawful
    const [expiresAtMs, decidedAtMs] = [readEntryTimeField(entry, 'expires_at'), readEntryTime(entry)]
    if (expiresAtMs === undefined) return INCOMPLETE
    if (decidedAtMs >= approval.expiresAtMs) return `approval ${approval.id} had lapsed`
    const grantId = readEntryTextField(entry, 'grant')
    if (grantId !== undefined && state.grants.get(grantId)?.approvalId !== approval.id)
      return `there is no grant ${grantId} from this approval`
    const round = state.rounds.get(approval.id)
    if (round !== undefined && grantId !== undefined) return 'a round makes no grants'
    if (round !== undefined)
      state.rounds.set(round.id, {
        ...round,
        level: raiseFinalityLevel(round.level, 'QUORUM'),
        quorumSeq: entry.seq,
        quorumAtMs: decidedAtMs,
      })
    const decidedBy = readEntryTextField(entry, 'by')
    state.approvals.set(approval.id, { ...approval, state: 'approved', expiresAtMs, decidedAtMs, decidedBy, grantId })
    return undefined
  },

  'approval.denied': (state, entry) => {
    const approval = known(state, entry)
    if (approval === undefined) return NO_SUCH_REQUEST
    if (approval.state !== 'requested' && approval.state !== 'approved')
      return `approval ${approval.id} is ${approval.state} already`
    const unlawful = refuseDecision(state, approval, entry)
    const [decidedAtMs, decidedBy] = [readEntryTime(entry), readEntryTextField(entry, 'by')]
    // A denial takes rights away, so it holds even if the log does not show who made it.
    state.approvals.set(approval.id, { ...approval, state: 'denied', decidedAtMs, decidedBy, decisionSeq: entry.seq })
    return unlawful
  },

  'approval.expired': (state, entry) => {
    const approval = known(state, entry)
    if (approval === undefined) return NO_SUCH_REQUEST
    if (isApprovalClosed(approval)) return `approval ${approval.id} is ${approval.state} already`
    state.approvals.set(approval.id, { ...approval, state: 'expired', because: readEntryTextField(entry, 'because') })
    return undefined
  },

  'approval.used': (state, entry) => {
    const approval = known(state, entry)
    if (approval === undefined) return NO_SUCH_REQUEST
    if (approval.state !== 'approved') return `approval ${approval.id} is ${approval.state}, not approved`
    const usedAtMs = readEntryTime(entry)
    if (usedAtMs >= approval.expiresAtMs) return `approval ${approval.id} had lapsed`
    const { binding } = approval
    if (
      readEntryTextField(entry, 'principal') !== binding.principal ||
      readEntryTextField(entry, 'tool') !== binding.tool
    )
      return `approval ${approval.id} was given for another caller or tool`
    const round = state.rounds.get(approval.id)
    const unlawful = round === undefined ? undefined : explainRoundApprovalEntryFlaw(state, round, entry)
    if (unlawful !== undefined) return unlawful
    state.approvals.set(approval.id, {
      ...approval,
      state: 'used',
      usedAtMs,
      usedTrace: readEntryTextField(entry, 'trace_id'),
    })
    return undefined
  },
}

export function isApprovalClosed({ state }: Pick<ApprovalRecord, 'state'>): boolean {
  return state === 'denied' || state === 'expired' || state === 'used'
}

/** Gives the approval back for a call that used it and was not tried. */
function giveBack(state: GuardState, approval: ApprovalRecord, entry: LedgerEntry): string | undefined {
  if (approval.state !== 'used') return `approval ${approval.id} is ${approval.state}, not used`
  if (approval.usedTrace !== readEntryTextField(entry, 'given_back_by'))
    return `another call used approval ${approval.id}`
  state.approvals.set(approval.id, { ...approval, state: 'approved', usedAtMs: undefined, usedTrace: undefined })
  return undefined
}

/** Why the named decider may not decide about the request. */
function refuseDecision(state: GuardState, { id, binding }: ApprovalRecord, entry: LedgerEntry): string | undefined {
  const by = readEntryTextField(entry, 'by')
  if (by === undefined) return INCOMPLETE
  const round = state.rounds.get(id)
  if (round !== undefined) {
    if (by !== QUORUM_DECIDER_NAME) return `${by} decided what ${round.need} voters decide`
    if (entry.kind !== 'approval.denied') return explainRoundApprovalEntryFlaw(state, round, entry)
    return explainRoundDenial(state, round, readEntryTime(entry)) === undefined
      ? 'no voter stands against it'
      : undefined
  }
  if (by === binding.principal) return `${by} decided about a call of its own`
  const role = findRoleOfPrincipalAt(state, by, readEntryTime(entry))
  return role === 'approver' || role === 'admin' ? undefined : `${by} was not an approver at that time`
}

function known({ approvals }: GuardState, entry: LedgerEntry): ApprovalRecord | undefined {
  return approvals.get(readEntryTextField(entry, 'approval') ?? '')
}

function bindingOf(entry: LedgerEntry): CallBinding | undefined {
  const text = (field: string): string | undefined => readEntryTextField(entry, field)
  const [principal, tool, argsHash] = [text('principal'), text('tool'), text('args_hash')]
  const [definitionHash, policyVersion] = [text('definition_hash'), text('policy_version')]
  const promiseHash = text('promise_hash')
  if (principal === undefined || tool === undefined || argsHash === undefined) return undefined
  if (definitionHash === undefined || policyVersion === undefined || promiseHash === undefined) return undefined
  return { principal, tool, argsHash, definitionHash, policyVersion, promiseHash, target: text('target') }
}

const INCOMPLETE = 'a field that such an entry needs is missing or wrong'
const NO_SUCH_REQUEST = 'nobody asked for such an approval'
