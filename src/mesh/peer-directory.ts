/**
 * Peer directory: the other nodes as they were last heard, proven and of our community only.
 *
 *   hint ─▶ manifest heard ─▶ (capabilities fetched by their hash) ─▶ (schemas fetched by theirs) ─▶ on the bus
 *                │ 90 s of silence · goodbye · revoked · unreachable three times running
 *                ▼
 *              off the bus
 *
 * Freshness is judged by when something arrived here, never by another node's clock.
 *
 * Pure: time is an argument.
 */
import type { PeerCapability, PeerRecord, RefusedCapability } from '../bus/peer.ts'
import { formatPeerAddress } from './discovery/peer-source.ts'
import { findMemberStanding } from './identity/community.ts'
import type { Community } from './identity/community.ts'
import { isGoodbyeManifest, parseNodeManifest } from './identity/node-manifest.ts'
import type { ManifestFault, NodeManifest } from './identity/node-manifest.ts'
import { resolveMemberName } from './identity/node-name.ts'
import { SchemaCache } from './schema-cache.ts'
import type { PeerAddress, PeerEndpoint } from './transport.ts'

const PEER_PRUNE_AFTER_MS = 90_000
const MAX_FAILURES = 3
const MAX_ENDPOINTS = 8
const MAX_DEPARTED = 1_024
/**
 * Characters of one peer's contracts, four thousand for each of as many capabilities as it may have. Beyond it they
 * stay unknown: calls are then checked by the peer alone.
 */
const MAX_SCHEMAS_LENGTH = 8_388_608

export interface KnownPeer {
  readonly nodeId: string
  name: string
  manifest: NodeManifest
  /** Of the hash that `capabilitiesHash` names here, which may be older than the manifest's. */
  capabilities: readonly PeerCapability[]
  capabilitiesHash: string
  /** Where it answered us, best known first. */
  reached: PeerEndpoint | undefined
  hasNats: boolean
  heardMs: number
  failures: number
  readonly source: string
  isOnBus: boolean
  /** Hashes of contracts that it sent otherwise than announced, or too large to be read. */
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

/** What the bus hears. */
export interface PeerEventListener {
  readonly onPeerAdded: (record: PeerRecord) => unknown
  readonly onPeerUpdated: (record: PeerRecord) => unknown
  readonly onPeerRemoved: (nodeId: string) => void
}

/** What of a peer's offers the bus hears. */
export type PeerOfferFilter = (peer: Pick<KnownPeer, 'nodeId' | 'name' | 'capabilities'>) => {
  readonly offered: readonly PeerCapability[]
  readonly refused: readonly RefusedCapability[]
}

const NOTHING: ReadonlySet<string> = new Set()

const takeAll: PeerOfferFilter = ({ capabilities }) => ({ offered: capabilities, refused: [] })

export class PeerDirectory {
  readonly schemas = new SchemaCache()
  readonly #self: string
  readonly #events: PeerEventListener
  readonly #screen: PeerOfferFilter
  readonly #peers = new Map<string, KnownPeer>()
  /** Where those who are gone were last reached: they may come back. */
  readonly #departed = new Map<string, PeerAddress>()

  constructor(self: string, events: PeerEventListener, screen: PeerOfferFilter = takeAll) {
    this.#self = self
    this.#events = events
    this.#screen = screen
  }

  get peers(): readonly KnownPeer[] {
    return [...this.#peers.values()]
  }

  /** Gives an address once. */
  departed(nodeId: string): PeerAddress | undefined {
    const address = this.#departed.get(nodeId)
    this.#departed.delete(nodeId)
    return address
  }

  find(nodeId: string): KnownPeer | undefined {
    return this.#peers.get(nodeId)
  }

  /** Whatever brought it: a manifest proves itself. `reached` is where its author answered, if that is known. */
  hear(
    value: unknown,
    about: {
      readonly community: Community
      readonly nowMs: number
      readonly monotonicMs: number
      readonly source: string
      readonly reached?: PeerEndpoint | undefined
      /** It is the author's own answer of just now. */
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
    // It says no more that it is where it was reached: it has moved.
    if (names(peer.manifest, peer.reached) && !names(manifest, peer.reached)) peer.reached = undefined
    peer.manifest = manifest
    peer.name = resolveMemberName(about.community, nodeId, manifest.displayName)
    peer.heardMs = about.monotonicMs
    peer.failures = 0
    if (about.reached?.transport === 'nats') peer.hasNats = true
    else if (about.reached !== undefined) peer.reached = about.reached
    if (manifest.capabilities !== undefined) this.#learn(peer, manifest.capabilities, manifest.capabilitiesHash)
    return { kind: 'heard', peer, wantsCapabilities: peer.capabilitiesHash !== manifest.capabilitiesHash }
  }

  /** Capabilities that came apart from their manifest, already checked against their hash. */
  learn(nodeId: string, capabilities: readonly PeerCapability[], hash: string): void {
    const peer = this.#peers.get(nodeId)
    if (peer !== undefined) this.#learn(peer, capabilities, hash)
  }

  /** Contracts of this peer that nobody has told us yet; none when it has told us more than anybody needs. */
  missingSchemas({ capabilities, unreadable }: KnownPeer): readonly PeerCapability[] {
    if (this.schemas.lengthOf(capabilities) > MAX_SCHEMAS_LENGTH) return []
    return capabilities.filter(
      ({ schemas, schemaHash }) =>
        schemas === undefined && !unreadable.has(schemaHash) && !this.schemas.find(schemaHash),
    )
  }

  /** These contracts came, and cannot be read: what is offered under them is refused until the peer offers another. */
  refuseSchemas(peer: KnownPeer, hashes: readonly string[]): void {
    peer.unreadable = new Set([...peer.unreadable, ...hashes])
  }

  /** Tells the bus what is known of the peer now: new capabilities, schemas that have come, or just that it lives. */
  publish(peer: KnownPeer): void {
    if (this.#peers.get(peer.nodeId) !== peer) return
    // The same objects as before where nothing changed: the registry then sees at a glance that nothing has.
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

  /** The bus shall look at its offers again. */
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
      endpoint.transport === 'http' ? [formatPeerAddress(endpoint.host, endpoint.port)] : [],
    )
  }

  /** What the next start shall know of them. */
  toRemember(): readonly { readonly nodeId: string; readonly addresses: readonly string[]; readonly name: string }[] {
    return this.peers.map((peer) => ({
      nodeId: peer.nodeId,
      addresses: this.placesOf(peer),
      name: peer.manifest.displayName,
    }))
  }

  /** It did not answer. After three times running it is off the bus; `true` says that this was the third. */
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

  /** Removes who was silent for too long or belongs to us no more; gives their ids. */
  sweep(community: Community | undefined, nowMs: number): readonly string[] {
    const gone = this.peers
      .filter(
        ({ nodeId, heardMs }) =>
          nowMs - heardMs > PEER_PRUNE_AFTER_MS ||
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
      heardMs: about.monotonicMs,
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
 * By number. But a node that was put back to an older copy of its data counts from there, and would not be heard until
 * it has counted up again: what it answers itself, and dates later, is what it says now.
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
