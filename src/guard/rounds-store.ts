/**
 * Rounds store: proposes, votes and settles rounds, inside the steps of the approvals that they are.
 *
 *   vote ─▶ recorded ─▶ enough yeses: the approval is given      a no too many: denied      a yes no longer counts: lapsed
 */
import type { Caller } from '../bus/call.ts'
import { readCallerAccount, callerKey } from '../bus/caller.ts'
import type { Fault, FaultKind } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { GuardState } from './guard-state.ts'
import { roleOfPrincipalAt } from './principal-state.ts'
import { defaultQuorum } from './round.ts'
import type { RoundRecord, RoundTerms, RoundVoter } from './round.ts'
import {
  explainConflictFlaw,
  countYesVotes,
  findVoterCredential,
  NODE_VOTER_PREFIX,
  decodeNodePublicKeyHex,
  explainRoundDenial,
  explainVoteFlaw,
} from './round-state.ts'
import { redactText } from './secrets.ts'
import type { Transaction } from './transaction-store.ts'
import { FIRST_VOTE_PREVIOUS_HASH, readVote, signVote, voterKeyId, voterPublicKey } from './vote.ts'
import type { SignedVote, VoteDecision } from './vote.ts'

/** Who this node is among voters, and the keys that it keeps for them. */
export interface NodeVoter {
  /** Where votes count: this node's id. */
  readonly house: string
  /** How many records about members there are. */
  readonly epoch: () => number
  /** The seed of the key that belongs to a person's credential. */
  readonly personSeed: (credential: string) => Uint8Array
  readonly nodeSeed: Uint8Array
  /** The id of a member, by its id or name. */
  readonly member: (which: string) => string | undefined
}

/** Who has to agree, as a rule or a proposer says it. */
export interface QuorumRequest {
  readonly need?: number | undefined
  /** Names of people, and `node:` with the name or id of a node. Absent: every person who may decide. */
  readonly voters?: readonly string[] | undefined
  readonly veto?: boolean | undefined
}

/** Codes of the contract (spec 5 § 6.3), which travel in the message. */
const CODES = {
  ROUND_NOT_FOUND: 'not-found',
  ALREADY_VOTED: 'conflict',
  INVALID_KEY: 'not-permitted',
  ROUND_CLOSED: 'conflict',
  NOT_A_VOTER: 'not-permitted',
  EQUIVOCATION: 'conflict',
} as const satisfies Record<string, FaultKind>

export type VoteCode = keyof typeof CODES

const MAX_REASON = 1_000

export function voteFault(code: VoteCode, message: string): Fault {
  return { kind: CODES[code], code, message }
}

export interface RoundsStore {
  /** The voters and the number, or why there can be none. `isRule`: the owner chose them. */
  readonly terms: (
    request: QuorumRequest,
    about: { readonly principal: string; readonly isRule: boolean; readonly nowMs: number },
  ) => Result<Pick<RoundTerms, 'need' | 'voters' | 'veto' | 'house' | 'epoch'>, Fault>
  /** A vote of whoever asks, signed here. */
  readonly castIn: (
    transaction: Transaction,
    id: string,
    vote: { readonly by: Caller; readonly decision: VoteDecision; readonly reason: string; readonly digest?: string },
  ) => Result<SignedVote, Fault>
  /** A vote that another node signed. */
  readonly takeIn: (
    transaction: Transaction,
    id: string,
    vote: { readonly voter: string; readonly vote: SignedVote },
  ) => Result<SignedVote, Fault>
  /** This node's vote in a round of another, which is not in this log. */
  readonly signElsewhere: (
    terms: ForeignRound,
    vote: { readonly decision: VoteDecision; readonly seq: number; readonly prev: string; readonly nowMs: number },
  ) => SignedVote
  /** What has to follow from the votes now. */
  readonly outcome: (round: RoundRecord, nowMs: number) => RoundOutcome
  readonly self: RoundVoter
}

export interface ForeignRound {
  readonly id: string
  readonly digest: string
  readonly house: string
  readonly epoch: number
  readonly expiresAtMs: number
}

export type RoundOutcome =
  | { readonly kind: 'open' }
  | { readonly kind: 'quorum'; readonly yeses: readonly SignedVote[] }
  | { readonly kind: 'denied'; readonly why: string }
  /** It was a quorum, and is none any more. */
  | { readonly kind: 'lost' }

