/**
 * Round state: what the log says of every round, and which entry may follow which.
 *
 *   approval.requested with `quorum` ─▶ consensus.voted ─▶ … ─▶ approval.approved by `quorum` ─▶ finality-state.ts
 *                                       consensus.equivocated: the voter's votes do not count in this round
 *
 * Every signature and every voter's right is checked again whenever the log is read: only the voters can make a quorum,
 * not a program that writes the log.
 *
 * Pure, but for the state that it is given.
 */
import { toAccountKeyFromCallerKey } from '../bus/caller.ts'
import { EFFECTS } from '../bus/capability.ts'
import { fromBase64url, toHex } from '../core/bytes.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import { readEntryTime, readEntryTextField } from '../ledger/entry.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import { explainApproverRefusal, APPROVAL_CLOCK_SLACK_MS } from './approval.ts'
import type { ApprovalRecord } from './approval-state.ts'
import type { CallBinding } from './call-binding.ts'
import type { GuardState } from './guard-state.ts'
import { findRoleOfPrincipalAt, findTokenByName } from './principal-state.ts'
import {
  computeCertificateHash,
  hasVotedTwice,
  raiseFinalityLevel,
  computeVotedCallDigest,
} from './quorum-round-terms.ts'
import type { CastVote, QuorumRoundRecord, QuorumRoundTerms, QuorumRoundVoter } from './quorum-round-terms.ts'
import {
  FIRST_VOTE_PREVIOUS_HASH,
  isVoterKey,
  isVoteSignatureValid,
  parseVoteBody,
  computeVoteHash,
  computeVoterKeyId,
} from './vote.ts'
import type { SignedVote, VoteBody, VoteChainHead } from './vote.ts'

/** The name of the decider in an entry that a voting round decided. */
export const QUORUM_DECIDER_NAME = 'quorum'
export const NODE_VOTER_PREFIX = 'node:'
const MAX_VOTERS = 64
export const MAX_WITNESSES = 64
/** Limit of rounds; those whose approval is no longer stored are dropped first. */
const MAX_ROUNDS = 1_000

/** The owner's credential, which is a file and not a token. */
const OWNER_CREDENTIAL = 'owner'

export const roundEntryHandlers: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'consensus.voted': (state, entry) => {
    const round = roundNamed(state, entry)
    const vote = readSignedVote(entry)
    const voter = readEntryTextField(entry, 'voter')
    if (round === undefined) return 'there is no such round'
    if (vote === undefined || voter === undefined) return 'a field that such an entry needs is missing or wrong'
    const flaw = explainVoteFlaw(state, round, { vote, voter, atMs: readEntryTime(entry) })
    if (flaw !== undefined) return flaw
    const body = parseVoteBody(vote) as VoteBody
    const cast: CastVote = { ...vote, voter, decision: body.decision, atMs: readEntryTime(entry), seq: entry.seq }
    state.rounds.set(round.id, {
      ...round,
      votes: [...round.votes, cast],
      level: raiseFinalityLevel(round.level, 'SOFT'),
    })
    raiseVoteHead(state, keyOf(round, voter), { seq: body.seq, hash: computeVoteHash(vote) })
    return undefined
  },

  'consensus.equivocated': (state, entry) => {
    const round = roundNamed(state, entry)
    const [voter, votes] = [readEntryTextField(entry, 'voter'), votesIn(entry['votes'])]
    if (round === undefined) return 'there is no such round'
    if (voter === undefined || votes.length !== 2) return 'a field that such an entry needs is missing or wrong'
    const flaw = explainVoteConflictFlaw(round, voter, votes)
    if (flaw !== undefined) return flaw
    state.rounds.set(round.id, {
      ...round,
      conflicts: [...round.conflicts, { voter, votes, atMs: readEntryTime(entry) }],
    })
    return undefined
  },

  // A revoked member does not vote, and is never admitted again under the same key.
  'community.changed': (state, entry) => {
    const { revoked } = entry
    if (Array.isArray(revoked)) for (const id of revoked) if (typeof id === 'string') state.revokedNodes.set(id, true)
    return undefined
  },
}

/**
 * Opens a voting round for an `approval.requested` that has voting terms. Returns why the terms are invalid, if they
 * are.
 */
