/**
 * Approval decision service: a person approves or denies a request, which is a vote where it is in a voting round; and
 * the caller that made it withdraws it.
 */
import type { Caller } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { explainApproverRefusal, APPROVAL_WITHDRAWN_REASON, toApproverEligibilityFacts } from './approval.ts'
import type { Approval } from './approval.ts'
import { isApprovalClosed } from './approval-state.ts'
import { addApprovalTexts, isApprovalTextPresent } from './approval-texts.ts'
import type { ApprovalService } from './approval-service.ts'
import type { QuorumRoundStore } from './quorum-round-store.ts'
import type { VoteDecision } from './vote.ts'
import type { GrantStore } from './grants-store.ts'
import type { GuardState } from './guard-state.ts'
import { truncateAndRedactText } from './secret-detection.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import type { GuardTransactionRunner, GuardTransaction } from './guard-transaction-store.ts'
import type { ApprovalStateRecorder } from './approval-state-recorder.ts'

const MAX_REASON = 1_000

export function createApprovalDecisionService({
  state,
  log,
  transact,
  grants,
  rounds,
  recorder,
  sweepIn,
  expireTamperedIn,
}: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLogWriter, 'body'>
  readonly transact: GuardTransactionRunner
  readonly grants: GrantStore
  readonly rounds: QuorumRoundStore
  readonly recorder: ApprovalStateRecorder
  /** Closes requests that have lapsed, before one of them is answered. */
  readonly sweepIn: (transaction: GuardTransaction) => unknown
  readonly expireTamperedIn: (transaction: GuardTransaction) => void
}): Pick<ApprovalService, 'approve' | 'deny' | 'withdraw'> {
  const { read, announceIn, approveIn, expireIn, settleIn } = recorder

  function decide(
    id: string,
    by: Caller,
    work: (transaction: GuardTransaction, approval: Approval) => Result<Approval, Fault>,
  ): Promise<Result<Approval, Fault>> {
    return transact((transaction) => {
      sweepIn(transaction)
      const approval = read(id)
      if (approval === undefined) return alreadyGone(id)
      // In a voting round, the terms say who votes.
      const flaw =
        approval.round === undefined ? explainApproverRefusal(by, toApproverEligibilityFacts(approval)) : undefined
      if (flaw !== undefined) {
        const rule = flaw.reasons?.[0]?.rule
        transaction.record({ kind: 'approval.refused', approval: id, by: toCallerKey(by), rule })
        return fail(flaw)
      }
      return work(transaction, approval)
    })
  }

  function alreadyDecided({ id, state: reached }: Approval): Result<never, Fault> {
    return fail({ kind: 'conflict', message: `Approval ${id} is already ${reached}.` })
  }

  /** Records a person's answer in a voting round, which is a vote. */
  function castIn(
    transaction: GuardTransaction,
    { id }: Approval,
    vote: { readonly by: Caller; readonly decision: VoteDecision; readonly reason: string },
  ): Result<Approval, Fault> {
    const cast = rounds.castIn(transaction, id, vote)
    settleIn(transaction, id)
    const approval = read(id)
    if (!cast.ok || approval === undefined) return cast.ok ? alreadyGone(id) : cast
    return ok(approval)
  }

  return {
    approve: (id, by, { grant } = {}) =>
      decide(id, by, (transaction, approval) => {
        if (!isApprovalTextPresent(approval)) {
          expireTamperedIn(transaction)
          return unreadable(id)
        }
        if (approval.round !== undefined)
          return grant === undefined
            ? castIn(transaction, approval, { by, decision: 'allow', reason: '' })
            : fail(NO_GRANTS)
        if (approval.state !== 'requested') return alreadyDecided(approval)
        const granted = grant === undefined ? ok(undefined) : grants.createIn(transaction, { grant, approval, by })
        if (!granted.ok) return granted
        return ok(approveIn(transaction, approval, { by: toCallerKey(by), grant: granted.value ?? null }))
      }),

    deny: (id, by, reason) =>
      decide(id, by, (transaction, approval) => {
        if (approval.round !== undefined) return castIn(transaction, approval, { by, decision: 'deny', reason })
        const { state: reached, grantId, expiresAtMs } = approval
        if (reached !== 'requested' && reached !== 'approved') return alreadyDecided(approval)
        if (grantId !== undefined) grants.takeBackIn(transaction, grantId, by)
        // An approval that is taken back counts as a denial for as long as the approval would have held.
        const instead = reached === 'approved' ? { grant: grantId ?? null, expires_at: formatIsoTime(expiresAtMs) } : {}
        const denial = { kind: 'approval.denied', by: toCallerKey(by), ...instead } as const
        return ok(announceIn(transaction, approval, denial, { reason: truncateAndRedactText(reason, MAX_REASON) }))
      }),

    withdraw: (id, by) =>
      transact((transaction): Result<Approval, Fault> => {
        const approval = state.approvals.get(id)
        // A caller must not learn whether somebody else's request exists.
        if (approval === undefined || approval.binding.principal !== toCallerKey(by))
          return fail({ kind: 'not-found', message: `There is no request ${id} of yours.` })
        if (isApprovalClosed(approval))
          return fail({ kind: 'conflict', message: `Request ${id} is already ${approval.state}.` })
        expireIn(transaction, approval, APPROVAL_WITHDRAWN_REASON)
        return ok(addApprovalTexts(state.approvals.get(id) ?? approval, state, log))
      }),
  }
}

const NO_GRANTS: Fault = { kind: 'not-permitted', message: 'A round is about one exact call: votes make no grant.' }

/** A request whose text is gone cannot be approved, because nobody could read what they approve. */
function unreadable(id: string): Result<never, Fault> {
  return fail({
    kind: 'conflict',
    message: `What approval ${id} asks for cannot be read any more, so it cannot be approved. Let the caller ask again; \`hearthbus ledger verify\` says what is wrong with the record.`,
  })
}

function alreadyGone(id: string): Result<never, Fault> {
  return fail({ kind: 'not-found', message: `There is no approval ${id}.` })
}
