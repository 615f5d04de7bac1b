/**
 * Quorum round store: casts votes and settles rounds, inside the transactions of their approvals.
 *
 *   vote ─▶ recorded ─▶ enough yeses: the approval is given      too many noes: denied      a yes no longer counts: lapsed
 */
import type { Caller } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { computeDrawnOrder } from '../ledger/random-draw.ts'
import type { GuardState } from './guard-state.ts'
import type {
  ForeignQuorumRound,
  ProposedVotingTerms,
  QuorumTallyResult,
  QuorumRoundRecord,
  QuorumRoundVoter,
} from './quorum-round-terms.ts'
import {
  explainVoteConflictFlaw,
  listValidYesVotes,
  findVoterCredential,
  NODE_VOTER_PREFIX,
  explainRoundDenial,
  explainVoteFlaw,
} from './quorum-round-state.ts'
import { truncateAndRedactText } from './secret-detection.ts'
import type { GuardTransaction } from './guard-transaction-store.ts'
import { FIRST_VOTE_PREVIOUS_HASH, parseVoteBody, signVote, computeVoterKeyId, deriveVoterPublicKey } from './vote.ts'
import type { SignedVote, VoteBody, VoteDecision, VoteChainHead } from './vote.ts'
import type { QuorumRequirement, ProposedCallFacts, NodeVoterIdentity } from './quorum-voters.ts'
import { createVoteRefusal, createUnknownRoundFault } from './vote-fault.ts'
import { proposeVotingTerms } from './quorum-voters.ts'

const MAX_REASON = 1_000

export interface QuorumRoundStore {
  /** The voters and the required number, or why there can be none. */
  readonly terms: (request: QuorumRequirement, about: ProposedCallFacts) => Result<ProposedVotingTerms, Fault>
  /** Casts the caller's vote, which this node signs. */
  readonly castIn: (
    transaction: GuardTransaction,
    id: string,
    vote: { readonly by: Caller; readonly decision: VoteDecision; readonly reason: string; readonly digest?: string },
  ) => Result<SignedVote, Fault>
  /** Accepts a vote that another node signed. */
  readonly takeIn: (
    transaction: GuardTransaction,
    id: string,
    vote: { readonly voter: string; readonly vote: SignedVote },
  ) => Result<SignedVote, Fault>
  /** Signs this node's vote in another node's round; that vote is not in this log. */
  readonly signForeignVote: (
    terms: ForeignQuorumRound,
    vote: { readonly decision: VoteDecision; readonly remoteHead: VoteChainHead | undefined; readonly nowMs: number },
  ) => SignedVote
  /** Draws the witness of a round whose quorum is reached. */
  readonly drawIn: (transaction: GuardTransaction, round: QuorumRoundRecord) => void
  /** What the votes so far mean for the round. */
  readonly outcome: (round: QuorumRoundRecord, nowMs: number) => QuorumTallyResult
  readonly self: QuorumRoundVoter
}

