/** Quorums: what tools and faces do with voting rounds: propose a call, vote, and see how final a decision is. */
import type { Call, Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { LedgerEvent } from '../ledger/entry.ts'
import { createCallBinding, toApproverOnlyCallView, toStoredCallView } from './approval-request.ts'
import type { HashedCall } from './approval-request.ts'
import type { Approval } from './approval.ts'
import { computeArgumentsHash, hashArgumentLeaves } from './call-binding.ts'
import type { GuardState } from './guard-state.ts'
import {
  planAndAssessCall,
  EMPTY_RECORDED_CALL_FACTS,
  evaluatePolicyForCall,
  findRequiredQuorum,
} from './call-decision.ts'
import { listEligibleWitnesses } from './finality-state.ts'
import { createPolicyDenialFault, NOT_UNICODE_FAULT } from './guard-faults.ts'
import type { CallReservationDependencies } from './call-reservation.ts'
import type { QuorumRoundRecord, QuorumRoundVoter } from './quorum-round-terms.ts'
import { createVoteRefusal } from './vote-fault.ts'
import type { QuorumRoundStore } from './quorum-round-store.ts'
import type { QuorumRequirement } from './quorum-voters.ts'
import type { GuardTransaction } from './guard-transaction-store.ts'
import type { SignedVote, VoteDecision } from './vote.ts'

export interface QuorumProposal extends QuorumRequirement {
  readonly target?: string | undefined
  /** How long the round stays open. */
  readonly openMs?: number | undefined
}

/** What the ledger's witnesses have cosigned. */
export interface CosignedCheckpointReader {
  /** The size of the newest cosigned checkpoint. */
  readonly size: number | undefined
  /** The newest checkpoint that covers an entry and has the cosignature of this key, as a note. */
  readonly by: (witness: string, seq: number) => { readonly size: number; readonly note: string } | undefined
}

export interface QuorumRoundService {
  /** Proposes one exact call to voters. Proposing the same call again returns the same round while it is open. */
  readonly propose: (call: Call, offer: Offer, proposal: QuorumProposal) => Promise<Result<Approval, Fault>>
  readonly vote: (
    id: string,
    vote: { readonly by: Caller; readonly decision: VoteDecision; readonly reason: string; readonly digest: string },
  ) => Promise<Result<SignedVote, Fault>>
  /** Accepts a vote that another node signed. */
  readonly take: (
    id: string,
    vote: { readonly voter: string; readonly vote: SignedVote },
  ) => Promise<Result<SignedVote, Fault>>
  readonly get: (id: string) => QuorumRoundRecord | undefined
  /** How many pairs of signed statements on record contradict each other. */
  readonly contradictions: (sinceMs: number) => number
  /** All rounds, newest first. */
  readonly list: () => readonly QuorumRoundRecord[]
  /**
   * Draws the witnesses of reached quorums, and raises levels: HARD where the drawn witness has cosigned, ABSOLUTE
   * after the dispute window.
   */
  readonly finalize: (cosigned: CosignedCheckpointReader) => Promise<void>
  readonly signForeignVote: QuorumRoundStore['signForeignVote']
  /** Closes every open round, because what was decided in it is no longer known. */
  readonly abandon: (because: string) => Promise<void>
  /** This node as a voter. */
  readonly self: QuorumRoundVoter
}

export function createQuorumRoundService(
  parts: CallReservationDependencies,
  { state, disputeMs }: { readonly state: GuardState; readonly disputeMs: number },
): QuorumRoundService {
  const { rounds, approvals, transact } = parts

  function proposeIn(
    transaction: GuardTransaction,
    { assessed, argsHash }: HashedCall,
    proposal: QuorumProposal,
  ): Result<Approval, Fault> {
    const binding = createCallBinding(assessed, argsHash, parts)
    const leaves = hashArgumentLeaves(parts.hashKey, assessed.call.body)
    const rule = findRequiredQuorum(assessed, parts)
    if (rule !== undefined && !isSameRequest(rule, proposal))
      return fail({
        kind: 'not-permitted',
        message: 'A rule of the owner says who votes about this, and how many it takes.',
      })
    const terms = rounds.terms(rule ?? proposal, {
      ...binding,
      effect: assessed.effect ?? assessed.offer.effect,
      isRule: rule !== undefined,
      nowMs: transaction.nowMs,
    })
    if (!terms.ok) return terms
    const { standing } = approvals.standingIn(transaction, binding, leaves, terms.value)
    const known =
      standing.state === 'requested' || standing.state === 'approved' ? approvals.get(standing.id) : undefined
    if (known?.round !== undefined) return ok(known)
    if (standing.state === 'denied')
      return fail(
        createVoteRefusal('ROUND_CLOSED', `Voters said no to this call: ${standing.why}. That holds for a while.`),
      )
    return approvals.requestIn(transaction, {
      binding,
      leaves,
      shown: toStoredCallView(assessed),
      open: toApproverOnlyCallView(assessed),
      terms: terms.value,
      openMs: proposal.openMs,
    })
  }

  /** Casts a vote and carries out what follows from it, in one transaction. */
  function settled<Value>(id: string, voteIn: (transaction: GuardTransaction) => Value): Promise<Value> {
    return transact((transaction) => {
      approvals.sweepIn(transaction)
      const voted = voteIn(transaction)
      approvals.settleIn(transaction, id)
      return voted
    })
  }

  return {
    self: rounds.self,

    propose: async (call, offer, proposal) => {
      const assessed = await planAndAssessCall(call, offer, parts)
      if (!assessed.ok) return assessed
      const { assessment, effect, mistake } = assessed.value
      const decision = evaluatePolicyForCall(assessed.value, EMPTY_RECORDED_CALL_FACTS, parts)
      // There is no vote on a call that is refused anyway; one that only has to wait may be proposed.
      if (decision.verdict === 'deny' && decision.retryAfterMs === undefined)
        return fail(createPolicyDenialFault(decision))
      if (mistake !== undefined) return fail(mistake)
      if (effect === undefined || effect === 'reads' || effect === 'records' || assessment.dryRun === true)
        return fail({ kind: 'invalid-arguments', message: `tool: ${offer.name} with these arguments changes nothing` })
      if (proposal.target !== undefined && proposal.target !== assessment.target)
        return fail({
          kind: 'invalid-arguments',
          message: `target: this call acts on ${assessment.target ?? 'no device'}`,
        })
      const argsHash = computeArgumentsHash(parts.hashKey, call.body)
      if (argsHash === undefined) return fail(NOT_UNICODE_FAULT)
      return transact((transaction) => proposeIn(transaction, { assessed: assessed.value, argsHash }, proposal))
    },

    vote: (id, vote) => settled(id, (transaction) => rounds.castIn(transaction, id, vote)),
    take: (id, vote) => settled(id, (transaction) => rounds.takeIn(transaction, id, vote)),
    get: (id) => state.rounds.get(id),
    list: () => [...state.rounds.values()].toReversed(),
    contradictions: (sinceMs) =>
      [...state.conflicts.values(), ...[...state.rounds.values()].flatMap(({ conflicts }) => conflicts)].filter(
        (found) => (typeof found === 'number' ? found : found.atMs) >= sinceMs,
      ).length,
    signForeignVote: rounds.signForeignVote,

    abandon: (because) => transact((transaction) => approvals.abandonRoundsIn(transaction, because)),

    finalize: async (cosigned) => {
      const nowMs = parts.nowMs()
      const undrawn: QuorumRoundRecord[] = []
      const final: LedgerEvent[] = []
      for (const round of state.rounds.values()) {
        const { id: approval, level, hardAtMs = nowMs } = round
        if (level === 'QUORUM' && round.witnesses.length > 0 && round.draw === undefined) undrawn.push(round)
        const facts = level === 'QUORUM' ? findHardFacts(state, round, { cosigned, nowMs }) : undefined
        if (facts !== undefined) final.push({ kind: 'consensus.final', approval, level: 'HARD', ...facts })
        if (level === 'HARD' && round.conflicts.length === 0 && nowMs - hardAtMs >= disputeMs)
          final.push({ kind: 'consensus.final', approval, level: 'ABSOLUTE', window_ms: disputeMs })
      }
      if (undrawn.length + final.length === 0) return
      await transact((transaction) => {
        for (const round of undrawn) rounds.drawIn(transaction, round)
        for (const event of final) transaction.record(event)
      })
    },
  }
}

/** The cosigned checkpoint that makes a quorum HARD, if there is one. */
function findHardFacts(
  state: GuardState,
  round: QuorumRoundRecord,
  { cosigned, nowMs }: { readonly cosigned: CosignedCheckpointReader; readonly nowMs: number },
): JsonObject | undefined {
  const { quorumSeq = Infinity, witnesses } = round
  if (witnesses.length === 0) return (cosigned.size ?? 0) > quorumSeq ? { size: cosigned.size ?? 0 } : undefined
  for (const witness of listEligibleWitnesses(state, round, nowMs)) {
    const found = cosigned.by(witness, quorumSeq)
    if (found !== undefined) return { size: found.size, witness, note: found.note }
  }
  return undefined
}

/** A proposer may leave the terms out, or repeat those of the rule. */
function isSameRequest(rule: QuorumRequirement, { need, voters }: QuorumProposal): boolean {
  const isSameNeed = need === undefined || need === rule.need
  const named = new Set(rule.voters)
  return (
    isSameNeed && (voters === undefined || (voters.length === named.size && voters.every((each) => named.has(each))))
  )
}
