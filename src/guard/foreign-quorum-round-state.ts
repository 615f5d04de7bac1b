/**
 * Foreign round state: rounds of other nodes in which this node votes, its votes, and contradictory votes that it saw.
 *
 *   consensus.heard ─▶ consensus.voted-elsewhere, once        consensus.conflict: two statements that cannot both hold
 */
import { readEntryNumberField, readEntryTextField, readEntryTime, readEntryTimeField } from '../ledger/entry.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import type { GuardState } from './guard-state.ts'
import { NODE_VOTER_PREFIX, toPublicKeyHexFromNodeId, raiseVoteHead, readSignedVote } from './quorum-round-state.ts'
import type { ForeignQuorumRound } from './quorum-round-terms.ts'
import { isVoteSignatureValid, parseVoteBody, computeVoteHash } from './vote.ts'
import type { SignedVote, VoteDecision } from './vote.ts'

export interface ForeignQuorumRoundRecord extends ForeignQuorumRound {
  readonly need: number
  /** The entry whose body describes the call. */
  readonly heardSeq: number
  readonly heardAtMs: number
  readonly vote: (SignedVote & { readonly decision: VoteDecision }) | undefined
}

/** Nodes choose the ids of their rounds, so one node could take the id of another one's. */
export function formatForeignRoundKey({ house, id }: Pick<ForeignQuorumRound, 'house' | 'id'>): string {
  return `${id}@${house}`
}

/** Limit of rounds; lapsed ones are dropped first. */
const MAX_FOREIGN = 1_000

export const foreignRoundEntryHandlers: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'consensus.heard': (state, entry) => {
    const [id, digest, house] = [
      readEntryTextField(entry, 'round'),
      readEntryTextField(entry, 'digest'),
      readEntryTextField(entry, 'house'),
    ]
    const [expiresAtMs, epoch, need] = [
      readEntryTimeField(entry, 'expires_at'),
      readEntryNumberField(entry, 'epoch'),
      readEntryNumberField(entry, 'need'),
    ]
    if (id === undefined || digest === undefined || house === undefined) return INCOMPLETE
    if (expiresAtMs === undefined || epoch === undefined || need === undefined) return INCOMPLETE
    const key = formatForeignRoundKey({ house, id })
    if (state.foreignRounds.has(key)) return 'that round was heard of before'
    const heardAtMs = readEntryTime(entry)
    state.foreignRounds.dropOldest(MAX_FOREIGN, (round) => round.expiresAtMs < heardAtMs)
    const heard = { heardSeq: entry.seq, heardAtMs, vote: undefined }
    state.foreignRounds.set(key, { id, digest, house, epoch, expiresAtMs, need, ...heard })
    return undefined
  },

  'consensus.voted-elsewhere': (state, entry) => {
    const [house = '', id = ''] = [readEntryTextField(entry, 'house'), readEntryTextField(entry, 'round')]
    const round = state.foreignRounds.get(formatForeignRoundKey({ house, id }))
    const [vote, voter] = [readSignedVote(entry), readEntryTextField(entry, 'voter')]
    if (round === undefined || vote === undefined || voter === undefined) return INCOMPLETE
    const body = parseVoteBody(vote)
    const key = voter.startsWith(NODE_VOTER_PREFIX)
      ? toPublicKeyHexFromNodeId(voter.slice(NODE_VOTER_PREFIX.length))
      : undefined
    if (body === undefined || key === undefined || !isVoteSignatureValid(vote, key)) return 'the node did not sign it'
    if (body.approval !== round.id || body.call !== round.digest || body.house !== round.house)
      return 'the vote is for another round'
    if (round.vote !== undefined) return 'this node voted before'
    state.foreignRounds.set(formatForeignRoundKey(round), { ...round, vote: { ...vote, decision: body.decision } })
    raiseVoteHead(state, key, { seq: body.seq, hash: computeVoteHash(vote) })
    return undefined
  },

  'consensus.conflict': (state, entry) => {
    const about = readEntryTextField(entry, 'about')
    if (about === undefined) return INCOMPLETE
    state.conflicts.set(about, readEntryTime(entry))
    return undefined
  },
}

const INCOMPLETE = 'a field that such an entry needs is missing or wrong'