export function createQuorumRoundStore({
  state,
  voting,
}: {
  readonly state: GuardState
  readonly voting: NodeVoterIdentity
}): QuorumRoundStore {
  const self: QuorumRoundVoter = { voter: NODE_VOTER_PREFIX + voting.house, key: deriveVoterPublicKey(voting.nodeSeed) }

  /** Which voter of the round the caller is, and the voter's key. */
  function speaker(
    round: QuorumRoundRecord,
    by: Caller,
  ): { readonly voter: string; readonly seed: Uint8Array } | undefined {
    if (by.kind !== 'principal' || (by.role !== 'approver' && by.role !== 'admin')) return undefined
    const credential = findVoterCredential(state, by.id)
    const isPerson = round.voters.some(({ voter }) => voter === by.id)
    if (isPerson && credential !== undefined) return { voter: by.id, seed: voting.personSeed(credential) }
    // An admin casts the vote of this node.
    const isNode = by.role === 'admin' && round.voters.some(({ voter }) => voter === self.voter)
    return isNode ? { voter: self.voter, seed: voting.nodeSeed } : undefined
  }

  /**
   * Signs the voter's next vote. `remoteHead`: the newest vote that other nodes know, where the ledger may have an older
   * one.
   */
  function sign(
    round: ForeignQuorumRound,
    seed: Uint8Array,
    vote: { readonly decision: VoteDecision; readonly remoteHead?: VoteChainHead | undefined; readonly nowMs: number },
  ): SignedVote {
    const { decision, remoteHead, nowMs } = vote
    const key = deriveVoterPublicKey(seed)
    const localHead = state.voteHeads.get(key)
    const head = (remoteHead?.seq ?? 0) > (localHead?.seq ?? 0) ? remoteHead : localHead
    const body: VoteBody = {
      approval: round.id,
      call: round.digest,
      house: round.house,
      epoch: round.epoch,
      expires: Math.floor(round.expiresAtMs / 1_000),
      voter: computeVoterKeyId(key),
      decision,
      issued: Math.floor(nowMs / 1_000),
      seq: (head?.seq ?? 0) + 1,
      prev: head?.hash ?? FIRST_VOTE_PREVIOUS_HASH,
    }
    return signVote(body, seed)
  }

  /** Records a vote that is valid. */
  function acceptIn(
    transaction: GuardTransaction,
    round: QuorumRoundRecord,
    { voter, vote, reason = '' }: { readonly voter: string; readonly vote: SignedVote; readonly reason?: string },
  ): Result<SignedVote, Fault> {
    const { nowMs, record } = transaction
    const flaw = explainVoteFlaw(state, round, { vote, voter, atMs: nowMs })
    if (flaw !== undefined)
      return fail(createVoteRefusal(nowMs >= round.expiresAtMs ? 'ROUND_CLOSED' : 'NOT_A_VOTER', `${flaw}.`))
    const { body, signature } = vote
    const shownReason = truncateAndRedactText(reason, MAX_REASON)
    record(
      {
        kind: 'consensus.voted',
        approval: round.id,
        voter,
        vote: body,
        signature,
        decision: parseVoteBody(vote)?.decision,
      },
      shownReason === '' ? undefined : { reason: shownReason },
    )
    return ok(vote)
  }

  /** Records both votes where they prove that their voter contradicted itself. */
  function refuseSecondIn(
    { record }: GuardTransaction,
    round: QuorumRoundRecord,
    voter: string,
    votes: readonly SignedVote[],
  ): Result<never, Fault> {
    if (explainVoteConflictFlaw(round, voter, votes) === undefined)
      record({
        kind: 'consensus.equivocated',
        approval: round.id,
        voter,
        votes: votes.map(({ body, signature }): JsonObject => ({ vote: body, signature })),
      })
    return fail(
      createVoteRefusal('EQUIVOCATION', `${voter} has voted both yes and no; both votes are kept and neither counts.`),
    )
  }

  return {
    self,

    terms: (request, about) => proposeVotingTerms({ state, voting }, request, about),

    castIn: (transaction, id, { by, decision, reason, digest }) => {
      const round = state.rounds.get(id)
      const approval = state.approvals.get(id)
      if (round === undefined || approval === undefined) return fail(createUnknownRoundFault(id))
      const speaking = speaker(round, by)
      if (speaking === undefined)
        return fail(
          createVoteRefusal('NOT_A_VOTER', `${toCallerKey(by)} is not a voter of this round; agents never are.`),
        )
      if (digest !== undefined && digest !== round.digest)
        return fail({ kind: 'invalid-arguments', message: 'digest: it is not that of this round' })
      const { voter, seed } = speaking
      const key = round.voters.find((each) => each.voter === voter)?.key ?? ''
      if (deriveVoterPublicKey(seed) !== key)
        return fail(createVoteRefusal('INVALID_KEY', `${voter} has another credential than when the round began.`))
      const vote = sign(round, seed, { decision, nowMs: transaction.nowMs })
      const before = round.votes.find((cast) => cast.voter === voter)
      if (before?.decision === decision)
        return fail(
          createVoteRefusal('ALREADY_VOTED', `${voter} has already voted ${decision === 'allow' ? 'yes' : 'no'}.`),
        )
      if (approval.state !== 'requested' && approval.state !== 'approved')
        return fail(createVoteRefusal('ROUND_CLOSED', `The round is ${approval.state}.`))
      if (before !== undefined) return refuseSecondIn(transaction, round, voter, [before, vote])
      return acceptIn(transaction, round, { voter, vote, reason })
    },

    takeIn: (transaction, id, { voter, vote }) => {
      const round = state.rounds.get(id)
      if (round === undefined) return fail(createUnknownRoundFault(id))
      const before = round.votes.find((cast) => cast.voter === voter)
      if (before !== undefined && before.body === vote.body)
        return fail(createVoteRefusal('ALREADY_VOTED', `${voter} has voted before.`))
      if (before !== undefined && explainVoteConflictFlaw(round, voter, [before, vote]) === undefined)
        return refuseSecondIn(transaction, round, voter, [before, vote])
      return acceptIn(transaction, round, { voter, vote })
    },

    signForeignVote: (round, vote) => sign(round, voting.nodeSeed, vote),

    drawIn: (transaction, { id, epoch, witnesses }) => {
      const number = state.approvals.get(id)?.askedSeq ?? 0
      const { proof, beta } = voting.draws.prove({ epoch, purpose: 'witness', number })
      transaction.record({
        kind: 'consensus.drawn',
        approval: id,
        number,
        epoch,
        proof,
        witness: computeDrawnOrder(beta, witnesses)[0],
      })
    },

    outcome: (round, nowMs) => {
      const approval = state.approvals.get(round.id)
      const isOpen = approval?.state === 'requested' || approval?.state === 'approved'
      if (!isOpen) return { kind: 'open' }
      const why = explainRoundDenial(state, round, nowMs)
      if (why !== undefined) return { kind: 'denied', why }
      const yeses = listValidYesVotes(state, round, nowMs)
      if (yeses.length >= round.need)
        return approval.state === 'approved' ? { kind: 'open' } : { kind: 'quorum', yeses }
      return approval.state === 'approved' ? { kind: 'lost' } : { kind: 'open' }
    },
  }
}
