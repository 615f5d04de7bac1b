/**
 * Consensus gossip: nodes of a community exchange rounds, votes and checkpoints, so that voters on other nodes are
 * asked, their votes come back, and contradictory votes are detected.
 *
 *   round of this node ─▶ its voters' nodes ─▶ a person there decides ─▶ signed vote ─▶ back, recorded, counted
 *
 * Everything received is proven by its own signature, whichever node sends it.
 *
 * Does I/O through the mesh.
 */
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import { areBytesEqual, toHex } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import { formatForeignRoundKey, isConflictRecorded } from '../guard/foreign-quorum-round-state.ts'
import type { ForeignQuorumRoundRecord } from '../guard/foreign-quorum-round-state.ts'
import type { Guard } from '../guard/guard.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { NODE_VOTER_PREFIX, toPublicKeyHexFromNodeId } from '../guard/quorum-round-state.ts'
import { createUnknownRoundFault, createVoteRefusal } from '../guard/vote-fault.ts'
import { computeVoteHash, isVoteSignatureValid, parseVoteBody } from '../guard/vote.ts'
import type { SignedVote, VoteChainHead } from '../guard/vote.ts'
import { formatSignedCheckpoint, verifyAndParseCheckpoint } from '../ledger/checkpoint.ts'
import type { SignedCheckpoint } from '../ledger/checkpoint.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { ED25519_NOTE_SIGNATURE_TYPE, isKeyName, createNoteVerifier } from '../ledger/note-key.ts'
import { readEntryBodyFields } from '../ledger/projection-log.ts'
import type { WitnessService } from '../mesh/control-handler.ts'
import { decodeNodeId } from '../mesh/identity/node-key.ts'
import type { Mesh } from '../mesh/mesh-server.ts'
import type { ConsensusPeerService } from '../runtime/consensus/tools.ts'
import type { ForeignQuorumRoundSource, WaitingForeignQuorumRound } from './foreign-round-approvals.ts'
import { gossipExchangeSchema } from './gossip-event.ts'
import type {
  CheckpointGossipEvent,
  GossipMessage,
  QuorumRoundGossipEvent,
  QuorumVoteGossipEvent,
} from './gossip-event.ts'
import { createGossipMemory } from './gossip-memory.ts'
import { createGossipEventSelector } from './gossip-event-selector.ts'

const GOSSIP_CONTROL_REQUEST_NAME = 'mesh.gossip'

export interface ConsensusGossipDependencies {
  readonly mesh: Mesh
  readonly ledger: Ledger
  readonly guard: Guard
  readonly witness: () => Pick<WitnessService, 'latest'> | undefined
  readonly clock: Clock
  readonly logger: Logger
}

export interface ConsensusGossip extends ConsensusPeerService, ForeignQuorumRoundSource {
  /** Handles the other side's part of an exchange and returns ours. */
  readonly answer: (peer: string, body: JsonObject) => Promise<JsonObject>
  /** Called by a periodic job. */
  readonly tick: () => Promise<void>
}

const REQUEST_MS = 5_000
/** Without an open round, checkpoints are exchanged only every so many ticks. */
const QUIET_TICKS = 12

