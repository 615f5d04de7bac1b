/**
 * Own manifest: what this node says of itself at the moment, renewed before it lapses and whenever something changes.
 *
 * Pure: time and numbers come from outside.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { CapabilityEntry } from '../bus/capability-entry.ts'
import { describeOwnCapability } from '../bus/peer.ts'
import type { PeerCapability } from '../bus/peer.ts'
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import { countInFlight } from '../bus/topology.ts'
import { encodeCapability, encodePeerSchemas } from './identity/capability-wire.ts'
import type { NodeIdentity } from './identity/node-key.ts'
import { issueManifest, MAX_PEER_CAPABILITIES, omitManifestCapabilities } from './identity/node-manifest.ts'
import type { ManifestEndpoint } from './identity/node-manifest.ts'
import type { SignedDocument } from './identity/signed-document.ts'

export interface OwnManifestIssuerDependencies {
  readonly identity: NodeIdentity
  readonly name: string
  readonly ledgerOrigin: string | undefined
  readonly communityId: () => string | undefined
  readonly bus: CapabilityBus
  readonly clock: Clock
  /** The first of a block of sequence numbers that were never used. */
  readonly firstSequence: number
}

export interface FullAndSlimOwnManifest {
  readonly full: SignedDocument
  readonly slim: JsonObject
}

/** A third of a manifest's life, so that two manifests may get lost. */
const MANIFEST_RENEWAL_INTERVAL_MS = 10_000
/**
 * The size of a manifest is limited so that it fits into the largest answer between nodes, and into one NATS message.
 */
const MAX_ANNOUNCED_BYTES = 900_000

export class OwnManifestIssuer {
  readonly #parts: OwnManifestIssuerDependencies
  readonly #startedMs: number
  #sequence: number
  #endpoints: readonly ManifestEndpoint[] = []
  #current: FullAndSlimOwnManifest | undefined
  #issuedMs = -Infinity
  #omitted = 0

  constructor(parts: OwnManifestIssuerDependencies) {
    this.#parts = parts
    this.#sequence = parts.firstSequence
    this.#startedMs = parts.clock.monotonic()
  }

  setEndpoints(endpoints: readonly ManifestEndpoint[]): void {
    this.#endpoints = endpoints
    this.#current = undefined
  }

  /** Call when something in the manifest has changed. */
  touch(): void {
    this.#current = undefined
  }

  /** The present manifest; `undefined` while the node has no community. */
  manifest(): FullAndSlimOwnManifest | undefined {
    const nowMs = this.#parts.clock.monotonic()
    if (this.#current === undefined || nowMs - this.#issuedMs >= MANIFEST_RENEWAL_INTERVAL_MS) {
      this.#current = this.#issue()
      this.#issuedMs = nowMs
    }
    return this.#current
  }

  /** The manifest that announces that this node stops. */
  goodbye(): FullAndSlimOwnManifest | undefined {
    return this.#issue(0)
  }

  /** Contracts of our own by hash, for other nodes; without those of trust level `self`. */
  schemas(hashes: ReadonlySet<string>): JsonObject {
    const found: Record<string, JsonObject> = {}
    for (const capability of this.#capabilities())
      if (hashes.has(capability.schemaHash) && capability.schemas !== undefined)
        found[capability.schemaHash] = encodePeerSchemas(capability.schemas)
    return found
  }

  capabilities(): readonly PeerCapability[] {
    return this.#capabilities()
  }

  /** How many of our capabilities do not fit into the manifest. */
  omitted(): number {
    return this.#omitted
  }

  /**
   * The capabilities that were registered first, among them those of the families. A list that is too long would be
   * refused completely.
   */
  #capabilities(): readonly PeerCapability[] {
    const all = this.#forOthers()
    const announced: PeerCapability[] = []
    let bytes = 0
    for (const { offer } of all.slice(0, MAX_PEER_CAPABILITIES)) {
      const capability = describeOwnCapability(offer)
      bytes += Buffer.byteLength(JSON.stringify(encodeCapability(capability)))
      if (bytes > MAX_ANNOUNCED_BYTES) break
      announced.push(capability)
    }
    this.#omitted = all.length - announced.length
    return announced
  }

  #forOthers(): readonly CapabilityEntry[] {
    return this.#parts.bus.registry.allLocal().filter(({ offer }) => offer.trustRequired !== 'self')
  }

  #issue(lifeMs?: number): FullAndSlimOwnManifest | undefined {
    const { identity, name, ledgerOrigin, clock, bus } = this.#parts
    const communityId = this.#parts.communityId()
    if (communityId === undefined) return undefined
    const facts = {
      displayName: name,
      communityId,
      endpoints: this.#endpoints,
      capabilities: this.#capabilities(),
      inFlight: countInFlight(bus.registry),
      uptimeSeconds: (clock.monotonic() - this.#startedMs) / 1_000,
      ledgerOrigin,
      sequence: this.#sequence++,
      nowMs: clock.now(),
      ...(lifeMs === undefined ? {} : { lifeMs }),
    }
    const full = issueManifest(facts, identity)
    return { full, slim: omitManifestCapabilities(full) }
  }
}
