/**
 * Round: an approval that several have to give. Who votes, how many yeses it takes, and how far it has come.
 *
 *   PENDING ─first vote─▶ SOFT ─enough yeses─▶ QUORUM ─cosigned─▶ HARD ─dispute window over─▶ ABSOLUTE
 *
 * The round is an approval request with terms; QUORUM is the approval, which the guard consumes once.
 */
import type { Effect } from '../bus/capability.ts'
import { sha256OfJson } from './binding.ts'
import type { CallBinding } from './binding.ts'
import { voteHash } from './vote.ts'
import type { SignedVote, VoteDecision } from './vote.ts'

export const FINALITY_LEVELS = ['PENDING', 'SOFT', 'QUORUM', 'HARD', 'ABSOLUTE'] as const
export type FinalityLevel = (typeof FINALITY_LEVELS)[number]

export interface RoundVoter {
  /** A person by the name of the credential, or `node:` and a node's id. */
  readonly voter: string
  /** Hexadecimal Ed25519 key. */
  readonly key: string
}

export interface RoundTerms {
  /** Yeses that it takes. */
  readonly need: number
  readonly voters: readonly RoundVoter[]
  /** One no is a no. */
  readonly veto: boolean
  readonly digest: string
  /** The node whose log decides. */
  readonly house: string
  /** How many records about members there were. */
  readonly epoch: number
  readonly effect: Effect
}

export interface CastVote extends SignedVote {
  readonly voter: string
  readonly decision: VoteDecision
  readonly atMs: number
  /** The entry that has it. */
  readonly seq: number
}

/** Two votes of one voter that cannot both be honest. */
export interface VoteConflict {
  readonly voter: string
  readonly votes: readonly SignedVote[]
}

export interface RoundRecord extends RoundTerms {
  readonly id: string
  /** When the question lapses. */
  readonly expiresAtMs: number
  readonly votes: readonly CastVote[]
  readonly conflicts: readonly VoteConflict[]
  readonly level: FinalityLevel
  /** The entry in which the quorum became an approval. */
  readonly quorumSeq: number | undefined
  readonly hardAtMs: number | undefined
}

/** Facts 3.3: ⌊2n/3⌋ + 1. */
export function defaultQuorum(voters: number): number {
  return Math.floor((2 * voters) / 3) + 1
}

/** What votes are about: everything that an approval is bound to. */
export function roundDigest(binding: CallBinding): string {
  return sha256OfJson({ type: 'hearthbus/consensus/v1', ...binding, target: binding.target ?? null })
}

/** Over the votes that made the quorum, whoever came first. */
export function certificateHash(votes: readonly SignedVote[]): string {
  return sha256OfJson(votes.map((vote) => `${voteHash(vote)} ${vote.signature}`).toSorted())
}

export function raiseLevel(level: FinalityLevel, to: FinalityLevel): FinalityLevel {
  return FINALITY_LEVELS.indexOf(to) > FINALITY_LEVELS.indexOf(level) ? to : level
}

export function isEquivocator({ conflicts }: Pick<RoundRecord, 'conflicts'>, voter: string): boolean {
  return conflicts.some((conflict) => conflict.voter === voter)
}
