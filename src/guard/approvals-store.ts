/**
 * Approvals store: requests for approval, their answers, and the one call that each answer is valid for. A repeated
 * call creates no second request; a denial holds until the request would have lapsed; the number of open requests is
 * bounded, so that a looping model cannot flood the approver.
 */
import { toAccountKeyFromCallerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import {
  explainApproverRefusal,
  APPROVAL_CLOCK_SLACK_MS,
  explainApprovalLapse,
  toApproverEligibilityFacts,
} from './approval.ts'
import type { Approval, ApprovalStatusWithNotes, ApproverOnlyCallView, StoredCallView } from './approval.ts'
import { isApprovalClosed } from './approval-state.ts'
import { isApprovalTextTampered } from './approval-texts.ts'
import { resolveCallApprovalStatus, listNewestApprovals } from './approval-lookup.ts'
import type { ApprovalService, ApprovalsConfig } from './approval-service.ts'
import { computeJsonSha256 } from './call-binding.ts'
import type { CallBinding, ArgumentLeafHashes } from './call-binding.ts'
import { toQuorumEntryFields } from './quorum-round-terms.ts'
import type { ProposedVotingTerms } from './quorum-round-terms.ts'
import type { QuorumRoundStore } from './quorum-round-store.ts'
import type { GrantStore } from './grants-store.ts'
import type { GuardState } from './guard-state.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import type { GuardTransactionRunner, GuardTransaction } from './guard-transaction-store.ts'
import { createApprovalStateRecorder } from './approval-state-recorder.ts'
import { createApprovalDecisionService } from './approval-decision-service.ts'

/** What the guard itself uses inside its transactions. */
export interface ApprovalStore extends ApprovalService {
  /**
   * The status of the call. `leaves` are the hashes of its single arguments: a denial also holds where only free text
   * differs.
   */
  readonly standingIn: (
    transaction: GuardTransaction,
    binding: CallBinding,
    leaves: ArgumentLeafHashes | undefined,
    /** Only a voting round with at least these terms counts. */
    terms?: ProposedVotingTerms,
  ) => ApprovalStatusWithNotes
  /** Carries out what the votes of a round have decided. */
  readonly settleIn: (transaction: GuardTransaction, id: string) => void
  /** Whether such a call is in an open voting round, so that it has to wait for the voters. */
  readonly isProposed: (principal: string, tool: string) => boolean
  readonly requestIn: (
    transaction: GuardTransaction,
    request: {
      readonly binding: CallBinding
      readonly shown: StoredCallView
      readonly open: ApproverOnlyCallView
      readonly leaves: ArgumentLeafHashes | undefined
      readonly terms?: ProposedVotingTerms | undefined
      readonly openMs?: number | undefined
    },
  ) => Result<Approval, Fault>
  /** Restores what was held in memory about an open request, when its call is repeated after a restart. */
  readonly remindIn: (transaction: GuardTransaction, id: string, open: ApproverOnlyCallView) => void
  /** Throws when the approval cannot be used: the whole transaction is undone. */
  readonly useIn: (transaction: GuardTransaction, id: string, call: { readonly traceId: string }) => void
  /** Makes the approval valid again, until it would have lapsed, for a call that used it and was not tried. */
  readonly giveBackIn: (transaction: GuardTransaction, id: string, call: { readonly traceId: string }) => void
  /** Closes requests that have lapsed, or that were made under other rules. */
  readonly sweepIn: (transaction: GuardTransaction) => number
  /** Closes open requests whose stored text is not the recorded one, which people may have been shown. */
  readonly expireTamperedIn: (transaction: GuardTransaction) => void
  /** Closes every round that is open or was not used yet. */
  readonly abandonRoundsIn: (transaction: GuardTransaction, because: string) => void
  /** Closes all requests of a caller whose credential has ended. */
  readonly forgetIn: (transaction: GuardTransaction, principal: string) => void
}

const MAX_LIST = 500

export function createApprovalStore(options: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLogWriter, 'body'>
  readonly transact: GuardTransactionRunner
  readonly config: ApprovalsConfig
  readonly policyVersion: string
  readonly grants: GrantStore
  readonly rounds: QuorumRoundStore
  readonly report: (error: unknown, message: string) => void
}): ApprovalStore {
  const { state, log, transact, config, policyVersion, grants, rounds, report } = options
  const recorder = createApprovalStateRecorder({ state, log, config, rounds, report })
  const { read, announceIn, expireIn, settleIn, openCalls } = recorder

  const store: ApprovalStore = {
    settleIn,

    list: ({ state: wanted, principal, before, limit } = {}) =>
      listNewestApprovals(
        { state, log },
        (record) =>
          (wanted === undefined || record.state === wanted) &&
          (principal === undefined || record.binding.principal === principal) &&
          (before === undefined || record.id < before),
        Math.max(1, Math.min(limit ?? MAX_LIST, MAX_LIST)),
      ),

    get: read,

    shownTo: (approval, by) => {
      const open = approval.state === 'requested' ? openCalls.get(approval.id) : undefined
      if (open === undefined || explainApproverRefusal(by, toApproverEligibilityFacts(approval)) !== undefined)
        return approval
      return { ...approval, shown: { ...approval.shown, ...open } }
    },

    ...createApprovalDecisionService({
      state,
      log,
      transact,
      grants,
      rounds,
      recorder,
      sweepIn: (transaction) => store.sweepIn(transaction),
      expireTamperedIn: (transaction) => store.expireTamperedIn(transaction),
    }),

    subscribe: recorder.subscribe,

    standingIn: (transaction, binding, leaves, terms) => {
      const { nowMs } = transaction
      const { principal, tool } = binding
      for (const { id, binding: requested } of state.approvals.values())
        if (state.rounds.has(id) && requested.principal === principal && requested.tool === tool)
          settleIn(transaction, id)
      return resolveCallApprovalStatus({ state, log }, { binding, leaves, terms }, nowMs)
    },

    isProposed: (principal, tool) => {
      for (const { id } of state.rounds.values()) {
        const approval = state.approvals.get(id)
        if (approval?.binding.principal === principal && approval.binding.tool === tool && !isApprovalClosed(approval))
          return true
      }
      return false
    },

    remindIn: (transaction, id, open) => transaction.afterwards(() => openCalls.set(id, open)),

    requestIn: (transaction, { binding, shown, open, leaves, terms, openMs = config.openMs }) => {
      const { nowMs } = transaction
      store.sweepIn(transaction)
      const waiting = [...state.approvals.values()].filter(({ state: reached }) => reached === 'requested')
      if (waiting.length >= config.maxOpen) return fail(queueFull('this node', config))
      const account = toAccountKeyFromCallerKey(binding.principal)
      const own = waiting.filter(({ binding: requested }) => toAccountKeyFromCallerKey(requested.principal) === account)
      if (own.length >= config.maxOpenPerPrincipal) return fail(queueFull('this caller', config))
      const id = newUlid(nowMs)
      // Runs before listeners hear of the request, because they may read it.
      store.remindIn(transaction, id, open)
      return ok(
        announceIn(
          transaction,
          { id, binding },
          {
            kind: 'approval.requested',
            args_hash: binding.argsHash,
            definition_hash: binding.definitionHash,
            policy_version: binding.policyVersion,
            promise_hash: binding.promiseHash,
            leaves_hash: leaves === undefined ? null : computeJsonSha256(leaves),
            preview_hash: shown.previewHash ?? null,
            expires_at: formatIsoTime(nowMs + openMs),
            trace_id: shown.traceId,
            ...(terms === undefined ? {} : { quorum: toQuorumEntryFields(terms, binding, shown.effect) }),
          },
          { ...(shown as unknown as JsonObject), ...(leaves === undefined ? {} : { leaves }) },
        ),
      )
    },

    useIn: (transaction, id, { traceId }) => {
      const approval = state.approvals.get(id)
      if (approval === undefined) throw new Error(`approval ${id} is gone`)
      announceIn(transaction, approval, { kind: 'approval.used', trace_id: traceId })
    },

    giveBackIn: (transaction, id, { traceId }) => {
      const approval = state.approvals.get(id)
      if (approval?.state !== 'used' || approval.usedTrace !== traceId) return
      announceIn(transaction, approval, { kind: 'approval.approved', given_back_by: traceId })
    },

    sweepIn: (transaction) => {
      const { nowMs } = transaction
      for (const { id, state: reached } of state.approvals.values())
        if (state.rounds.has(id) && (reached === 'requested' || reached === 'approved')) settleIn(transaction, id)
      const lapsed = [...state.approvals.values()].filter(
        (approval) =>
          !isApprovalClosed(approval) &&
          (approval.expiresAtMs <= nowMs ||
            approval.requestedAtMs > nowMs + APPROVAL_CLOCK_SLACK_MS ||
            approval.binding.policyVersion !== policyVersion),
      )
      for (const approval of lapsed)
        expireIn(
          transaction,
          approval,
          explainApprovalLapse(approval, policyVersion, nowMs) ?? 'the clock was set back',
        )
      return lapsed.length
    },

    expireTamperedIn: (transaction) => {
      for (const approval of state.approvals.values())
        if (approval.state === 'requested' && isApprovalTextTampered(approval, log))
          expireIn(transaction, approval, 'what it asks for was changed on the disk')
    },

    abandonRoundsIn: (transaction, because) => {
      for (const approval of state.approvals.values())
        if (state.rounds.has(approval.id) && !isApprovalClosed(approval)) expireIn(transaction, approval, because)
    },

    forgetIn: (transaction, principal) => {
      for (const approval of state.approvals.values())
        if (!isApprovalClosed(approval) && approval.binding.principal === principal)
          expireIn(transaction, approval, 'the credential is gone')
    },
  }
  return store
}

function queueFull(whose: string, config: ApprovalsConfig): Fault {
  const message = `Too many requests of ${whose} are already waiting for an answer.`
  return {
    kind: 'busy',
    message,
    retryAfterMs: config.openMs,
    reasons: [{ rule: 'approval-queue', message }],
  }
}