export function openQuorumRound(state: GuardState, approval: ApprovalRecord, entry: LedgerEntry): string | undefined {
  if (entry['quorum'] === undefined) return undefined
  const terms = termsIn(entry['quorum'])
  if (terms === undefined) return 'its terms cannot be read'
  const { need, voters, digest, effect } = terms
  if (need < 1 || need > voters.length) return `${need} of ${voters.length} voters can never agree`
  if (new Set(voters.map(({ voter }) => voter)).size < voters.length) return 'it names a voter twice'
  if (new Set(voters.map(({ key }) => computeVoterKeyId(key))).size < voters.length) return 'two voters have one key'
  if (digest !== computeVotedCallDigest(approval.binding)) return 'its digest is not that of the call'
  for (const each of voters) {
    const flaw = explainVoterFlaw(state, { effect, ...approval.binding }, each, approval.requestedAtMs)
    if (flaw !== undefined) return flaw
  }
  for (const { voter, key } of voters) {
    const credential = findVoterCredential(state, voter)
    if (credential !== undefined && !voter.startsWith(NODE_VOTER_PREFIX)) state.voterKeys.set(credential, key)
  }
  state.rounds.dropOldest(MAX_ROUNDS, ({ id }) => !state.approvals.has(id))
  state.rounds.set(approval.id, {
    ...terms,
    id: approval.id,
    expiresAtMs: approval.expiresAtMs,
    votes: [],
    conflicts: [],
    level: 'PENDING',
    quorumSeq: undefined,
    quorumAtMs: undefined,
    draw: undefined,
    hardAtMs: undefined,
    hardWitness: undefined,
  })
  return undefined
}

/** The yes votes that count at a time: those of voters who may still vote and have not voted twice. */
export function listValidYesVotes(state: GuardState, round: QuorumRoundRecord, atMs: number): readonly CastVote[] {
  return round.votes.filter(
    ({ voter, decision }) =>
      decision === 'allow' && !hasVotedTwice(round, voter) && voterFlawIn(state, round, voter, atMs) === undefined,
  )
}

/** Why the round can no longer succeed, in a few words; `undefined` while it can. */
export function explainRoundDenial(state: GuardState, round: QuorumRoundRecord, atMs: number): string | undefined {
  const { need, voters, votes, conflicts, veto } = round
  const noes = votes.filter(({ decision }) => decision === 'deny').map(({ voter }) => voter)
  // A no takes rights away, so even the no of a voter who voted twice counts.
  const denyingVoters = [
    ...noes,
    ...conflicts
      .filter((each) => each.votes.some((vote) => parseVoteBody(vote)?.decision === 'deny'))
      .map(({ voter }) => voter),
  ]
  if (veto && denyingVoters.length > 0) return `${denyingVoters[0]} said no`
  const possible = voters.filter(
    ({ voter }) =>
      !noes.includes(voter) && !hasVotedTwice(round, voter) && voterFlawIn(state, round, voter, atMs) === undefined,
  )
  return possible.length < need ? `only ${possible.length} of the ${need} that it takes can still say yes` : undefined
}

/** Why an `approval.approved` or `approval.used` of a voting round is not valid. */
export function explainRoundApprovalEntryFlaw(
  state: GuardState,
  round: QuorumRoundRecord,
  entry: LedgerEntry,
): string | undefined {
  const atMs = readEntryTime(entry)
  const yeses = listValidYesVotes(state, round, atMs)
  if (yeses.length < round.need) return `${yeses.length} of ${round.need} said yes`
  const denial = explainRoundDenial(state, round, atMs)
  if (denial !== undefined) return denial
  const certificate = readEntryTextField(entry, 'certificate')
  return certificate !== undefined && certificate !== computeCertificateHash(yeses)
    ? 'its certificate is not that of the votes'
    : undefined
}

export interface VoteToCheck {
  readonly vote: SignedVote
  readonly voter: string
  readonly atMs: number
}

