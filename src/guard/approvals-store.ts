/**
 * Approvals store: requests for approval, their answers, and the one call that each answer is valid for. A repeated
 * call creates no second request; a denial holds until the request would have lapsed; the number of open requests is
 * bounded, so that a looping model cannot flood the approver.
 */
import type { Caller } from '../bus/call.ts'
import { toAccountKeyFromCallerKey, toCallerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import {
  explainApproverRefusal,
  APPROVAL_CLOCK_SLACK_MS,
  APPROVAL_WITHDRAWN_REASON,
  explainApprovalLapse,
} from './approval.ts'
import type {
  Approval,
  ApproverEligibilityFacts,
  ApprovalStatusWithNotes,
  ApproverOnlyCallView,
  StoredCallView,
} from './approval.ts'
import { isApprovalClosed } from './approval-state.ts'
import type { ApprovalRecord } from './approval-state.ts'
import { resolveCallApprovalStatus, listNewestApprovals } from './approval-lookup.ts'
import { addApprovalTexts, isApprovalTextPresent } from './approval-texts.ts'
import type { ApprovalEvent, Approvals, ApprovalsConfig } from './approvals.ts'
import { computeJsonSha256 } from './call-binding.ts'
import type { CallBinding, ArgumentLeafHashes } from './call-binding.ts'
import { computeCertificateHash, toQuorumEntryFields } from './quorum-round-terms.ts'
import type { ProposedVotingTerms } from './quorum-round-terms.ts'
import type { QuorumRoundStore } from './quorum-round-store.ts'
import { QUORUM_DECIDER_NAME } from './quorum-round-state.ts'
import type { VoteDecision } from './vote.ts'
import type { GrantStore } from './grants-store.ts'
import type { GuardState } from './guard-state.ts'
import { truncateAndRedactText } from './secret-detection.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import type { GuardTransactionRunner, GuardTransaction } from './guard-transaction-store.ts'

/** What the guard itself uses inside its transactions. */
export interface ApprovalStore extends Approvals {
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
  /** Closes every round that is open or was not used yet. */
  readonly abandonRoundsIn: (transaction: GuardTransaction, because: string) => void
  /** Closes all requests of a caller whose credential has ended. */
  readonly forgetIn: (transaction: GuardTransaction, principal: string) => void
}

const MAX_LIST = 500
const MAX_REASON = 1_000

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
  const listeners = new Set<(event: ApprovalEvent) => void>()
  /** What is held in memory of open requests only, so at most `maxOpen` of them. */
  const openCalls = new Map<string, ApproverOnlyCallView>()

  const read = (id: string): Approval | undefined => {
    const record = state.approvals.get(id)
    return record && addApprovalTexts(record, state, log)
  }
  /** One change of state: the ledger entry, what follows from it, and the notification. */
  function announce(
    transaction: GuardTransaction,
    { id, binding }: Pick<ApprovalRecord, 'id' | 'binding'>,
    { kind, ...fields }: AnnouncedEvent,
    body?: JsonObject,
  ): Approval {
    const { principal, tool, target } = binding
    transaction.record({ kind, approval: id, principal, tool, target, ...fields }, body)
    const approval = read(id)
    if (approval === undefined) throw new Error(`approval ${id} is gone`)
    transaction.afterwards(() => {
      if (approval.state !== 'requested') openCalls.delete(id)
      for (const listener of listeners) tell(listener, { kind, approval })
    })
    return approval
  }

  /** Listeners are called one by one: one that throws must not undo what is durable. */
  function tell(listener: (event: ApprovalEvent) => void, event: ApprovalEvent): void {
    try {
      listener(event)
    } catch (error) {
      report(error, 'a listener to approvals threw')
    }
  }

  function expireIn(transaction: GuardTransaction, approval: ApprovalRecord, because: string): void {
    announce(transaction, approval, { kind: 'approval.expired', was: approval.state, because })
  }

  function decide(
    id: string,
    by: Caller,
    work: (transaction: GuardTransaction, approval: Approval) => Result<Approval, Fault>,
  ): Promise<Result<Approval, Fault>> {
    return transact((transaction) => {
      store.sweepIn(transaction)
      const approval = read(id)
      if (approval === undefined) return alreadyGone(id)
      // In a voting round, the terms say who votes.
      const flaw = approval.round === undefined ? explainApproverRefusal(by, decidable(approval)) : undefined
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

  function approveIn(
    transaction: GuardTransaction,
    approval: Pick<ApprovalRecord, 'id' | 'binding'>,
    decision: JsonObject,
  ): Approval {
    const until = { expires_at: formatIsoTime(transaction.nowMs + config.useMs) }
    return announce(transaction, approval, { kind: 'approval.approved', ...decision, ...until })
  }

  function settleIn(transaction: GuardTransaction, id: string): void {
    const [approval, round] = [state.approvals.get(id), state.rounds.get(id)]
    if (approval === undefined || round === undefined) return
    const outcome = rounds.outcome(round, transaction.nowMs)
    const by = QUORUM_DECIDER_NAME
    switch (outcome.kind) {
      case 'quorum':
        approveIn(transaction, approval, { by, certificate: computeCertificateHash(outcome.yeses), grant: null })
        return
      case 'denied':
        announce(transaction, approval, { kind: 'approval.denied', by }, { reason: outcome.why })
        return
      case 'lost':
        expireIn(transaction, approval, 'an approval no longer counts')
        return
      default:
    }
  }

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
      if (open === undefined || explainApproverRefusal(by, decidable(approval)) !== undefined) return approval
      return { ...approval, shown: { ...approval.shown, ...open } }
    },

    approve: (id, by, { grant } = {}) =>
      decide(id, by, (transaction, approval) => {
        const record = state.approvals.get(id)
        if (record === undefined || !isApprovalTextPresent(record, log)) return unreadable(id)
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
        return ok(announce(transaction, approval, denial, { reason: truncateAndRedactText(reason, MAX_REASON) }))
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

    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    standingIn: (transaction, binding, leaves, terms) => {
      const { nowMs } = transaction
      const { principal, tool } = binding
      for (const { id, binding: asked } of state.approvals.values())
        if (state.rounds.has(id) && asked.principal === principal && asked.tool === tool) settleIn(transaction, id)
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
      const own = waiting.filter(({ binding: asked }) => toAccountKeyFromCallerKey(asked.principal) === account)
      if (own.length >= config.maxOpenPerPrincipal) return fail(queueFull('this caller', config))
      const id = newUlid(nowMs)
      // Runs before listeners hear of the request, because they may read it.
      store.remindIn(transaction, id, open)
      return ok(
        announce(
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
      announce(transaction, approval, { kind: 'approval.used', trace_id: traceId })
    },

    giveBackIn: (transaction, id, { traceId }) => {
      const approval = state.approvals.get(id)
      if (approval?.state !== 'used' || approval.usedTrace !== traceId) return
      announce(transaction, approval, { kind: 'approval.approved', given_back_by: traceId })
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

const NO_GRANTS: Fault = { kind: 'not-permitted', message: 'A round is about one exact call: votes make no grant.' }

/** A request whose text is gone cannot be approved, because nobody could read what they approve. */
function unreadable(id: string): Result<never, Fault> {
  return fail({
    kind: 'conflict',
    message: `What approval ${id} asks for cannot be read any more, so it cannot be approved. Deny it, and let the caller ask again; \`hearthbus ledger verify\` says what is wrong with the record.`,
  })
}

function alreadyGone(id: string): Result<never, Fault> {
  return fail({ kind: 'not-found', message: `There is no approval ${id}.` })
}

function decidable({ binding, shown }: Approval): ApproverEligibilityFacts {
  return { principal: binding.principal, target: binding.target, effect: shown.effect }
}

interface AnnouncedEvent {
  readonly kind: ApprovalEvent['kind']
  readonly [field: string]: Json | undefined
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
