/**
 * Consensus gossip: nodes of a community tell each other of rounds, votes and checkpoints, so that voters on other
 * nodes are asked, their votes come back, and contradictory votes are detected.
 *
 *   round of this node ─▶ its voters' nodes ─▶ a person there decides ─▶ signed vote ─▶ back, recorded, counted
 *
 * Everything received is proven by its own signature, whichever node sends it.
 *
 * Does I/O: questions through the mesh.
 */
import type { z } from 'zod'
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import { areBytesEqual, toHex } from '../core/bytes.ts'
import type { Guard } from '../guard/guard.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { NODE_VOTER_PREFIX, decodeNodePublicKeyHex } from '../guard/quorum-round-state.ts'
import { isVoteSignatureValid, parseVote } from '../guard/vote.ts'
import type { SignedVote } from '../guard/vote.ts'
import { formatSignedCheckpoint, openCheckpoint } from '../ledger/checkpoint.ts'
import type { SignedCheckpoint } from '../ledger/checkpoint.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { ED25519_NOTE_SIGNATURE_TYPE, isKeyName, createVerifierKey } from '../ledger/note-key.ts'
import type { WitnessService } from '../mesh/control-handler.ts'
import { decodeNodeId } from '../mesh/identity/node-key.ts'
import type { Mesh } from '../mesh/mesh-server.ts'
import type { ConsensusPeerService } from '../runtime/consensus/tools.ts'
import { gossipBody, MAX_GOSSIP_EVENTS } from './gossip-event.ts'
import type { CheckpointEvent, GossipEvent, RoundEvent, VoteEvent } from './gossip-event.ts'
import { createGossipMemory } from './gossip-memory.ts'

export const GOSSIP_CONTROL_REQUEST_NAME = 'mesh.gossip'

export interface ConsensusGossipDependencies {
  readonly mesh: Mesh
  readonly ledger: Ledger
  readonly guard: Guard
  readonly witness: () => Pick<WitnessService, 'latest'> | undefined
  readonly clock: Clock
  readonly logger: Logger
}

export interface ConsensusGossip extends ConsensusPeerService {
  /** Handles the other side's part of an exchange and returns ours. */
  readonly answer: (peer: string, body: JsonObject) => Promise<JsonObject>
  /** Called by a periodic job. */
  readonly tick: () => Promise<void>
}

const ASK_MS = 5_000
/** Of this node's rounds, in one exchange: the newest ones, and room is left for the rest. */
const MAX_ROUND_EVENTS = 128
const MAX_OWN_VOTES = 32
/** Without an open round, checkpoints are exchanged only every so many ticks. */
const QUIET_TICKS = 12

