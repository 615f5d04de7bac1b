/**
 * Entry: the bus's record of one instance of one capability on one node (spec 2 § 3.1), with what is counted about it.
 *
 * It outlives manifest refreshes and re-registrations: whatever is in flight, known or suspected of a provider stays
 * known until the provider is gone.
 */
import { createProviderQueue } from './admission.ts'
import type { ProviderQueue } from './admission.ts'
import { formatCapabilityVersion } from './capability.ts'
import type { Capability, CapabilityName, Offer, CapabilityVersion } from './capability.ts'
import type { CapabilityContract } from './contract.ts'
import { ProviderHealth, createLatencyEstimate } from './health.ts'
import type { PeakEwma } from './health.ts'
import type { PeerCapability } from './peer.ts'

export interface EntryIdentity {
  readonly nodeId: string
  readonly name: CapabilityName
  readonly version: CapabilityVersion
  readonly instanceId: string
}

export function entryKey({ nodeId, name, version, instanceId }: EntryIdentity): string {
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
  /** With the handler; local entries only. */
  capability: Capability | undefined
  /** Where to reach it, in the words of whoever brought the peer; remote entries only. */
  endpoint: unknown
  /** The words in which the peer announced it; remote entries only. */
  announced: PeerCapability | undefined
  /** Which of its name's contracts it serves; the registry's doing. */
  contract: CapabilityContract | undefined
  removed = false
  inFlight = 0
  readonly waiting: ProviderQueue = createProviderQueue()
  lastSeenMs: number
  /** The provider said when to come back. */
  busyUntilMs = 0
  /** Params that it refused, by when that may be tried again; remote entries only. */
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
    this.key = entryKey({ nodeId, name: offer.name, version: offer.version, instanceId })
    this.nodeId = nodeId
    this.instanceId = instanceId
    this.isLocal = isLocal
    this.owner = owner
    this.offer = offer
    this.lastSeenMs = lastSeenMs
  }
}
