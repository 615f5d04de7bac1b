/**
 * Capability entry: the bus's record of one instance of one capability on one node (spec 2 § 3.1), with what is counted
 * about it.
 *
 * It outlives manifest refreshes and re-registrations: calls in flight, health and sessions of a provider are kept
 * until the provider is removed.
 */
import { createProviderQueue } from './provider-queue.ts'
import type { ProviderQueue } from './provider-queue.ts'
import { formatCapabilityVersion } from './capability.ts'
import type { Capability, CapabilityName, Offer, CapabilityVersion } from './capability.ts'
import type { ContractWithProviders } from './contract.ts'
import { ProviderHealth, createLatencyEstimate } from './health.ts'
import type { PeakEwma } from './health.ts'
import type { PeerCapability } from './peer.ts'

export interface CapabilityEntryIdentity {
  readonly nodeId: string
  readonly name: CapabilityName
  readonly version: CapabilityVersion
  readonly instanceId: string
}

export function toCapabilityEntryKey({ nodeId, name, version, instanceId }: CapabilityEntryIdentity): string {
  return `${nodeId} ${name}@${formatCapabilityVersion(version)}#${instanceId}`
}

export class CapabilityEntry {
  readonly key: string
  readonly nodeId: string
  readonly instanceId: string
  readonly isLocal: boolean
  /** Who registered it: a service's name, or the node id of a peer. */
  readonly owner: string
  offer: Offer
  /** Includes the handler; local entries only. */
  capability: Capability | undefined
  /** Where to reach it, as the transport describes it; remote entries only. */
  endpoint: unknown
  /** The capability as the peer announced it; remote entries only. */
  announced: PeerCapability | undefined
  /** The contract of this name that it serves; set by the registry. */
  contract: ContractWithProviders | undefined
  removed = false
  inFlight = 0
  readonly waiting: ProviderQueue = createProviderQueue()
  lastSeenMs: number
  /** Until when the provider asked to be left alone. */
  busyUntilMs = 0
  /** Params that it refused, with the time from which they may be tried again; remote entries only. */
  refusedParams: Map<string, number> | undefined
  readonly health = new ProviderHealth()
  readonly latency: PeakEwma = createLatencyEstimate()

  constructor(identity: {
    readonly nodeId: string
    readonly instanceId: string
    readonly isLocal: boolean
    readonly owner: string
    readonly offer: Offer
    readonly lastSeenMs: number
  }) {
    const { nodeId, instanceId, isLocal, owner, offer, lastSeenMs } = identity
    this.key = toCapabilityEntryKey({ nodeId, name: offer.name, version: offer.version, instanceId })
    this.nodeId = nodeId
    this.instanceId = instanceId
    this.isLocal = isLocal
    this.owner = owner
    this.offer = offer
    this.lastSeenMs = lastSeenMs
  }
}
