/**
 * Quorums: what tools and faces do with rounds: propose a call to voters, vote, and see how final a decision is.
 *
 * Pure: the stores do the work.
 */
import type { Call, Caller } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createBinding, toApproverCallView, toShownCall } from './approval-request.ts'
import type { Approval } from './approval.ts'
import { argumentsHash, hashLeaves } from './binding.ts'
import type { GuardState } from './guard-state.ts'
import { assessCall, decideOnCall, findRequiredQuorum } from './decision.ts'
import type { AssessedCall } from './decision.ts'
import { deniedFault } from './refusal.ts'
import type { ReserveParts } from './reserve.ts'
import type { RoundRecord, RoundVoter } from './round.ts'
import { voteFault } from './rounds-store.ts'
import type { ForeignRound, QuorumRequest } from './rounds-store.ts'
import type { Transaction } from './transaction-store.ts'
import type { SignedVote, VoteDecision } from './vote.ts'

export interface QuorumProposal extends QuorumRequest {
  readonly target?: string | undefined
  /** How long it stays open. */
  readonly openMs?: number | undefined
}

export interface QuorumRounds {
  /** Puts one exact call to voters. The same call again is the same round while that is open. */
  readonly propose: (call: Call, offer: Offer, proposal: QuorumProposal) => Promise<Result<Approval, Fault>>
  readonly vote: (
    id: string,
    vote: { readonly by: Caller; readonly decision: VoteDecision; readonly reason: string; readonly digest: string },
  ) => Promise<Result<SignedVote, Fault>>
  /** A vote that another node signed. */
  readonly take: (
    id: string,
    vote: { readonly voter: string; readonly vote: SignedVote },
  ) => Promise<Result<SignedVote, Fault>>
  readonly get: (id: string) => RoundRecord | undefined
  /** Newest first. */
  readonly list: () => readonly RoundRecord[]
  /** Raises levels: HARD where a cosigned checkpoint covers the quorum, ABSOLUTE after the dispute window. */
  readonly finalize: (cosignedSize: number | undefined) => Promise<void>
  readonly signElsewhere: (
    round: ForeignRound,
    vote: { readonly decision: VoteDecision; readonly seq: number; readonly prev: string; readonly nowMs: number },
  ) => SignedVote
  /** This node as a voter. */
  readonly self: RoundVoter
}

export function createQuorums(
  parts: ReserveParts,
  { state, disputeMs }: { readonly state: GuardState; readonly disputeMs: number },
): QuorumRounds {
  const { rounds, approvals, transact } = parts

  function proposeIn(
    transaction: Transaction,
    {
      assessed,
      argsHash,
      proposal,
    }: { readonly assessed: AssessedCall; readonly argsHash: string; readonly proposal: QuorumProposal },
  ): Result<Approval, Fault> {
    const binding = createBinding(assessed, argsHash, parts)
    const leaves = hashLeaves(parts.hashKey, assessed.call.body)
    const rule = findRequiredQuorum(assessed, parts)
    if (rule !== undefined && !isSameRequest(rule, proposal))
      return fail({
        kind: 'not-permitted',
        message: 'A rule of the owner says who votes about this, and how many it takes.',
      })
    const terms = rounds.terms(rule ?? proposal, {
      principal: binding.principal,
      isRule: rule !== undefined,
      nowMs: transaction.nowMs,
    })
    if (!terms.ok) return terms
    const { standing } = approvals.standingIn(transaction, binding, leaves, terms.value)
    const known =
      standing.state === 'requested' || standing.state === 'approved' ? approvals.get(standing.id) : undefined
    if (known?.round !== undefined) return ok(known)
    if (standing.state === 'denied')
      return fail(voteFault('ROUND_CLOSED', `Voters said no to this call: ${standing.why}. That holds for a while.`))
    return approvals.requestIn(transaction, {
      binding,
      leaves,
      shown: toShownCall(assessed),
      open: toApproverCallView(assessed),
      terms: terms.value,
      openMs: proposal.openMs,
    })
  }

  return {
    self: rounds.self,

    propose: async (call, offer, proposal) => {
      const assessed = await assessCall(call, offer, parts)
      if (!assessed.ok) return assessed
      const { assessment, effect, mistake } = assessed.value
      const decision = decideOnCall(assessed.value, { approval: { state: 'none' }, repeat: false }, parts)
      // Nobody votes about what may not happen anyway; waiting is another matter.
      if (decision.verdict === 'deny' && decision.retryAfterMs === undefined) return fail(deniedFault(decision))
      if (mistake !== undefined) return fail(mistake)
      if (effect === undefined || effect === 'reads' || effect === 'records' || assessment.dryRun === true)
        return fail({ kind: 'invalid-arguments', message: `tool: ${offer.name} with these arguments changes nothing` })
      if (proposal.target !== undefined && proposal.target !== assessment.target)
        return fail({
          kind: 'invalid-arguments',
          message: `target: this call acts on ${assessment.target ?? 'no device'}`,
        })
      const argsHash = argumentsHash(parts.hashKey, call.body)
      if (argsHash === undefined)
        return fail({ kind: 'invalid-arguments', message: 'The arguments hold text that is not valid Unicode.' })
      return transact((transaction) => proposeIn(transaction, { assessed: assessed.value, argsHash, proposal }))
    },

    vote: (id, vote) =>
      transact((transaction) => {
        approvals.sweepIn(transaction)
        const cast = rounds.castIn(transaction, id, vote)
        approvals.settleIn(transaction, id)
        return cast
      }),

    take: (id, vote) =>
      transact((transaction) => {
        approvals.sweepIn(transaction)
        const taken = rounds.takeIn(transaction, id, vote)
        approvals.settleIn(transaction, id)
        return taken
      }),

    get: (id) => state.rounds.get(id),
    list: () => [...state.rounds.values()].toReversed(),
    signElsewhere: rounds.signElsewhere,

    finalize: async (cosignedSize) => {
      const nowMs = parts.nowMs()
      const due = (round: RoundRecord): boolean =>
        (round.level === 'QUORUM' && (round.quorumSeq ?? Infinity) < (cosignedSize ?? 0)) ||
        (round.level === 'HARD' && round.conflicts.length === 0 && nowMs - (round.hardAtMs ?? nowMs) >= disputeMs)
      const found = [...state.rounds.values()].filter(due)
      if (found.length === 0) return
      await transact(({ record }) => {
        for (const { id, level } of found)
          if (level === 'QUORUM')
            record({ kind: 'consensus.final', approval: id, level: 'HARD', size: cosignedSize ?? 0 })
          else record({ kind: 'consensus.final', approval: id, level: 'ABSOLUTE', window_ms: disputeMs })
      })
    },
  }
}

/** What a proposer says may be left out, or be what the rule says. */
function isSameRequest(rule: QuorumRequest, { need, voters }: QuorumProposal): boolean {
  const isSameNeed = need === undefined || need === rule.need
  const named = new Set(rule.voters)
  return (
    isSameNeed && (voters === undefined || (voters.length === named.size && voters.every((each) => named.has(each))))
  )
}
