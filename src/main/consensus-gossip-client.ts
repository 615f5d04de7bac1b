/**
 * Consensus gossip: nodes of a community tell each other of rounds, votes and checkpoints, so that voters on other nodes
 * are asked, their votes come back, and whoever says two things is found out.
 *
 *   round of this node ─▶ its voters' nodes ─▶ a person there decides ─▶ signed vote ─▶ back, recorded, counted
 *
 * What comes in is proven by its own signature, whoever brings it.
 *
 * Does I/O: questions through the mesh.
 */
import { z } from 'zod'
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import { toHex } from '../core/bytes.ts'
import type { Guard } from '../guard/guard.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { NODE_VOTER_PREFIX, decodeNodePublicKeyHex } from '../guard/round-state.ts'
import { isVoteSigned, readVote } from '../guard/vote.ts'
import type { SignedVote } from '../guard/vote.ts'
import { formatSignedCheckpoint, openCheckpoint } from '../ledger/checkpoint.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { ED25519_SIGNATURE_TYPE, isKeyName, verifierKey } from '../ledger/note-key.ts'
import type { WitnessService } from '../mesh/control-handler.ts'
import { decodeNodeId } from '../mesh/identity/node-key.ts'
import type { Mesh } from '../mesh/mesh-server.ts'
import type { ConsensusPeers } from '../runtime/consensus/tools.ts'

export const GOSSIP_REQUEST_NAME = 'mesh.gossip'

export interface GossipParts {
  readonly mesh: Mesh
  readonly ledger: Ledger
  readonly guard: Guard
  readonly witness: () => Pick<WitnessService, 'latest'> | undefined
  readonly clock: Clock
  readonly logger: Logger
}

export interface ConsensusGossip extends ConsensusPeers {
  /** The other side's part of an exchange; ours is the answer. */
  readonly answer: (peer: string, body: JsonObject) => Promise<JsonObject>
  /** What a regular job does. */
  readonly tick: () => Promise<void>
}

const ASK_MS = 5_000
const MAX_EVENTS = 256
/** Votes and checkpoints of others that are remembered to be compared. */
const MAX_SEEN = 4_096
/** Of the regular job: without an open round, checkpoints go round as seldom as this. */
const QUIET_TICKS = 12

const signedVote = { vote: z.string().max(2_048), signature: z.string().max(128) }
const gossipEvent = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('round'),
    round: z.string().min(1).max(64),
    digest: z.string().regex(/^[0-9a-f]{64}$/),
    need: z.int().min(1).max(64),
    epoch: z.int().min(0),
    expires_at: z.string().max(32),
    voters: z.array(z.string().max(128)).max(64),
    shown: z.json(),
  }),
  z.object({
    kind: z.literal('vote'),
    house: z.string().max(64),
    round: z.string().min(1).max(64),
    voter: z.string().max(128),
    key: z.string().regex(/^[0-9a-f]{64}$/),
    ...signedVote,
  }),
  z.object({ kind: z.literal('checkpoint'), node: z.string().max(64), note: z.string().max(16_384) }),
])
const gossipBody = z.object({ events: z.array(gossipEvent).max(MAX_EVENTS) })

type GossipEvent = z.output<typeof gossipEvent>