/** What is wrong with a vote in this round, or `undefined`. */
export function explainVoteFlaw(
  state: GuardState,
  round: QuorumRoundRecord,
  { vote, voter, atMs }: VoteToCheck,
): string | undefined {
  const approval = state.approvals.get(round.id)
  const named = round.voters.find((each) => each.voter === voter)
  const body = parseVoteBody(vote)
  if (approval === undefined || named === undefined) return `${voter} is not a voter of this round`
  if (body === undefined) return 'it is not a vote'
  if (approval.state !== 'requested' && approval.state !== 'approved') return `the round is ${approval.state}`
  if (round.votes.some((cast) => cast.voter === voter)) return `${voter} voted before`
  if (hasVotedTwice(round, voter)) return `${voter} had contradicted itself before`
  const fits =
    body.approval === round.id && body.call === round.digest && body.house === round.house && body.epoch === round.epoch
  if (!fits || body.voter !== computeVoterKeyId(named.key))
    return 'the vote is for another round, call, house, epoch or voter'
  if (body.expires !== Math.floor(round.expiresAtMs / 1_000)) return 'the vote expires at another time than the round'
  if (atMs >= round.expiresAtMs) return 'the round had lapsed'
  const issuedMs = body.issued * 1_000
  if (issuedMs > atMs + APPROVAL_CLOCK_SLACK_MS || issuedMs < approval.requestedAtMs - APPROVAL_CLOCK_SLACK_MS)
    return 'the vote is not of the time of the round'
  if (!isVoteSignatureValid(vote, named.key)) return 'the voter did not sign it'
  return chainFlaw(state, named, body) ?? voterFlawIn(state, round, voter, atMs)
}

/**
 * A person's votes are all in this log, so each must follow the one before. A node votes in other logs as well, and its
 * votes arrive late and in any order, but each has a number of its own.
 */
function chainFlaw(state: GuardState, { voter, key }: QuorumRoundVoter, { seq, prev }: VoteBody): string | undefined {
  const head = state.voteHeads.get(key) ?? { seq: 0, hash: FIRST_VOTE_PREVIOUS_HASH }
  if (voter.startsWith(NODE_VOTER_PREFIX))
    return seq <= head.seq && hasUsedNumber(state, voter, seq) ? 'the voter used that number before' : undefined
  return seq === head.seq + 1 && prev === head.hash ? undefined : 'it does not follow the vote before'
}

/** Votes of a node arrive in any order; its head is the one with the highest number. */
export function raiseVoteHead({ voteHeads }: GuardState, key: string, head: VoteChainHead): void {
  if (head.seq > (voteHeads.get(key)?.seq ?? 0)) voteHeads.set(key, head)
}

function hasUsedNumber({ rounds }: GuardState, voter: string, seq: number): boolean {
  for (const { votes } of rounds.values())
    if (votes.some((cast) => cast.voter === voter && parseVoteBody(cast)?.seq === seq)) return true
  return false
}

/** Whether two signed votes prove that their voter contradicted itself. */
export function explainVoteConflictFlaw(
  round: QuorumRoundRecord,
  voter: string,
  votes: readonly SignedVote[],
): string | undefined {
  const key = round.voters.find((each) => each.voter === voter)?.key
  const [one, other] = votes.map(parseVoteBody)
  if (key === undefined || one === undefined || other === undefined)
    return 'they are not two readable votes of one voter of the round'
  if (hasVotedTwice(round, voter)) return `${voter} had contradicted itself before`
  if (
    one.approval !== round.id ||
    other.approval !== round.id ||
    one.house !== round.house ||
    other.house !== round.house
  )
    return 'they are of another round'
  if (one.decision === other.decision && one.call === other.call) return 'they do not contradict each other'
  return votes.every((vote) => isVoteSignatureValid(vote, key)) ? undefined : 'the voter did not sign them'
}

/** The facts that decide whether somebody may vote on a call. */
export interface CallVotingFacts extends Pick<QuorumRoundTerms, 'effect'>, Pick<CallBinding, 'principal' | 'target'> {}

function voterFlawIn(state: GuardState, round: QuorumRoundRecord, voter: string, atMs: number): string | undefined {
  const [approval, named] = [state.approvals.get(round.id), round.voters.find((each) => each.voter === voter)]
  if (approval === undefined || named === undefined) return `${voter} is not a voter of this round`
  const credential = voter.startsWith(NODE_VOTER_PREFIX) ? undefined : findVoterCredential(state, voter)
  // A vote ends with the credential that cast it, and a later credential of that name does not revive it.
  if (credential !== undefined && state.voterKeys.get(credential) !== named.key)
    return `${voter} has another credential than when the round began`
  return explainVoterFlaw(state, { effect: round.effect, ...approval.binding }, named, atMs)
}

