/**
 * Mesh health: which members of its community a node reaches, with advice about the others.
 */
import type { ServiceHealth } from '../bus/capability.ts'
import type { JsonObject } from '../core/json.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import { redactServerAddress } from './nats/server-address-redaction.ts'

export interface MeshHealthFacts {
  readonly self: string
  readonly community:
    | {
        readonly name: string
        readonly members: ReadonlyMap<string, { readonly name: string }>
        readonly revoked: ReadonlyMap<string, string>
      }
    | undefined
  /** Nodes that are on the bus. */
  readonly reached: ReadonlySet<string>
  /** `undefined` where no broker is configured. */
  readonly nats:
    | { readonly servers: readonly string[]; readonly downSinceMs: number | undefined; readonly isShut: boolean }
    | undefined
  /** How many capabilities of this node are not announced to others. */
  readonly omitted: number
  /** Nodes with refused offers: how many, and why the first one was refused. */
  readonly refused: readonly { readonly node: string; readonly count: number; readonly why: string }[]
}

/** At most this many are named; `topology` lists all members. */
const MAX_NAMED = 5

export const NO_COMMUNITY_ADVICE =
  'This node belongs to no community, so it reaches no other node: hearthbus mesh init founds one, hearthbus mesh join enters one.'

/** `how` says in which way it cannot be reached, as the predicate of the sentence. */
export function explainLostBroker(servers: readonly string[], how: string): string {
  return `${nameBroker(servers)} ${how}. Is the server running, and does it let this node in?`
}

function nameBroker(servers: readonly string[]): string {
  return `NATS (${servers.map(redactServerAddress).join(', ')})`
}

export function computeMeshHealth(facts: MeshHealthFacts): ServiceHealth {
  const { self, community, reached, nats, omitted, refused } = facts
  if (community === undefined) {
    // The registry is opened only for a node with a community.
    const lost = nats?.downSinceMs === undefined ? [] : brokerAdvice(nats)
    const away = lost.length === 0 ? {} : { away: true }
    return degraded({ community: null, ...away }, [...lost, NO_COMMUNITY_ADVICE].join(' '))
  }
  const others = [...community.members].filter(([nodeId]) => nodeId !== self)
  const missing = others.filter(([nodeId]) => !reached.has(nodeId)).map(([, { name }]) => name)
  const details = {
    community: community.name,
    members: others.length,
    reached: others.length - missing.length,
    ...(nats === undefined ? {} : { nats: nats.downSinceMs === undefined ? 'up' : 'down' }),
  }
  if (community.revoked.has(self) || !community.members.has(self))
    return degraded(
      { ...details, away: true },
      `${community.name} has revoked this node: no node there answers it. It comes back with a new key only: from an empty data directory, by a new invitation.`,
    )
  const broker = brokerAdvice(nats)
  const advice = [
    ...broker,
    ...missingAdvice(missing, others.length),
    ...adviceForOmitted(omitted),
    ...refusedAdvice(refused),
  ].join(' ')
  if (advice === '') return { status: 'ok', details }
  // One node that is switched off is no problem; a broker that is down, or no reachable node at all, is one.
  const isAway = broker.length > 0 || (missing.length > 0 && missing.length === others.length)
  return degraded(isAway ? { ...details, away: true } : details, advice)
}

function brokerAdvice(nats: MeshHealthFacts['nats']): readonly string[] {
  if (nats === undefined) return []
  const { servers, downSinceMs, isShut } = nats
  if (downSinceMs !== undefined)
    return [explainLostBroker(servers, `has been out of reach since ${formatIsoTime(downSinceMs)}`)]
  if (!isShut) return []
  return [
    `${nameBroker(servers)} is reached, but nodes do not find each other there: the registry cannot be opened. Does the server run with JetStream (nats-server -js), and may this node use it?`,
  ]
}

function missingAdvice(missing: readonly string[], others: number): readonly string[] {
  if (missing.length === 0) return []
  const named = missing.slice(0, MAX_NAMED).join(', ')
  const rest = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : ''
  return [
    `${others - missing.length} of ${others} other members are reached; not: ${named}${rest}. Do they run, and can the machines see each other?`,
  ]
}

function adviceForOmitted(omitted: number): readonly string[] {
  if (omitted === 0) return []
  return [
    `This node offers more than others take of one: they hear nothing of ${omitted} of its capabilities. Tools of devices among them are still reached from there, through devices.call.`,
  ]
}

function refusedAdvice(refused: MeshHealthFacts['refused']): readonly string[] {
  return refused
    .slice(0, MAX_NAMED)
    .map(
      ({ node, count, why }) =>
        `${count} of the offers of ${node} ${count === 1 ? 'is' : 'are'} not taken: ${why}${count === 1 ? '' : ' hearthbus topology lists more.'}`,
    )
}

function degraded(details: JsonObject, advice: string): ServiceHealth {
  return { status: 'degraded', details: { advice, ...details } }
}
