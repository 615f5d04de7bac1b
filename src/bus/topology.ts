/**
 * Topology: the registry as plain data, for the console, the CLI and the tools that show it (spec 2 § 3.7).
 */
import type { JsonObject } from '../core/json.ts'
import { formatCapabilityVersion } from './capability.ts'
import type { Effect, Stability } from './capability.ts'
import type { ContractDisagreement } from './contract.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import type { CapabilityRegistry } from './registry.ts'
import type { CallCounters, TraceBuffer } from './trace.ts'

export interface CapabilityProviderView {
  readonly nodeId: string
  readonly name: string
  readonly version: string
  readonly instanceId: string
  readonly isLocal: boolean
  readonly owner: string
  readonly stability: Stability
  readonly effect: Effect
  readonly params: JsonObject
  readonly inFlight: number
  readonly waiting: number
  readonly maxConcurrent: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly successRate: number
  readonly samples: number
  /** 0 when it is not in quarantine. */
  readonly quarantinedForMs: number
  readonly stickySessions: number
}

export interface PeerView {
  readonly nodeId: string
  readonly displayName: string | undefined
  readonly source: string | undefined
  readonly capabilities: number
  /** How many of its offers were refused, and the first of them with the reasons. */
  readonly refused: number
  readonly refusedOffers: readonly RefusedCapabilityView[]
  readonly seenAgoMs: number
}

export interface RefusedCapabilityView {
  readonly name: string
  readonly reason: string
}

export interface TopologySnapshot {
  readonly ourNodeId: string
  readonly communityId: string | undefined
  readonly peers: readonly PeerView[]
  readonly capabilitiesLocal: readonly CapabilityProviderView[]
  readonly capabilitiesRemote: readonly CapabilityProviderView[]
  readonly inFlightTotal: number
  /** Names whose providers disagree: the strictest of them counts. */
  readonly disagreements: readonly ContractDisagreement[]
}

export function toProviderView(entry: CapabilityEntry, stickySessions: number, nowMs: number): CapabilityProviderView {
  const { offer, health } = entry
  return {
    nodeId: entry.nodeId,
    name: offer.name,
    version: formatCapabilityVersion(offer.version),
    instanceId: entry.instanceId,
    isLocal: entry.isLocal,
    owner: entry.owner,
    stability: offer.stability,
    effect: offer.effect,
    params: offer.params,
    inFlight: entry.inFlight,
    waiting: entry.waiting.size,
    maxConcurrent: offer.maxConcurrent,
    p50Ms: health.p50Ms,
    p99Ms: health.p99Ms,
    successRate: health.successRate,
    samples: health.samples,
    quarantinedForMs: health.isEjected() ? Math.max(0, health.quarantinedUntilMs - nowMs) : 0,
    stickySessions,
  }
}

/** Counters since the start. */
export interface BusStats {
  readonly calls: number
  readonly inFlight: number
  readonly offers: number
  readonly peers: number
  readonly sessions: number
  readonly retries: number
  readonly hedges: number
  readonly quarantines: number
  /** Providers that kept running after their call was over. */
  readonly cutOff: number
  readonly capabilities: readonly CapabilityStats[]
}

export interface CapabilityStats {
  readonly name: string
  readonly calls: number
  readonly ok: number
  readonly errors: Readonly<Record<string, number>>
  readonly meanMs: number
  readonly activeStreams: number
}

export function computeBusStats(parts: {
  readonly registry: CapabilityRegistry
  readonly tally: CallCounters
  readonly trace: TraceBuffer
  readonly peers: number
  readonly sessions: number
}): BusStats {
  const { registry, tally, trace, peers, sessions } = parts
  const { retries, hedges, quarantines, cutOff } = tally
  return {
    calls: trace.recorded,
    inFlight: countInFlight(registry),
    offers: registry.offers().length,
    peers,
    sessions,
    retries,
    hedges,
    quarantines,
    cutOff,
    capabilities: capabilityStats(tally),
  }
}

/** By number of calls, most first. */
function capabilityStats(tally: CallCounters): readonly CapabilityStats[] {
  return [...tally.byCapability]
    .map(([name, counted]) => ({
      name,
      calls: counted.calls,
      ok: counted.ok,
      errors: Object.fromEntries(counted.errors),
      meanMs: counted.calls === 0 ? 0 : counted.durationSumMs / counted.calls,
      activeStreams: counted.activeStreams,
    }))
    .toSorted((left, right) => right.calls - left.calls)
}

export function countInFlight(registry: CapabilityRegistry): number {
  return registry.all().reduce((sum, entry) => sum + entry.inFlight, 0)
}
