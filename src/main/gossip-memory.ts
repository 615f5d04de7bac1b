/**
 * Gossip memory: signed statements of other nodes and voters, in order to detect contradictions and to pass on to all
 * nodes what one has seen.
 *
 *   statement about something ─▶ first: remembered      the same: nothing new      another: the two contradict each other
 *
 * Bounded: the oldest statement is dropped first, so a flood of new ones does not remove everything at once.
 *
 * Holds memory; otherwise pure.
 */
import type { CheckpointGossipEvent, GossipMessage, QuorumVoteGossipEvent } from './gossip-event.ts'

export interface SeenStatement<Event extends GossipMessage> {
  /** What may be stated only once: a voter's vote in a round, a node's tree of a size. */
  readonly about: string
  readonly content: string
  readonly event: Event
}

export interface GossipMemory {
  /** The earlier statement that this one contradicts. */
  readonly remember: <Event extends QuorumVoteGossipEvent | CheckpointGossipEvent>(
    seen: SeenStatement<Event>,
  ) => Event | undefined
  /**
   * Remembers the last few checkpoints that a node signed, so that a node that was restored from an older copy can be
   * shown them.
   */
  readonly rememberCheckpoint: (event: CheckpointGossipEvent) => void
  /** Remembers the key of a node's person, as that node itself announced it. */
  readonly rememberPersonKey: (event: QuorumVoteGossipEvent) => void
  readonly hasPersonKey: (event: QuorumVoteGossipEvent) => boolean
  /** What is passed on to other nodes: contradictions, the last checkpoints of each node, then the newest votes. */
  readonly listEventsToForward: () => readonly GossipMessage[]
}

const MAX_SEEN = 4_096
const MAX_CONTRADICTIONS = 16
const MAX_NODES = 16
const CHECKPOINTS_PER_NODE = 4
const MAX_FORWARDED_VOTES = 64
const MAX_PERSON_KEYS = 1_024

export function createGossipMemory(): GossipMemory {
  const seen = new Map<string, SeenStatement<GossipMessage>>()
  const contradictions = new Map<string, readonly GossipMessage[]>()
  const checkpoints = new Map<string, readonly CheckpointGossipEvent[]>()
  const personKeys = new Map<string, true>()
  return {
    rememberPersonKey: (event) => {
      const id = personKeyId(event)
      if (!personKeys.has(id)) dropOldest(personKeys, MAX_PERSON_KEYS)
      personKeys.set(id, true)
    },
    hasPersonKey: (event) => personKeys.has(personKeyId(event)),
    remember: (statement) => {
      const { about, content, event } = statement
      const before = seen.get(about) as typeof statement | undefined
      if (before === undefined) {
        dropOldest(seen, MAX_SEEN)
        seen.set(about, statement)
        return undefined
      }
      if (before.content === content) return undefined
      dropOldest(contradictions, MAX_CONTRADICTIONS)
      contradictions.set(about, [before.event, event])
      return before.event
    },
    rememberCheckpoint: (event) => {
      const known = checkpoints.get(event.node) ?? []
      if (known.some(({ note }) => note === event.note)) return
      checkpoints.delete(event.node)
      dropOldest(checkpoints, MAX_NODES)
      checkpoints.set(event.node, [...known, event].slice(-CHECKPOINTS_PER_NODE))
    },
    listEventsToForward: () => [
      ...[...contradictions.values()].flat(),
      ...[...checkpoints.values()].flat(),
      ...[...seen.values()]
        .map(({ event }) => event)
        .filter(({ kind }) => kind === 'vote')
        .slice(-MAX_FORWARDED_VOTES)
        .toReversed(),
    ],
  }
}

function personKeyId({ house, voter, key }: QuorumVoteGossipEvent): string {
  return `${house} ${key} ${voter}`
}

function dropOldest(map: Map<string, unknown>, limit: number): void {
  for (const id of map.keys()) {
    if (map.size < limit) return
    map.delete(id)
  }
}
