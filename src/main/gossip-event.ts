/**
 * Gossip event: the messages about rounds, votes and checkpoints that nodes of a community exchange.
 */
import { z } from 'zod'

/** The limit for one exchange. */
const MAX_GOSSIP_EVENTS = 256

/** Half of what a node accepts in one message by default (`mesh.maxBodyBytes`). */
const MAX_GOSSIP_BYTES = 524_288

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
    vote: z.string().max(2_048),
    signature: z.string().max(128),
  }),
  z.object({ kind: z.literal('checkpoint'), node: z.string().max(64), note: z.string().max(16_384) }),
])

export const gossipExchangeSchema = z.object({ events: z.array(gossipEvent).max(MAX_GOSSIP_EVENTS) })

export type GossipMessage = z.output<typeof gossipEvent>
export type QuorumRoundGossipEvent = GossipMessage & { readonly kind: 'round' }
export type QuorumVoteGossipEvent = GossipMessage & { readonly kind: 'vote' }
export type CheckpointGossipEvent = GossipMessage & { readonly kind: 'checkpoint' }

/** As many events as fit into one exchange, in their order; one that is too large by itself is skipped. */
export function takeGossipEventsThatFit(events: readonly GossipMessage[]): readonly GossipMessage[] {
  let left = MAX_GOSSIP_BYTES
  return events
    .filter((event) => {
      const bytes = Buffer.byteLength(JSON.stringify(event))
      if (bytes > left) return false
      left -= bytes
      return true
    })
    .slice(0, MAX_GOSSIP_EVENTS)
}
