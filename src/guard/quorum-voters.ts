/**
 * Quorum voters: who can vote about a call, and how many of them have to agree.
 *
 *   rule or proposal ─▶ names ─▶ people and nodes, with their keys ─▶ terms of the round, or why there can be none
 *
 * Pure, but for the state that it is given.
 */
import { parsePeerCallerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { RandomDrawKey } from '../ledger/random-draw.ts'
import type { GuardState } from './guard-state.ts'
import { findRoleOfPrincipalAt } from './principal-state.ts'
import { computeTwoThirdsMajority } from './quorum-round-terms.ts'
import type { ProposedVotingTerms, QuorumRoundVoter } from './quorum-round-terms.ts'
import {
  findVoterCredential,
  NODE_VOTER_PREFIX,
  toPublicKeyHexFromNodeId,
  explainVoterFlaw,
  MAX_WITNESSES,
} from './quorum-round-state.ts'
import type { CallVotingFacts } from './quorum-round-state.ts'
import { deriveVoterPublicKey } from './vote.ts'
import { createVoteRefusal } from './vote-fault.ts'

/** This node's identity as a voter, and the keys that it stores for voters. */
export interface NodeVoterIdentity {
  /** The log in which votes count: this node's id. */
  readonly house: string
  /** How many membership records there are. */
  readonly epoch: () => number
  /** The seed of the key that belongs to a person's credential. */
  readonly personSeed: (credential: string) => Uint8Array
  readonly nodeSeed: Uint8Array
  /** The id of a member, given its id or name. */
  readonly member: (which: string) => string | undefined
  /** The keys of the witnesses that can cosign this node's checkpoints now (C2SP vkeys). */
  readonly witnesses: () => readonly string[]
  /** Draws the witness that has to cosign. */
  readonly draws: RandomDrawKey
}

/** Who has to agree, as a rule or a proposer specifies it. */
export interface QuorumRequirement {
  readonly need?: number | undefined
  /** Names of people, and `node:` with the name or id of a node. Absent: every person who may decide. */
  readonly voters?: readonly string[] | undefined
  readonly veto?: boolean | undefined
}

/** The call that the round is about. `isRule`: the owner's rule named the voters. */
export type ProposedCallFacts = CallVotingFacts & { readonly isRule: boolean; readonly nowMs: number }

interface VoterSources {
  readonly state: GuardState
  readonly voting: NodeVoterIdentity
}

/** The voters and the required number, or why there can be none. */
export function proposeVotingTerms(
  sources: VoterSources,
  request: QuorumRequirement,
  about: ProposedCallFacts,
): Result<ProposedVotingTerms, Fault> {
  const { state, voting } = sources
  const { principal, isRule, nowMs } = about
  const names = request.voters ?? everybody(state, principal, nowMs)
  const { node } = parsePeerCallerKey(principal) ?? {}
  const requester = node === undefined ? principal : NODE_VOTER_PREFIX + node
  const voters: QuorumRoundVoter[] = []
  const leftOut: string[] = []
  for (const name of names) {
    const voter = resolveVoter(sources, name)
    const flaw =
      voter?.voter === requester ? `${name} made this request.` : explainVoterCandidate(state, { name, voter, about })
    if (voter === undefined || flaw !== undefined) {
      if (!isRule) return fail(createVoteRefusal('NOT_A_VOTER', flaw ?? ''))
      // A voter of a rule who may not vote on this call is left out, and the required number stays.
      leftOut.push(` ${flaw}`)
      continue
    }
    if (voters.some((known) => known.voter === voter.voter))
      return fail(createVoteRefusal('NOT_A_VOTER', `${name} is named twice.`))
    voters.push(voter)
  }
  const need = request.need ?? computeTwoThirdsMajority(names.length)
  const nodes = voters.filter(({ voter }) => voter.startsWith(NODE_VOTER_PREFIX)).length
  if (need > voters.length || need < 1)
    return fail({
      kind: 'conflict',
      message: `It takes ${need} voters, and ${voters.length} can be asked.${leftOut.slice(0, 3).join('')}`,
    })
  // Only the owner's rule may let other nodes decide alone about a call on this node.
  if (!isRule && need <= nodes)
    return fail({
      kind: 'not-permitted',
      message: `With ${nodes} nodes among the voters it takes more than ${nodes} yeses, so that a person is among them.`,
    })
  return ok({
    need,
    voters,
    veto: request.veto ?? false,
    house: voting.house,
    epoch: voting.epoch(),
    witnesses: voting.witnesses().slice(0, MAX_WITNESSES),
  })
}

function resolveVoter({ state, voting }: VoterSources, name: string): QuorumRoundVoter | undefined {
  if (name.startsWith(NODE_VOTER_PREFIX)) {
    const nodeId = voting.member(name.slice(NODE_VOTER_PREFIX.length))
    const key = nodeId === undefined ? undefined : toPublicKeyHexFromNodeId(nodeId)
    return nodeId === undefined || key === undefined ? undefined : { voter: NODE_VOTER_PREFIX + nodeId, key }
  }
  const credential = findVoterCredential(state, name)
  return credential === undefined
    ? undefined
    : { voter: name, key: deriveVoterPublicKey(voting.personSeed(credential)) }
}

/** Every principal with an unrestricted credential of their own; the owner if there is none. */
function everybody(state: GuardState, principal: string, nowMs: number): readonly string[] {
  const people = [...state.tokens.values()]
    .filter(({ name, restrictions }) => restrictions === undefined && name !== principal)
    .map(({ name }) => name)
    .filter((name) => ['approver', 'admin'].includes(findRoleOfPrincipalAt(state, name, nowMs) ?? ''))
  return people.length > 0 ? [...new Set(people)] : ['owner']
}

/** Why somebody who is named as a voter cannot be one, and what to do about it. */
function explainVoterCandidate(
  state: GuardState,
  {
    name,
    voter,
    about,
  }: {
    readonly name: string
    readonly voter: QuorumRoundVoter | undefined
    readonly about: CallVotingFacts & { readonly nowMs: number }
  },
): string | undefined {
  const isNode = name.startsWith(NODE_VOTER_PREFIX)
  if (isNode && voter === undefined) return `${name} is not a node of the community.`
  if (!isNode && findRoleOfPrincipalAt(state, name, about.nowMs) === undefined) {
    const isName = /^[a-z0-9][a-z0-9._-]*$/.test(name)
    return `${name} may not vote.${isName ? ` ${name} needs a token: hearthbus token create ${name} --role approver.` : ''}`
  }
  const flaw = voter && explainVoterFlaw(state, about, voter, about.nowMs)
  return flaw === undefined ? undefined : `${name} cannot vote here: ${flaw.replace(/\.$/, '')}.`
}