export function createRounds({
  state,
  voting,
}: {
  readonly state: GuardState
  readonly voting: NodeVoter
}): RoundsStore {
  const self: RoundVoter = { voter: NODE_VOTER_PREFIX + voting.house, key: voterPublicKey(voting.nodeSeed) }

  function resolveVoter(name: string): RoundVoter | undefined {
    if (name.startsWith(NODE_VOTER_PREFIX)) {
      const nodeId = voting.member(name.slice(NODE_VOTER_PREFIX.length))
      const key = nodeId === undefined ? undefined : decodeNodePublicKeyHex(nodeId)
      return nodeId === undefined || key === undefined ? undefined : { voter: NODE_VOTER_PREFIX + nodeId, key }
    }
    const credential = findVoterCredential(state, name)
    return credential === undefined ? undefined : { voter: name, key: voterPublicKey(voting.personSeed(credential)) }
  }

  /** Everybody with a credential of their own that is not narrowed; the owner where there is nobody else. */
  function everybody(principal: string, nowMs: number): readonly string[] {
    const people = [...state.tokens.values()]
      .filter(({ name, restrictions }) => restrictions === undefined && name !== principal)
      .map(({ name }) => name)
      .filter((name) => ['approver', 'admin'].includes(roleOfPrincipalAt(state, name, nowMs) ?? ''))
    return people.length > 0 ? [...new Set(people)] : ['owner']
  }

  /** Which voter of the round speaks here, and with which key. */
  function speaker(round: RoundRecord, by: Caller): { readonly voter: string; readonly seed: Uint8Array } | undefined {
    if (by.kind !== 'principal' || (by.role !== 'approver' && by.role !== 'admin')) return undefined
    const credential = findVoterCredential(state, by.id)
    const isPerson = round.voters.some(({ voter }) => voter === by.id)
    if (isPerson && credential !== undefined) return { voter: by.id, seed: voting.personSeed(credential) }
    // A node speaks through whoever runs it.
    const isNode = by.role === 'admin' && round.voters.some(({ voter }) => voter === self.voter)
    return isNode ? { voter: self.voter, seed: voting.nodeSeed } : undefined
  }

  function recordIn(
    transaction: Transaction,
    round: RoundRecord,
    { voter, vote, reason }: { readonly voter: string; readonly vote: SignedVote; readonly reason?: string },
  ): void {
    const kept = reason === undefined ? '' : redactText(reason.slice(0, MAX_REASON)).toWellFormed()
    transaction.record(
      {
        kind: 'consensus.voted',
        approval: round.id,
        voter,
        vote: vote.body,
        signature: vote.signature,
        decision: readVote(vote)?.decision,
      },
      kept === '' ? undefined : { reason: kept },
    )
  }

  function conflictIn(transaction: Transaction, round: RoundRecord, voter: string, votes: readonly SignedVote[]): void {
    if (explainConflictFlaw(round, voter, votes) !== undefined) return
    transaction.record({
      kind: 'consensus.equivocated',
      approval: round.id,
      voter,
      votes: votes.map(({ body, signature }): JsonObject => ({ vote: body, signature })),
    })
  }

  return {
    self,

    terms: (request, { principal, isRule, nowMs }) => {
      const names = request.voters ?? everybody(principal, nowMs)
      const voters: RoundVoter[] = []
      for (const name of names) {
        // Nobody votes about a call of their own.
        const isOwn =
          name === principal || readCallerAccount(principal) === `peer:${name.slice(NODE_VOTER_PREFIX.length)}`
        if (isOwn && isRule) continue
        const voter = isOwn ? undefined : resolveVoter(name)
        const role =
          voter === undefined || name.startsWith(NODE_VOTER_PREFIX) ? 'approver' : roleOfPrincipalAt(state, name, nowMs)
        if (voter === undefined || (role !== 'approver' && role !== 'admin')) {
          // A rule names who is asked; one whose credential ended is not, and the number stays.
          if (isRule && !isOwn) continue
          return fail(voteFault('NOT_A_VOTER', isOwn ? `${name} asked for it.` : `${name} is nobody who may vote.`))
        }
        if (voters.some((known) => known.voter === voter.voter))
          return fail(voteFault('NOT_A_VOTER', `${name} is named twice.`))
        voters.push(voter)
      }
      const need = request.need ?? defaultQuorum(names.length)
      const nodes = voters.filter(({ voter }) => voter.startsWith(NODE_VOTER_PREFIX)).length
      if (need > voters.length || need < 1)
        return fail({ kind: 'conflict', message: `It takes ${need} voters, and ${voters.length} can be asked.` })
      // Other houses alone decide here only where the owner said so.
      if (!isRule && need <= nodes)
        return fail({
          kind: 'not-permitted',
          message: `With ${nodes} nodes among the voters it takes more than ${nodes} yeses, so that a person is among them.`,
        })
      return ok({ need, voters, veto: request.veto ?? false, house: voting.house, epoch: voting.epoch() })
    },

    castIn: (transaction, id, { by, decision, reason, digest }) => {
      const round = state.rounds.get(id)
      const approval = state.approvals.get(id)
      if (round === undefined || approval === undefined)
        return fail(voteFault('ROUND_NOT_FOUND', `There is no round ${id}.`))
      const speaking = speaker(round, by)
      if (speaking === undefined)
        return fail(voteFault('NOT_A_VOTER', `${callerKey(by)} is no voter of this round; agents never are.`))
      if (digest !== undefined && digest !== round.digest)
        return fail({ kind: 'invalid-arguments', message: 'digest: it is not that of this round' })
      const { voter, seed } = speaking
      const key = round.voters.find((each) => each.voter === voter)?.key ?? ''
      if (voterPublicKey(seed) !== key)
        return fail(voteFault('INVALID_KEY', `${voter} has another credential than when the round began.`))
      const head = state.voteHeads.get(key)
      const vote = signVote(
        {
          ...voteFrame(round, key),
          decision,
          issued: Math.floor(transaction.nowMs / 1_000),
          seq: (head?.seq ?? 0) + 1,
          prev: head?.hash ?? FIRST_VOTE_PREVIOUS_HASH,
        },
        seed,
      )
      const before = round.votes.find((cast) => cast.voter === voter)
      if (before?.decision === decision)
        return fail(voteFault('ALREADY_VOTED', `${voter} has said ${decision === 'allow' ? 'yes' : 'no'} before.`))
      if (before !== undefined) {
        conflictIn(transaction, round, voter, [before, vote])
        return fail(voteFault('EQUIVOCATION', `${voter} has said both; both votes are kept, and neither counts.`))
      }
      if (approval.state !== 'requested' && approval.state !== 'approved')
        return fail(voteFault('ROUND_CLOSED', `The round is ${approval.state}.`))
      const flaw = explainVoteFlaw(state, round, { vote, voter, atMs: transaction.nowMs })
      if (flaw !== undefined) return fail(voteFault(closingCode(round, transaction.nowMs), `${flaw}.`))
      recordIn(transaction, round, { voter, vote, reason })
      return ok(vote)
    },

    takeIn: (transaction, id, { voter, vote }) => {
      const round = state.rounds.get(id)
      if (round === undefined) return fail(voteFault('ROUND_NOT_FOUND', `There is no round ${id}.`))
      const before = round.votes.find((cast) => cast.voter === voter)
      if (before !== undefined && before.body === vote.body)
        return fail(voteFault('ALREADY_VOTED', `${voter} has voted before.`))
      if (before !== undefined && explainConflictFlaw(round, voter, [before, vote]) === undefined) {
        conflictIn(transaction, round, voter, [before, vote])
        return fail(voteFault('EQUIVOCATION', `${voter} has said both; both votes are kept, and neither counts.`))
      }
      const flaw = explainVoteFlaw(state, round, { vote, voter, atMs: transaction.nowMs })
      if (flaw !== undefined) return fail(voteFault(closingCode(round, transaction.nowMs), `${flaw}.`))
      recordIn(transaction, round, { voter, vote })
      return ok(vote)
    },

    signElsewhere: (round, { decision, seq, prev, nowMs }) =>
      signVote(
        { ...voteFrame(round, self.key), decision, issued: Math.floor(nowMs / 1_000), seq, prev },
        voting.nodeSeed,
      ),

    outcome: (round, nowMs) => {
      const approval = state.approvals.get(round.id)
      const isOpen = approval?.state === 'requested' || approval?.state === 'approved'
      if (!isOpen) return { kind: 'open' }
      const why = explainRoundDenial(state, round, nowMs)
      if (why !== undefined) return { kind: 'denied', why }
      const yeses = countYesVotes(state, round, nowMs)
      if (yeses.length >= round.need)
        return approval.state === 'approved' ? { kind: 'open' } : { kind: 'quorum', yeses }
      return approval.state === 'approved' ? { kind: 'lost' } : { kind: 'open' }
    },
  }
}

function closingCode({ expiresAtMs }: RoundRecord, nowMs: number): VoteCode {
  return nowMs >= expiresAtMs ? 'ROUND_CLOSED' : 'NOT_A_VOTER'
}

function voteFrame(
  { id, digest, house, epoch, expiresAtMs }: ForeignRound,
  key: string,
): { approval: string; call: string; house: string; epoch: number; expires: number; voter: string } {
  const expires = Math.floor(expiresAtMs / 1_000)
  return { approval: id, call: digest, house, epoch, expires, voter: voterKeyId(key) }
}
