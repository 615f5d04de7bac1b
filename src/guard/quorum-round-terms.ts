/**
 * Quorum round terms: an approval that several voters have to give: who votes, how many must agree, and how final the
 * decision is.
 *
 *   PENDING ─first vote─▶ SOFT ─enough yeses─▶ QUORUM ─drawn witness cosigns─▶ HARD ─dispute window over─▶ ABSOLUTE
 *
 * The round is an approval request with voting terms; QUORUM is the approval, which the guard consumes once.
 */
import type { Effect } from '../bus/capability.ts'
import { computeJsonSha256 } from './call-binding.ts'
import type { JsonObject } from '../core/json.ts'
import type { CallBinding } from './call-binding.ts'
import { computeVoteHash } from './vote.ts'
import type { SignedVote, VoteDecision } from './vote.ts'

export const FINALITY_LEVELS = ['PENDING', 'SOFT', 'QUORUM', 'HARD', 'ABSOLUTE'] as const
export type FinalityLevel = (typeof FINALITY_LEVELS)[number]

export interface QuorumRoundVoter {
  /** A person by the name of the credential, or `node:` and a node's id. */
  readonly voter: string
  /** Hexadecimal Ed25519 key. */
  readonly key: string
}

export interface QuorumRoundTerms {
  /** How many yes votes are required. */
  readonly need: number
  readonly voters: readonly QuorumRoundVoter[]
  /** Whether a single no denies the call. */
  readonly veto: boolean
  readonly digest: string
  /** The node whose log decides about the call. */
  readonly house: string
  /** How many membership records there were. */
  readonly epoch: number
  readonly effect: Effect
  /**
   * Keys of the witnesses that could cosign when the round began (C2SP vkeys); the one that has to is drawn from them.
   */
  readonly witnesses: readonly string[]
}

/** The terms that a proposal chooses; the call itself determines the others. */
export type ProposedVotingTerms = Pick<QuorumRoundTerms, 'need' | 'voters' | 'veto' | 'house' | 'epoch' | 'witnesses'>

/** A round of another node, in which this node votes. */
export interface ForeignQuorumRound {
  readonly id: string
  readonly digest: string
  readonly house: string
  readonly epoch: number
  readonly expiresAtMs: number
}

export interface CastVote extends SignedVote {
  readonly voter: string
  readonly decision: VoteDecision
  readonly atMs: number
  /** The ledger entry that contains it. */
  readonly seq: number
}

/** Two votes of one voter that contradict each other. */
export interface VoteConflict {
  readonly voter: string
  readonly votes: readonly SignedVote[]
  readonly atMs: number
}

export interface QuorumRoundRecord extends QuorumRoundTerms {
  readonly id: string
  /** When the request lapses. */
  readonly expiresAtMs: number
  readonly votes: readonly CastVote[]
  readonly conflicts: readonly VoteConflict[]
  readonly level: FinalityLevel
  /** The entry in which the quorum became an approval. */
  readonly quorumSeq: number | undefined
  readonly quorumAtMs: number | undefined
  /** The witnesses in the order that was drawn. */
  readonly draw: { readonly proof: string; readonly order: readonly string[]; readonly seq: number } | undefined
  readonly hardAtMs: number | undefined
  readonly hardWitness: string | undefined
}

/** What follows from the votes of a round. */
export type QuorumTallyResult =
  | { readonly kind: 'open' }
  | { readonly kind: 'quorum'; readonly yeses: readonly SignedVote[] }
  | { readonly kind: 'denied'; readonly why: string }
  /** The quorum was reached, and then lost because a vote no longer counts. */
  | { readonly kind: 'lost' }

/** Facts 3.3: ⌊2n/3⌋ + 1. */
export function computeTwoThirdsMajority(voters: number): number {
  return Math.floor((2 * voters) / 3) + 1
}

/** What votes are about: everything that an approval is bound to. */
export function computeVotedCallDigest(binding: CallBinding): string {
  return computeJsonSha256({ type: 'hearthbus/consensus/v1', ...binding, target: binding.target ?? null })
}

/** The hash of the votes that made the quorum, independent of the order in which they came. */
export function computeCertificateHash(votes: readonly SignedVote[]): string {
  return computeJsonSha256(votes.map((vote) => `${computeVoteHash(vote)} ${vote.signature}`).toSorted())
}

export function raiseFinalityLevel(level: FinalityLevel, to: FinalityLevel): FinalityLevel {
  return FINALITY_LEVELS.indexOf(to) > FINALITY_LEVELS.indexOf(level) ? to : level
}

export function hasVotedTwice({ conflicts }: Pick<QuorumRoundRecord, 'conflicts'>, voter: string): boolean {
  return conflicts.some((conflict) => conflict.voter === voter)
}

/** The terms as the entry of a request has them. */
export function toQuorumEntryFields(
  { need, voters, veto, house, epoch, witnesses }: ProposedVotingTerms,
  binding: CallBinding,
  effect: Effect,
): JsonObject {
  const named = voters.map(({ voter, key }) => ({ voter, key }))
  return { need, voters: named, veto, house, epoch, digest: computeVotedCallDigest(binding), effect, witnesses }
}

/** Whether a round demands at least these terms, from the same voters. */
export function areTermsAtLeastAsStrict(
  round: QuorumRoundTerms | undefined,
  { need, voters, veto }: ProposedVotingTerms,
): boolean {
  if (round === undefined || round.need < need || (veto && !round.veto)) return false
  return round.voters.every(({ voter, key }) => voters.some((each) => each.voter === voter && each.key === key))
}