/** Why this voter may not vote on this call at that time. */
export function explainVoterFlaw(
  state: GuardState,
  { effect, principal, target }: CallVotingFacts,
  { voter, key }: QuorumRoundVoter,
  atMs: number,
): string | undefined {
  if (!isVoterKey(key)) return `the key of ${voter} is not valid`
  if (voter.startsWith(NODE_VOTER_PREFIX)) {
    const nodeId = voter.slice(NODE_VOTER_PREFIX.length)
    if (toPublicKeyHexFromNodeId(nodeId) !== key) return `${voter} has another key`
    if (state.revokedNodes.has(nodeId)) return `${voter} was revoked`
    return toAccountKeyFromCallerKey(principal) === `peer:${nodeId}` ? `${voter} made this request` : undefined
  }
  const role = findRoleOfPrincipalAt(state, voter, atMs)
  if (role !== 'approver' && role !== 'admin') return `${voter} is not an approver`
  const credential = findVoterCredential(state, voter)
  // A credential keeps the key of its first round.
  if (credential === undefined || (state.voterKeys.get(credential) ?? key) !== key) return `${voter} has another key`
  const restrictions = findTokenByName(state, voter)?.restrictions
  const caller = {
    kind: 'principal' as const,
    id: voter,
    role,
    ...(restrictions === undefined ? {} : { restrictions }),
  }
  return explainApproverRefusal(caller, { principal, target, effect })?.message
}

/** Console links belong to no particular person, so a voter must have a token or be the owner. */
export function findVoterCredential(state: GuardState, voter: string): string | undefined {
  return voter === 'owner' ? OWNER_CREDENTIAL : findTokenByName(state, voter)?.hash
}

/** The key inside a node's id, in hexadecimal. */
export function toPublicKeyHexFromNodeId(nodeId: string): string | undefined {
  const bytes = nodeId.startsWith('ed25519:') ? fromBase64url(nodeId.slice('ed25519:'.length)) : undefined
  return bytes?.length === 32 ? toHex(bytes) : undefined
}

function roundNamed({ rounds }: GuardState, entry: LedgerEntry): QuorumRoundRecord | undefined {
  return rounds.get(readEntryTextField(entry, 'approval') ?? '')
}

function keyOf({ voters }: QuorumRoundRecord, voter: string): string {
  return voters.find((each) => each.voter === voter)?.key ?? ''
}

export function readSignedVote(value: { readonly [field: string]: Json }): SignedVote | undefined {
  const { vote: body, signature } = value
  return typeof body === 'string' && typeof signature === 'string' ? { body, signature } : undefined
}

function votesIn(value: Json | undefined): readonly SignedVote[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((each) => (isJsonObject(each) ? (readSignedVote(each) ?? []) : []))
}

function termsIn(value: Json | undefined): QuorumRoundTerms | undefined {
  if (!isJsonObject(value)) return undefined
  const { need, voters, veto, digest, house, epoch, effect, witnesses = [] } = value
  const known = EFFECTS.find((each) => each === effect)
  if (!Number.isSafeInteger(need) || !Number.isSafeInteger(epoch) || known === undefined) return undefined
  if (typeof digest !== 'string' || typeof house !== 'string' || typeof veto !== 'boolean') return undefined
  if (!Array.isArray(voters) || voters.length > MAX_VOTERS) return undefined
  const named = voters.flatMap((each): QuorumRoundVoter[] =>
    isJsonObject(each) && typeof each['voter'] === 'string' && typeof each['key'] === 'string'
      ? [{ voter: each['voter'], key: each['key'] }]
      : [],
  )
  if (named.length !== voters.length) return undefined
  const isListed = Array.isArray(witnesses) && witnesses.length <= MAX_WITNESSES
  if (!isListed || !witnesses.every((each) => typeof each === 'string')) return undefined
  return { need: Number(need), voters: named, veto, digest, house, epoch: Number(epoch), effect: known, witnesses }
}