export function createConsensusGossip(parts: GossipParts): ConsensusGossip {
  const { mesh, ledger, guard, clock, logger } = parts
  const { quorums, approvals } = guard
  const state = ledger.projections.state(guardProjection)
  const self = quorums.self
  const house = self.voter.slice(NODE_VOTER_PREFIX.length)
  const seenVotes = new Map<string, SignedVote>()
  const seenRoots = new Map<string, { readonly root: string; readonly note: string }>()
  let ticks = 0

  function ownEvents(peer: string, since: number): readonly GossipEvent[] {
    const events: GossipEvent[] = []
    for (const round of quorums.list()) {
      const approval = approvals.get(round.id)
      if (approval === undefined || (approval.askedSeq ?? 0) < since) continue
      const isOpen = approval.state === 'requested' || approval.state === 'approved'
      // What a call is about is for those to know who vote about it.
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
      for (const { voter, body, signature } of round.votes)
        events.push({
          kind: 'vote',
          house,
          round: round.id,
          voter,
          key: round.voters.find((each) => each.voter === voter)?.key ?? '',
          vote: body,
          signature,
        })
    }
    for (const { id, house: of, vote } of state.foreignRounds.values())
      if (vote !== undefined)
        events.push({
          kind: 'vote',
          house: of,
          round: id,
          voter: self.voter,
          key: self.key,
          vote: vote.body,
          signature: vote.signature,
        })
    const signed = ledger.state().kind === 'refusing' ? undefined : ledger.latestCheckpoint()
    if (signed !== undefined) events.push({ kind: 'checkpoint', node: house, note: formatSignedCheckpoint(signed) })
    for (const { nodeId } of mesh.peers) {
      const note = parts.witness()?.latest(nodeId)
      if (note !== undefined) events.push({ kind: 'checkpoint', node: nodeId, note })
    }
    return events.slice(-MAX_EVENTS)
  }

  async function conflict(about: string, facts: JsonObject): Promise<number> {
    if (state.conflicts.has(about)) return 0
    await ledger.append({ kind: 'consensus.conflict', about, ...facts })
    logger.error({ about }, 'two signed statements contradict each other')
    return 1
  }

  async function receiveRound(peer: string, event: GossipEvent & { readonly kind: 'round' }): Promise<number> {
    // A round is told by the node whose it is; and only who votes in it keeps it.
    const isMine = event.voters.includes(self.voter)
    const expiresAtMs = Date.parse(event.expires_at)
    if (!isMine || state.foreignRounds.has(event.round) || !(expiresAtMs > clock.now())) return 0
    const { round, digest, need, epoch, expires_at, shown } = event
    await ledger.append({ kind: 'consensus.heard', house: peer, round, digest, need, epoch, expires_at }, { shown })
    return 0
  }

  async function receiveVote(event: GossipEvent & { readonly kind: 'vote' }): Promise<number> {
    const vote: SignedVote = { body: event.vote, signature: event.signature }
    if (event.house === house) {
      const taken = await quorums.take(event.round, { voter: event.voter, vote })
      return !taken.ok && taken.fault.code === 'EQUIVOCATION' ? 1 : 0
    }
    // Whose key it is, is known of nodes; of people their own node says it, and a contradiction is one either way.
    const isNode = event.voter.startsWith(NODE_VOTER_PREFIX)
    const key = isNode ? decodeNodePublicKeyHex(event.voter.slice(NODE_VOTER_PREFIX.length)) : event.key
    const body = readVote(vote)
    if (body === undefined || key === undefined || body.approval !== event.round || body.house !== event.house) return 0
    if (!isVoteSigned(vote, key)) return 0
    const about = `vote ${event.house} ${event.round} ${key}`
    const before = seenVotes.get(about)
    if (before === undefined) {
      if (seenVotes.size >= MAX_SEEN) seenVotes.clear()
      seenVotes.set(about, vote)
      return 0
    }
    if (readVote(before)?.decision === body.decision && readVote(before)?.call === body.call) return 0
    const votes = [before, vote].map(({ body: text, signature }) => ({ vote: text, signature }))
    return conflict(about, { what: 'vote', voter: event.voter, key, house: event.house, round: event.round, votes })
  }

  async function receiveCheckpoint({ node, note }: GossipEvent & { readonly kind: 'checkpoint' }): Promise<number> {
    const publicKey = decodeNodeId(node)
    const [origin = ''] = note.split('\n')
    if (publicKey === undefined || !isKeyName(origin)) return 0
    const opened = openCheckpoint(note, verifierKey(origin, ED25519_SIGNATURE_TYPE, publicKey))
    if (!opened.ok) return 0
    const { size, root } = opened.value.checkpoint
    const about = `checkpoint ${node} ${origin} ${size}`
    const before = seenRoots.get(about)
    if (before === undefined) {
      if (seenRoots.size >= MAX_SEEN) seenRoots.clear()
      seenRoots.set(about, { root: toHex(root), note })
      return 0
    }
    return before.root === toHex(root) ? 0 : conflict(about, { what: 'checkpoint', node, notes: [before.note, note] })
  }

  async function receive(peer: string, events: readonly GossipEvent[]): Promise<number> {
    let conflicts = 0
    for (const event of events) {
      if (event.kind === 'round') conflicts += await receiveRound(peer, event)
      else if (event.kind === 'vote') conflicts += await receiveVote(event)
      else conflicts += await receiveCheckpoint(event)
    }
    return conflicts
  }

  async function exchange(peer: string, since: number): Promise<{ sent: number; received: number; conflicts: number }> {
    const events = ownEvents(peer, since)
    const answer = await mesh.ask(peer, GOSSIP_REQUEST_NAME, { events }, ASK_MS)
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
    members: () => [...(mesh.community?.members.keys() ?? [])],
    gossip,

    answer: async (peer, body) => {
      const parsed = gossipBody.safeParse(body)
      if (parsed.success) await receive(peer, parsed.data.events)
      return { events: ownEvents(peer, 0) }
    },

    voteElsewhere: async (roundId, { digest, decision, caller }) => {
      const round = state.foreignRounds.get(roundId)
      if (round === undefined) return undefined
      // A node speaks through whoever runs it.
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
      // The regular job says it again where this finds nobody.
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
