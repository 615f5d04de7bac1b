/**
 * Peer directory: the other nodes according to their last manifests, which are proven and of our community.
 *
 *   hint ─▶ manifest received ─▶ (capabilities fetched by their hash) ─▶ (schemas fetched by theirs) ─▶ on the bus
 *                │ 90 s of silence · goodbye · revoked · unreachable three times running
 *                ▼
 *              off the bus
 *
 * Freshness depends on when something arrived here, never on another node's clock.
 *
 * Pure: time is an argument.
 */
import type { PeerCapability, PeerRecord, RefusedCapability } from '../bus/peer.ts'
import { formatHostPort } from './discovery/peer-source.ts'
import { findMemberStanding } from './identity/community.ts'
import type { Community } from './identity/community.ts'
import { isGoodbyeManifest, parseNodeManifest } from './identity/node-manifest.ts'
import type { ManifestFault, NodeManifest } from './identity/node-manifest.ts'
import { resolveClaimedMemberName } from './identity/node-name.ts'
import { PeerSchemaCache } from './schema-cache.ts'
import type { PeerAddress, PeerEndpoint } from './transport.ts'

const PEER_PRUNE_AFTER_MS = 90_000
const MAX_FAILURES = 3
const MAX_ENDPOINTS = 8
const MAX_DEPARTED = 1_024
/**
 * The limit for the characters of one peer's contracts: four thousand for each of the capabilities that it may have.
 * Contracts beyond it stay unknown, and calls are then checked by the peer alone.
 */
const MAX_SCHEMAS_LENGTH = 8_388_608

export interface KnownPeer {
  readonly nodeId: string
  name: string
  manifest: NodeManifest
  /** The capabilities with the hash in `capabilitiesHash`, which may be older than the manifest's. */
  capabilities: readonly PeerCapability[]
  capabilitiesHash: string
  /** The endpoints at which it answered us, the best known first. */
  reached: PeerEndpoint | undefined
  hasNats: boolean
  lastReceivedMs: number
  failures: number
  readonly source: string
  isOnBus: boolean
  /** Hashes of contracts that differ from the announced ones, or are too large to be read. */
  unreadable: ReadonlySet<string>
}

export type PeerManifestUpdateResult =
  | {
      readonly kind: 'refused'
      readonly why: ManifestFault | { readonly kind: 'foreign' | 'stranger' | 'revoked' | 'ourselves' }
    }
  /** Nothing new: an older or the same manifest. */
  | { readonly kind: 'old'; readonly peer: KnownPeer }
  | { readonly kind: 'left'; readonly nodeId: string }
  | { readonly kind: 'heard'; readonly peer: KnownPeer; readonly wantsCapabilities: boolean }

/** Receives the events for the bus. */
export interface PeerEventListener {
  readonly onPeerAdded: (record: PeerRecord) => unknown
  readonly onPeerUpdated: (record: PeerRecord) => unknown
  readonly onPeerRemoved: (nodeId: string) => void
}

/** Filters a peer's offers for the bus. */
export type PeerOfferFilter = (peer: Pick<KnownPeer, 'nodeId' | 'name' | 'capabilities'>) => {
  readonly offered: readonly PeerCapability[]
  readonly refused: readonly RefusedCapability[]
}

const NOTHING: ReadonlySet<string> = new Set()

const takeAll: PeerOfferFilter = ({ capabilities }) => ({ offered: capabilities, refused: [] })

export class PeerDirectory {
  readonly schemas = new PeerSchemaCache()
  readonly #self: string
  readonly #events: PeerEventListener
  readonly #screen: PeerOfferFilter
  readonly #peers = new Map<string, KnownPeer>()
  /** The last addresses of nodes that are gone, because they may come back. */
  readonly #departed = new Map<string, PeerAddress>()

  constructor(self: string, events: PeerEventListener, screen: PeerOfferFilter = takeAll) {
    this.#self = self
    this.#events = events
    this.#screen = screen
  }

