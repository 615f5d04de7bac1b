/**
 * Gossip event selector: what this node tells another one in an exchange: its checkpoint, its rounds with their votes,
 * its votes in rounds of others, and what it saw of others.
 *
 * Pure, given ledger, guard and mesh.
 */
import type { z } from 'zod'
import type { Approval } from '../guard/approval.ts'
import type { Guard } from '../guard/guard.ts'
import { guardProjection } from '../guard/guard-state.ts'
import { NODE_VOTER_PREFIX } from '../guard/quorum-round-state.ts'
import { formatSignedCheckpoint } from '../ledger/checkpoint.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { WitnessService } from '../mesh/control-handler.ts'
import type { Mesh } from '../mesh/mesh-server.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import { takeGossipEventsThatFit } from './gossip-event.ts'
import type { GossipMessage } from './gossip-event.ts'
import type { GossipMemory } from './gossip-memory.ts'

export interface GossipSources {
  readonly mesh: Pick<Mesh, 'peers'>
  readonly ledger: Ledger
  readonly guard: Pick<Guard, 'quorums' | 'approvals'>
  readonly witness: () => Pick<WitnessService, 'latest'> | undefined
  readonly memory: GossipMemory
}

/** How many events about this node's rounds one exchange has: the newest ones, so that there is room for the rest. */
const MAX_ROUND_EVENTS = 128
const MAX_OWN_VOTES = 32
const MAX_SHOWN_BYTES = 16_384

/** `since`: only rounds that were opened in this entry or later. */
export function createGossipEventSelector(
  parts: GossipSources,
): (peer: string, since: number) => readonly GossipMessage[] {
  const { mesh, ledger, memory } = parts
  const { quorums, approvals } = parts.guard
  const state = ledger.projections.state(guardProjection)
  const self = quorums.self
  const ownNodeId = self.voter.slice(NODE_VOTER_PREFIX.length)

  /**
   * Rounds of this node, newest first. Only nodes that vote learn what a call is about. Votes are sent with a
   * checkpoint that covers them: if this node is restored from an older copy, the receiver can then show it that it had
   * come further.
   */
  function roundEvents(peer: string, since: number, signedSize: number): readonly GossipMessage[] {
    const events: GossipMessage[] = []
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
          expires_at: formatIsoTime(round.expiresAtMs),
          voters: round.voters.map(({ voter }) => voter),
          shown: toShownCall(approval),
        })
      for (const { voter, body, signature, seq } of round.votes) {
        if (seq >= signedSize) continue
        const key = round.voters.find((each) => each.voter === voter)?.key ?? ''
        events.push({ kind: 'vote', house: ownNodeId, round: round.id, voter, key, vote: body, signature })
      }
      if (events.length >= MAX_ROUND_EVENTS) break
    }
    return events
  }

  /** This node's votes in rounds of others: those for the receiver first, then the newest. */
  function ownVoteEvents(peer: string): readonly GossipMessage[] {
    const rounds = [...state.foreignRounds.values()].filter(({ vote }) => vote !== undefined).toReversed()
    return rounds
      .toSorted((left, right) => Number(right.house === peer) - Number(left.house === peer))
      .slice(0, MAX_OWN_VOTES)
      .map(({ id, house: nodeId, vote }) => ({
        kind: 'vote',
        house: nodeId,
        round: id,
        voter: self.voter,
        key: self.key,
        vote: vote?.body ?? '',
        signature: vote?.signature ?? '',
      }))
  }

  return (peer, since) => {
    const signed = ledger.state().kind === 'refusing' ? undefined : ledger.latestCheckpoint()
    const witnessed = mesh.peers.flatMap(({ nodeId }): readonly GossipMessage[] => {
      const note = parts.witness()?.latest(nodeId)
      return note === undefined ? [] : [{ kind: 'checkpoint', node: nodeId, note }]
    })
    const own: GossipMessage[] =
      signed === undefined ? [] : [{ kind: 'checkpoint', node: ownNodeId, note: formatSignedCheckpoint(signed) }]
    return takeGossipEventsThatFit([
      ...own,
      ...roundEvents(peer, since, signed?.checkpoint.size ?? 0),
      ...ownVoteEvents(peer),
      ...witnessed,
      ...memory.listEventsToForward(),
    ])
  }
}

/** Arguments that are too large to be sent are left out, and the title says so. */
function toShownCall({ binding: { tool, target }, shown }: Approval): z.core.util.JSONType {
  const whole = { tool, target: target ?? null, ...shown }
  const { preview: _, ...rest } = whole
  const isLarge = Buffer.byteLength(JSON.stringify(whole)) > MAX_SHOWN_BYTES
  const title = `${shown.title} (its arguments are too large to show here: look at it on the node that asks)`
  return (isLarge ? { ...rest, title, arguments: {} } : whole) as unknown as z.core.util.JSONType
}