export function createConsensusGossip(parts: ConsensusGossipDependencies): ConsensusGossip {
  const { mesh, ledger, guard, clock, logger } = parts
  const { quorums, approvals } = guard
  const state = ledger.projections.state(guardProjection)
  const self = quorums.self
  const house = self.voter.slice(NODE_VOTER_PREFIX.length)
  const memory = createGossipMemory()
  /** Findings and rounds that are being appended. Until they are, a second peer that brings the same one adds nothing. */
  const appending = new Set<string>()
  let ticks = 0
  let lastReceived: Promise<unknown> = Promise.resolve()

  /**
   * Newest first; what a call is about is for those to know who vote about it. Votes are told with a checkpoint that
   * covers them: who knows them can then show this node, should it be put back, that it had come further.
   */
  function roundEvents(peer: string, since: number, signedSize: number): readonly GossipEvent[] {
    const events: GossipEvent[] = []
    for (const round of quorums.list()) {
      const approval = approvals.get(round.id)
      if (approval === undefined || (approval.askedSeq ?? 0) < since) continue
      const isOpen = approval.state === 'requested' || approval.state === 'approved'
      if (isOpen && round.voters.some(({ voter }) => voter === NODE_VOTER_PREFIX + peer))
        events.push({
          kind: 'round',
          round: round.id,
          digest: round.digest,
          need: round.need,
          epoch: round.epoch,
          expires_at: new Date(round.expiresAtMs).toISOString(),
          voters: round.voters.map(({ voter }) => voter),
          shown: {
            tool: approval.binding.tool,
            target: approval.binding.target ?? null,
            ...approval.shown,
          } as unknown as z.core.util.JSONType,
        })
      for (const { voter, body, signature, seq } of round.votes) {
        if (seq >= signedSize) continue
        const key = round.voters.find((each) => each.voter === voter)?.key ?? ''
        events.push({ kind: 'vote', house, round: round.id, voter, key, vote: body, signature })
      }
      if (events.length >= MAX_ROUND_EVENTS) break
    }
    return events
  }

  /** In rounds of others: to whom they are first, then the newest. */
  function ownVoteEvents(peer: string): readonly GossipEvent[] {
    const rounds = [...state.foreignRounds.values()].filter(({ vote }) => vote !== undefined).toReversed()
    return rounds
      .toSorted((left, right) => Number(right.house === peer) - Number(left.house === peer))
      .slice(0, MAX_OWN_VOTES)
      .map(({ id, house: of, vote }) => ({
        kind: 'vote',
        house: of,
        round: id,
        voter: self.voter,
        key: self.key,
        vote: vote?.body ?? '',
        signature: vote?.signature ?? '',
      }))
  }

  function ownEvents(peer: string, since: number): readonly GossipEvent[] {
    const signed = ledger.state().kind === 'refusing' ? undefined : ledger.latestCheckpoint()
    const witnessed = mesh.peers.flatMap(({ nodeId }): readonly GossipEvent[] => {
      const note = parts.witness()?.latest(nodeId)
      return note === undefined ? [] : [{ kind: 'checkpoint', node: nodeId, note }]
    })
    const own: GossipEvent[] =
      signed === undefined ? [] : [{ kind: 'checkpoint', node: house, note: formatSignedCheckpoint(signed) }]
    return [
      ...own,
      ...roundEvents(peer, since, signed?.checkpoint.size ?? 0),
      ...ownVoteEvents(peer),
      ...witnessed,
      ...memory.told(),
    ].slice(0, MAX_GOSSIP_EVENTS)
  }

  /** Whether `append` ran: it does not while an earlier one with the same key is under way. */
  async function appendOnce(key: string, append: () => Promise<unknown>): Promise<boolean> {
    if (appending.has(key)) return false
    appending.add(key)
    try {
      await append()
      return true
    } finally {
      appending.delete(key)
    }
  }

  async function conflict(about: string, facts: JsonObject): Promise<number> {
    if (state.conflicts.has(about)) return 0
    const isNew = await appendOnce(about, () => ledger.append({ kind: 'consensus.conflict', about, ...facts }))
    if (!isNew) return 0
    logger.error({ about }, 'two signed statements contradict each other')
    return 1
  }

  async function receiveRound(peer: string, event: RoundEvent): Promise<number> {
    // A round is accepted only from the node that it belongs to, and stored only by nodes that vote in it.
    const isMine = event.voters.includes(self.voter)
    const expiresAtMs = Date.parse(event.expires_at)
    if (!isMine || state.foreignRounds.has(event.round) || !(expiresAtMs > clock.now())) return 0
    const { round, digest, need, epoch, expires_at, shown } = event
    const heard = { kind: 'consensus.heard', house: peer, round, digest, need, epoch, expires_at }
    await appendOnce(`round ${round}`, () => ledger.append(heard, { shown }))
    return 0
  }

  async function receiveVote(event: VoteEvent): Promise<number> {
    const vote: SignedVote = { body: event.vote, signature: event.signature }
    if (event.house === house) {
      const taken = await quorums.take(event.round, { voter: event.voter, vote })
      return !taken.ok && taken.fault.code === 'EQUIVOCATION' ? 1 : 0
    }
    // The keys of nodes are known; those of people are vouched for by their own node. A contradiction counts either
    // way.
    const isNode = event.voter.startsWith(NODE_VOTER_PREFIX)
    const key = isNode ? decodeNodePublicKeyHex(event.voter.slice(NODE_VOTER_PREFIX.length)) : event.key
    const body = parseVote(vote)
    if (body === undefined || key === undefined || body.approval !== event.round || body.house !== event.house) return 0
    if (!isVoteSignatureValid(vote, key)) return 0
    const about = `vote ${event.house} ${event.round} ${key}`
    const before = memory.remember({ about, says: `${body.decision} ${body.call}`, event })
    if (before === undefined) return 0
    const votes = [before, event].map(({ vote: text, signature }) => ({ vote: text, signature }))
    return conflict(about, { what: 'vote', voter: event.voter, key, house: event.house, round: event.round, votes })
  }

  async function receiveCheckpoint(event: CheckpointEvent): Promise<number> {
    const { node, note } = event
    const publicKey = decodeNodeId(node)
    const [origin = ''] = note.split('\n')
    if (publicKey === undefined || !isKeyName(origin)) return 0
    const opened = openCheckpoint(note, createVerifierKey(origin, ED25519_NOTE_SIGNATURE_TYPE, publicKey))
    if (!opened.ok) return 0
    const { size, root } = opened.value.checkpoint
    if (node === house) return receiveOwnCheckpoint(event, opened.value)
    const about = `checkpoint ${node} ${origin} ${size}`
    memory.rememberCheckpoint(event)
    const before = memory.remember({ about, says: toHex(root), event })
    return before === undefined ? 0 : conflict(about, { what: 'checkpoint', node, notes: [before.note, note] })
  }

  /** This node signed it: its log has to extend it, or it was put back to an older copy. */
  async function receiveOwnCheckpoint({ note }: CheckpointEvent, kept: SignedCheckpoint): Promise<number> {
    const { origin, size, root } = kept.checkpoint
    const own = ledger.latestCheckpoint()
    if (origin !== ledger.verifierKey.name || own === undefined || ledger.state().kind === 'refusing') return 0
    const at = size <= ledger.size() ? ledger.consistency(size, size) : undefined
    if (at?.ok === true && areBytesEqual(at.value.fromRoot, root)) return 0
    // A round may have been decided and its call made in what is lost: it must not be made again with the same votes.
    if (!state.conflicts.has(`checkpoint ${house} ${origin} ${size}`)) await quorums.abandon('this node was put back')
    const notes = [note, formatSignedCheckpoint(own)]
    return conflict(`checkpoint ${house} ${origin} ${size}`, { what: 'checkpoint', node: house, notes })
  }

  /** Batches are taken one after another: two at once would both find a contradiction new, and record it twice. */
  function receive(peer: string, events: readonly GossipEvent[]): Promise<number> {
    const received = lastReceived.then(() => receiveBatch(peer, events))
    lastReceived = received.catch(() => undefined)
    return received
  }

  async function receiveBatch(peer: string, events: readonly GossipEvent[]): Promise<number> {
    let conflicts = 0
    // First: a node that learns that it was put back takes no votes for what it had decided.
    for (const event of events) if (event.kind === 'checkpoint') conflicts += await receiveCheckpoint(event)
    for (const event of events) {
      if (event.kind === 'round') conflicts += await receiveRound(peer, event)
      if (event.kind === 'vote') conflicts += await receiveVote(event)
    }
    return conflicts
  }

  async function exchange(peer: string, since: number): Promise<{ sent: number; received: number; conflicts: number }> {
    const events = ownEvents(peer, since)
    const answer = await mesh.ask(peer, GOSSIP_CONTROL_REQUEST_NAME, { events }, ASK_MS)
    const parsed = answer.ok ? gossipBody.safeParse(answer.value) : undefined
    if (parsed?.success !== true) return { sent: 0, received: 0, conflicts: 0 }
    const conflicts = await receive(peer, parsed.data.events)
    return { sent: events.length, received: parsed.data.events.length, conflicts }
  }

  const gossip: ConsensusGossip['gossip'] = async ({ since, peers }) => {
    const wanted = mesh.peers.filter(
      ({ nodeId, manifest }) => peers === undefined || peers.includes(nodeId) || peers.includes(manifest.displayName),
    )
    const exchanges = await Promise.all(wanted.map(({ nodeId }) => exchange(nodeId, since ?? 0)))
    return exchanges.reduce(
      (sum, each) => ({
        sent: sum.sent + each.sent,
        received: sum.received + each.received,
        conflicts: sum.conflicts + each.conflicts,
      }),
      { sent: 0, received: 0, conflicts: 0 },
    )
  }

  return {
    gossip,

    answer: async (peer, body) => {
      const parsed = gossipBody.safeParse(body)
      if (parsed.success) await receive(peer, parsed.data.events)
      return { events: ownEvents(peer, 0) }
    },

    voteElsewhere: async (roundId, { digest, decision, caller }) => {
      const round = state.foreignRounds.get(roundId)
      if (round === undefined) return undefined
      // A node votes through its admin.
      if (
        caller.kind !== 'principal' ||
        (caller.role !== 'admin' && caller.role !== 'approver') ||
        caller.restrictions !== undefined
      )
        return { ok: false, code: 'NOT_A_VOTER', message: 'For this node an approver or admin votes; agents never do.' }
      if (digest !== round.digest)
        return { ok: false, code: 'NOT_A_VOTER', message: 'The digest is not that of this round.' }
      if (round.vote !== undefined)
        return round.vote.decision === decision
          ? { ok: false, code: 'ALREADY_VOTED', message: 'This node has voted before.' }
          : {
              ok: false,
              code: 'EQUIVOCATION',
              message: 'This node has said the other before, and signs no second vote.',
            }
      const nowMs = clock.now()
      if (nowMs >= round.expiresAtMs) return { ok: false, code: 'ROUND_CLOSED', message: 'The round has lapsed.' }
      const head = state.voteHeads.get(self.key)
      const vote = quorums.signElsewhere(round, {
        decision,
        seq: (head?.seq ?? 0) + 1,
        prev: head?.hash ?? '0'.repeat(64),
        nowMs,
      })
      await ledger.append({
        kind: 'consensus.voted-elsewhere',
        round: round.id,
        house: round.house,
        voter: self.voter,
        vote: vote.body,
        signature: vote.signature,
        decision,
      })
      // The periodic job repeats it where the node is not reached now.
      await exchange(round.house, 0)
      return { ok: true, signature: vote.signature }
    },

    tick: async () => {
      const isBusy =
        quorums
          .list()
          .some(
            ({ level, voters }) =>
              (level === 'PENDING' || level === 'SOFT') &&
              voters.some(({ voter }) => voter.startsWith(NODE_VOTER_PREFIX)),
          ) || [...state.foreignRounds.values()].some(({ expiresAtMs }) => expiresAtMs > clock.now())
      if (!isBusy && ++ticks % QUIET_TICKS !== 0) return
      await gossip({ since: undefined, peers: undefined })
    },
  }
}