export function createConsensusGossip(parts: ConsensusGossipDependencies): ConsensusGossip {
  const { mesh, ledger, guard, clock, logger } = parts
  const { quorums, approvals } = guard
  const state = ledger.projections.state(guardProjection)
  const self = quorums.self
  const ownNodeId = self.voter.slice(NODE_VOTER_PREFIX.length)
  const memory = createGossipMemory()
  /**
   * Findings and rounds that are being appended. While they are, a second peer that sends the same one adds nothing.
   */
  const appending = new Set<string>()
  const ownEvents = createGossipEventSelector({ mesh, ledger, guard, witness: parts.witness, memory })
  const listeners = new Set<(round: WaitingForeignQuorumRound) => void>()
  /** This node's newest vote as other nodes know it: after a restore, its own log may lack it. */
  let heardHead: VoteChainHead | undefined
  let ticks = 0
  let lastReceived: Promise<unknown> = Promise.resolve()

  /**
   * Whether a reference names this round: by its id alone, if only one node has a round with this id, else with its
   * node.
   */
  function isNamed({ id, house: nodeId }: ForeignQuorumRoundRecord, reference: string): boolean {
    return reference === id || reference === formatForeignRoundKey({ id, house: nodeId })
  }

  function listWaiting(): readonly (WaitingForeignQuorumRound & { readonly id: string })[] {
    const all = [...state.foreignRounds.values()]
    return all
      .filter(({ vote, expiresAtMs }) => vote === undefined && expiresAtMs > clock.now())
      .toReversed()
      .map((round) => ({
        ...round,
        reference:
          all.filter(({ id }) => id === round.id).length > 1 || approvals.get(round.id) !== undefined
            ? formatForeignRoundKey(round)
            : round.id,
        shown: readEntryBodyFields(ledger, round.receivedSeq)?.['shown'],
      }))
  }

  /** Statements of nodes outside of the community prove nothing: anybody can make keys that contradict each other. */
  function isKnownNode(nodeId: string): boolean {
    return mesh.community?.members.has(nodeId) === true || mesh.community?.revoked.has(nodeId) === true
  }

  /**
   * Appends once per key. Returns whether `append` ran: it does not while an earlier one with the same key is running.
   */
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

  /**
   * Records a contradiction. `signer` is the node that signed it, or that vouches for the person who did.
   */
  async function conflict(signer: string, about: string, facts: JsonObject): Promise<number> {
    if (state.conflicts.has(about)) return 0
    if (!isConflictRecorded(state, signer, clock.now())) return 0
    const isNew = await appendOnce(about, () => ledger.append({ kind: 'consensus.conflict', about, ...facts }))
    if (!isNew) return 0
    logger.error({ about }, 'two signed statements contradict each other')
    return 1
  }

  async function receiveRound(peer: string, event: QuorumRoundGossipEvent): Promise<number> {
    // A round is accepted only from the node that it belongs to, and stored only by nodes that vote in it.
    const isMine = event.voters.includes(self.voter)
    const expiresAtMs = Date.parse(event.expires_at)
    const key = formatForeignRoundKey({ house: peer, id: event.round })
    if (!isMine || state.foreignRounds.has(key) || !(expiresAtMs > clock.now())) return 0
    const { round, digest, need, epoch, expires_at, shown } = event
    const entry = { kind: 'consensus.heard', house: peer, round, digest, need, epoch, expires_at }
    if (!(await appendOnce(`round ${key}`, () => ledger.append(entry, { shown })))) return 0
    const waiting = listWaiting().find((each) => each.house === peer && each.id === round)
    if (waiting !== undefined) for (const listener of listeners) listener(waiting)
    return 0
  }

  async function receiveVote(peer: string, event: QuorumVoteGossipEvent): Promise<number> {
    const vote: SignedVote = { body: event.vote, signature: event.signature }
    if (event.house === ownNodeId) {
      const taken = await quorums.take(event.round, { voter: event.voter, vote })
      return !taken.ok && taken.fault.code === 'EQUIVOCATION' ? 1 : 0
    }
    const nodeId = event.voter.startsWith(NODE_VOTER_PREFIX) ? event.voter.slice(NODE_VOTER_PREFIX.length) : undefined
    if (!isKnownNode(event.house) || (nodeId !== undefined && !isKnownNode(nodeId))) return 0
    // The key of a node is its id. The keys of a node's people are accepted from that node itself only.
    if (nodeId === undefined && peer === event.house) memory.rememberPersonKey(event)
    if (nodeId === undefined && !memory.hasPersonKey(event)) return 0
    const key = nodeId === undefined ? event.key : toPublicKeyHexFromNodeId(nodeId)
    const body = parseVoteBody(vote)
    if (body === undefined || key === undefined || body.approval !== event.round || body.house !== event.house) return 0
    if (!isVoteSignatureValid(vote, key)) return 0
    if (key === self.key && body.seq > (heardHead?.seq ?? 0)) heardHead = { seq: body.seq, hash: computeVoteHash(vote) }
    const about = `vote ${event.house} ${event.round} ${key}`
    const before = memory.remember({ about, content: `${body.decision} ${body.call}`, event })
    if (before === undefined) return 0
    const votes = [before, event].map(({ vote: text, signature }) => ({ vote: text, signature }))
    const facts = { what: 'vote', voter: event.voter, key, house: event.house, round: event.round, votes }
    return conflict(nodeId ?? event.house, about, facts)
  }

  async function receiveCheckpoint(event: CheckpointGossipEvent): Promise<number> {
    const { node, note } = event
    const publicKey = decodeNodeId(node)
    const [origin = ''] = note.split('\n')
    if (publicKey === undefined || !isKeyName(origin) || (node !== ownNodeId && !isKnownNode(node))) return 0
    const opened = verifyAndParseCheckpoint(note, createNoteVerifier(origin, ED25519_NOTE_SIGNATURE_TYPE, publicKey))
    if (!opened.ok) return 0
    const { size, root } = opened.value.checkpoint
    if (node === ownNodeId) return receiveOwnCheckpoint(event, opened.value)
    const about = `checkpoint ${node} ${origin} ${size}`
    memory.rememberCheckpoint(event)
    const before = memory.remember({ about, content: toHex(root), event })
    return before === undefined ? 0 : conflict(node, about, { what: 'checkpoint', node, notes: [before.note, note] })
  }

  /**
   * This node signed the checkpoint, so its log has to extend it; otherwise the node was restored from an older copy.
   */
  async function receiveOwnCheckpoint({ note }: CheckpointGossipEvent, signed: SignedCheckpoint): Promise<number> {
    const { origin, size, root } = signed.checkpoint
    const own = ledger.latestCheckpoint()
    if (origin !== ledger.verifierKey.name || own === undefined || ledger.state().kind === 'refusing') return 0
    const at = size <= ledger.size() ? ledger.consistency(size, size) : undefined
    if (at?.ok === true && areBytesEqual(at.value.fromRoot, root)) return 0
    // A round may have been decided, and its call made, in the part that was lost; the call must not be made again with
    // the same votes.
    if (!state.conflicts.has(`checkpoint ${ownNodeId} ${origin} ${size}`))
      await quorums.abandon('this node was put back')
    const notes = [note, formatSignedCheckpoint(own)]
    return conflict(ownNodeId, `checkpoint ${ownNodeId} ${origin} ${size}`, {
      what: 'checkpoint',
      node: ownNodeId,
      notes,
    })
  }

  /** Batches are processed one after another: two at once would both find a contradiction new, and record it twice. */
  function receive(peer: string, events: readonly GossipMessage[]): Promise<number> {
    const received = lastReceived.then(() => receiveBatch(peer, events))
    lastReceived = received.catch(() => undefined)
    return received
  }

  async function receiveBatch(peer: string, events: readonly GossipMessage[]): Promise<number> {
    let conflicts = 0
    // Checkpoints are processed first: a node that learns that it was restored from an older copy accepts no votes for
    // rounds that it had decided.
    for (const event of events) if (event.kind === 'checkpoint') conflicts += await receiveCheckpoint(event)
    for (const event of events) {
      if (event.kind === 'round') conflicts += await receiveRound(peer, event)
      if (event.kind === 'vote') conflicts += await receiveVote(peer, event)
    }
    return conflicts
  }

  async function exchange(peer: string, since: number): Promise<{ sent: number; received: number; conflicts: number }> {
    const events = ownEvents(peer, since)
    const answer = await mesh.request(peer, GOSSIP_CONTROL_REQUEST_NAME, { events }, REQUEST_MS)
    const parsed = answer.ok ? gossipExchangeSchema.safeParse(answer.value) : undefined
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
    isPeer: (name) => mesh.peers.some(({ nodeId, manifest }) => nodeId === name || manifest.displayName === name),
    waiting: listWaiting,

    onReceived: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    answer: async (peer, body) => {
      const parsed = gossipExchangeSchema.safeParse(body)
      if (parsed.success) await receive(peer, parsed.data.events)
      return { events: ownEvents(peer, 0) }
    },

    voteInForeignRound: async (roundId, { digest, decision, caller }) => {
      const [round, ...others] = [...state.foreignRounds.values()].filter((each) => isNamed(each, roundId))
      if (round === undefined) return fail(createUnknownRoundFault(roundId))
      if (others.length > 0) {
        const names = [round, ...others].map(formatForeignRoundKey).join(', ')
        const message = `round_id: several nodes have such a round; name one of ${names}`
        return fail({ kind: 'invalid-arguments', message })
      }
      // An admin casts the vote of this node.
      if (
        caller.kind !== 'principal' ||
        (caller.role !== 'admin' && caller.role !== 'approver') ||
        caller.restrictions !== undefined
      )
        return fail(createVoteRefusal('NOT_A_VOTER', 'For this node an approver or admin votes; agents never do.'))
      if (digest !== round.digest)
        return fail({ kind: 'invalid-arguments', message: 'digest: it is not that of this round' })
      if (round.vote !== undefined)
        return fail(
          round.vote.decision === decision
            ? createVoteRefusal('ALREADY_VOTED', 'This node has voted before.')
            : createVoteRefusal('EQUIVOCATION', 'This node has already voted the other way, and signs no second vote.'),
        )
      const nowMs = clock.now()
      if (nowMs >= round.expiresAtMs) return fail(createVoteRefusal('ROUND_CLOSED', 'The round has lapsed.'))
      const vote = quorums.signForeignVote(round, { decision, remoteHead: heardHead, nowMs })
      await ledger.append({
        kind: 'consensus.voted-elsewhere',
        round: round.id,
        house: round.house,
        voter: self.voter,
        vote: vote.body,
        signature: vote.signature,
        decision,
      })
      // The periodic job repeats the exchange if the node cannot be reached now.
      await exchange(round.house, 0)
      return ok(vote)
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