  get peers(): readonly KnownPeer[] {
    return [...this.#peers.values()]
  }

  /** Returns such an address once. */
  departed(nodeId: string): PeerAddress | undefined {
    const address = this.#departed.get(nodeId)
    this.#departed.delete(nodeId)
    return address
  }

  find(nodeId: string): KnownPeer | undefined {
    return this.#peers.get(nodeId)
  }

  /**
   * Takes a manifest from any source, because a manifest proves itself. `reached` is where its author answered, if that
   * is known.
   */
  receive(
    value: unknown,
    about: {
      readonly community: Community
      readonly nowMs: number
      readonly monotonicMs: number
      readonly source: string
      readonly reached?: PeerEndpoint | undefined
      /** Whether the manifest is the author's own, present answer. */
      readonly isLive?: boolean
    },
  ): PeerManifestUpdateResult {
    const read = parseNodeManifest(value, about.nowMs)
    if (!read.ok) return { kind: 'refused', why: read.fault }
    const manifest = read.value
    const { nodeId } = manifest
    const wrong = this.#wrong(manifest, about.community)
    if (wrong !== undefined) return { kind: 'refused', why: { kind: wrong } }
    const known = this.#peers.get(nodeId)
    if (known !== undefined && isOld(manifest, known.manifest, about.isLive)) return { kind: 'old', peer: known }
    if (isGoodbyeManifest(manifest)) {
      if (known !== undefined) known.manifest = manifest
      this.remove(nodeId)
      return { kind: 'left', nodeId }
    }
    const peer = known ?? this.#newPeer(manifest, about)
    // The new manifest no longer contains the address at which the node was reached, so it has moved.
    if (names(peer.manifest, peer.reached) && !names(manifest, peer.reached)) peer.reached = undefined
    peer.manifest = manifest
    peer.name = resolveClaimedMemberName(about.community, nodeId, manifest.displayName)
    peer.lastReceivedMs = about.monotonicMs
    peer.failures = 0
    if (about.reached?.transport === 'nats') peer.hasNats = true
    else if (about.reached !== undefined) peer.reached = about.reached
    if (manifest.capabilities !== undefined) this.#learn(peer, manifest.capabilities, manifest.capabilitiesHash)
    return { kind: 'heard', peer, wantsCapabilities: peer.capabilitiesHash !== manifest.capabilitiesHash }
  }

  /** Takes capabilities that were received without their manifest, and whose hash was verified. */
  learn(nodeId: string, capabilities: readonly PeerCapability[], hash: string): void {
    const peer = this.#peers.get(nodeId)
    if (peer !== undefined) this.#learn(peer, capabilities, hash)
  }

  /** Contracts of this peer that are not known yet; none once it has sent more than the limit. */
  missingSchemas({ capabilities, unreadable }: KnownPeer): readonly PeerCapability[] {
    if (this.schemas.lengthOf(capabilities) > MAX_SCHEMAS_LENGTH) return []
    return capabilities.filter(
      ({ schemas, schemaHash }) =>
        schemas === undefined && !unreadable.has(schemaHash) && !this.schemas.find(schemaHash),
    )
  }

  /** These contracts cannot be read, so offers with them are refused until the peer announces others. */
  refuseSchemas(peer: KnownPeer, hashes: readonly string[]): void {
    peer.unreadable = new Set([...peer.unreadable, ...hashes])
  }

  /** Tells the bus what is known of the peer now: new capabilities, new schemas, or just that it is alive. */
  publish(peer: KnownPeer): void {
    if (this.#peers.get(peer.nodeId) !== peer) return
    // The same objects as before if nothing changed, so that the registry can compare them by identity.
    if (peer.capabilities.some(({ schemas, schemaHash }) => schemas === undefined && this.schemas.find(schemaHash)))
      peer.capabilities = peer.capabilities.map((capability) => this.#withSchemas(capability))
    const { nodeId, name, manifest, source, capabilities } = peer
    const { offered, refused } = this.#screen({ nodeId, name, capabilities })
    const isReadable = ({ schemaHash }: PeerCapability): boolean => !peer.unreadable.has(schemaHash)
    const record = {
      nodeId,
      displayName: name,
      communityId: manifest.communityId,
      source,
      endpoint: this.addressOf(peer),
      manifest: { nodeId, capabilities: peer.unreadable.size === 0 ? offered : offered.filter(isReadable) },
      refused: [...refused, ...offered.filter((offer) => !isReadable(offer)).map(unreadableContract)],
    }
    if (peer.isOnBus) this.#events.onPeerUpdated(record)
    else this.#events.onPeerAdded(record)
    peer.isOnBus = true
  }

  /** Makes the bus read the peer's offers again. */
  republish(nodeId: string): void {
    const peer = this.#peers.get(nodeId)
    if (peer?.isOnBus === true) this.publish(peer)
  }

  republishAll(): void {
    for (const nodeId of this.#peers.keys()) this.republish(nodeId)
  }

  addressOf({ nodeId, manifest, reached, hasNats }: KnownPeer): PeerAddress {
    const announced = manifest.endpoints.flatMap(({ transport, host, port }): PeerEndpoint[] =>
      transport === 'http' ? [{ transport, host, port }] : [],
    )
    const isReached = (endpoint: PeerEndpoint): boolean =>
      reached?.transport === 'http' &&
      endpoint.transport === 'http' &&
      endpoint.host === reached.host &&
      endpoint.port === reached.port
    const http = reached === undefined ? announced : [reached, ...announced.filter((endpoint) => !isReached(endpoint))]
    return {
      nodeId,
      endpoints: [...http.slice(0, MAX_ENDPOINTS), ...(hasNats ? [{ transport: 'nats' } as const] : [])],
    }
  }

  /** `host:port`, best known first. */
  placesOf(peer: KnownPeer): readonly string[] {
    return this.addressOf(peer).endpoints.flatMap((endpoint) =>
      endpoint.transport === 'http' ? [formatHostPort(endpoint.host, endpoint.port)] : [],
    )
  }

  /** The nodes and addresses to be stored for the next start. */
  toRemember(): readonly { readonly nodeId: string; readonly addresses: readonly string[]; readonly name: string }[] {
    return this.peers.map((peer) => ({
      nodeId: peer.nodeId,
      addresses: this.placesOf(peer),
      name: peer.manifest.displayName,
    }))
  }

  /** Counts a failed attempt. After three in a row the node is taken off the bus; returns `true` for the third. */
  fail(nodeId: string): boolean {
    const peer = this.#peers.get(nodeId)
    if (peer === undefined) return false
    peer.failures++
    if (peer.failures < MAX_FAILURES) return false
    this.remove(nodeId)
    return true
  }

  remove(nodeId: string): void {
    const peer = this.#peers.get(nodeId)
    if (peer === undefined) return
    this.#peers.delete(nodeId)
    if (this.#departed.size >= MAX_DEPARTED) this.#departed.clear()
    this.#departed.set(nodeId, this.addressOf(peer))
    if (peer.isOnBus) this.#events.onPeerRemoved(nodeId)
  }

  /** Removes nodes that were silent for too long or are no longer members, and returns their ids. */
  sweep(community: Community | undefined, nowMs: number): readonly string[] {
    const gone = this.peers
      .filter(
        ({ nodeId, lastReceivedMs }) =>
          nowMs - lastReceivedMs > PEER_PRUNE_AFTER_MS ||
          community === undefined ||
          findMemberStanding(community, nodeId).kind !== 'member',
      )
      .map(({ nodeId }) => nodeId)
    for (const nodeId of gone) this.remove(nodeId)
    return gone
  }

  #wrong(
    { nodeId, communityId }: NodeManifest,
    community: Community,
  ): 'foreign' | 'stranger' | 'revoked' | 'ourselves' | undefined {
    if (nodeId === this.#self) return 'ourselves'
    if (communityId !== community.id) return 'foreign'
    const standing = findMemberStanding(community, nodeId)
    return standing.kind === 'member' ? undefined : standing.kind
  }

  #newPeer(manifest: NodeManifest, about: { readonly monotonicMs: number; readonly source: string }): KnownPeer {
    const peer: KnownPeer = {
      nodeId: manifest.nodeId,
      name: manifest.nodeId,
      manifest,
      capabilities: [],
      capabilitiesHash: '',
      reached: undefined,
      hasNats: false,
      lastReceivedMs: about.monotonicMs,
      failures: 0,
      source: about.source,
      isOnBus: false,
      unreadable: NOTHING,
    }
    this.#peers.set(manifest.nodeId, peer)
    return peer
  }

  #learn(peer: KnownPeer, capabilities: readonly PeerCapability[], hash: string): void {
    if (peer.capabilitiesHash === hash) return
    peer.capabilities = capabilities.map((capability) => this.#withSchemas(capability))
    peer.capabilitiesHash = hash
    peer.unreadable = NOTHING
  }

  #withSchemas(capability: PeerCapability): PeerCapability {
    const schemas = capability.schemas ?? this.schemas.find(capability.schemaHash)
    return schemas === undefined || capability.schemas === schemas ? capability : { ...capability, schemas }
  }
}

function unreadableContract({ name }: PeerCapability): RefusedCapability {
  const message = `${name} is not taken: its contract is too large, or not the one that was announced.`
  return { name, fault: { kind: 'unsupported', code: 'schema_invalid', message } }
}

/**
 * Manifests are compared by number. A node that was restored from an older copy of its data counts from there, and
 * would be ignored until it has caught up; so a manifest that it sends itself, with a later date, is accepted.
 */
function isOld(manifest: NodeManifest, known: NodeManifest, isLive = false): boolean {
  if (manifest.sequence === known.sequence) return manifest.capabilities === undefined
  return manifest.sequence < known.sequence && !(isLive && manifest.issuedAtMs > known.issuedAtMs)
}

function names({ endpoints }: NodeManifest, endpoint: PeerEndpoint | undefined): boolean {
  return (
    endpoint?.transport === 'http' &&
    endpoints.some(({ host, port }) => host === endpoint.host && port === endpoint.port)
  )
}
