/**
 * Foreign round state: rounds of other nodes in which this node votes, its votes, and contradictory votes that it saw.
 *
 *   consensus.heard ─▶ consensus.voted-elsewhere, once        consensus.conflict: two statements that cannot both hold
 */
import { readEntryNumberField, readEntryTextField, readEntryTime, readEntryTimeField } from '../ledger/entry.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import type { GuardState } from './guard-state.ts'
import { NODE_VOTER_PREFIX, toPublicKeyHexFromNodeId, raiseVoteHead, readSignedVote } from './quorum-round-state.ts'
import type { ForeignQuorumRound } from './quorum-round-terms.ts'
import { isVoteSignatureValid, parseVoteBody, computeVoteHash } from './vote.ts'
import type { SignedVote, VoteDecision } from './vote.ts'

export interface ForeignQuorumRoundRecord extends ForeignQuorumRound {
  readonly need: number
  /** The entry whose body describes the call. */
  readonly receivedSeq: number
  readonly receivedAtMs: number
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
    const receivedAtMs = readEntryTime(entry)
    state.foreignRounds.dropOldest(MAX_FOREIGN, (round) => round.expiresAtMs < receivedAtMs)
    const receipt = { receivedSeq: entry.seq, receivedAtMs, vote: undefined }
    state.foreignRounds.set(key, { id, digest, house, epoch, expiresAtMs, need, ...receipt })
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
    const atMs = readEntryTime(entry)
    state.conflicts.set(about, atMs)
    const signer = readConflictSigner(entry)
    const times = state.conflictTimes.get(signer) ?? []
    state.conflictTimes.set(signer, [...times, atMs].slice(-MAX_CONFLICTS_OF_SIGNER))
    return undefined
  },
}

/** How many contradictions of one node are recorded in `CONFLICT_WINDOW_MS`; the log has enough evidence then. */
const MAX_CONFLICTS_OF_SIGNER = 32
const CONFLICT_WINDOW_MS = 30 * 86_400_000

/** Whether a contradiction of this node is recorded: one that contradicts itself endlessly must not fill the log. */
export function isConflictRecorded(
  { conflictTimes }: Pick<GuardState, 'conflictTimes'>,
  signer: string,
  nowMs: number,
): boolean {
  const times = conflictTimes.get(signer) ?? []
  return times.length < MAX_CONFLICTS_OF_SIGNER || nowMs - (times[0] ?? 0) >= CONFLICT_WINDOW_MS
}

/** The node that signed both statements, or that vouches for the person who did. */
function readConflictSigner(entry: LedgerEntry): string {
  const voter = readEntryTextField(entry, 'voter')
  if (voter?.startsWith(NODE_VOTER_PREFIX) === true) return voter.slice(NODE_VOTER_PREFIX.length)
  return readEntryTextField(entry, voter === undefined ? 'node' : 'house') ?? ''
}

const INCOMPLETE = 'a field that such an entry needs is missing or wrong'
