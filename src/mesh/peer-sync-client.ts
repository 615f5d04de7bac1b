/**
 * Peer sync: keeps in touch with the other nodes. Probes addresses where a node may be, exchanges manifests, fetches
 * what is new, and notices which nodes have gone.
 *
 *   hint ─▶ probe ─▶ exchange ─▶ capabilities? ─▶ schemas? ─▶ on the bus ─▶ exchange every few seconds
 *             ▲ backs off                                        │ no answer three times running
 *             └──────────────────────────────────────────────────┘
 *
 * Does I/O: it has timers, and sends requests through `ask`.
 */
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { Result } from '../core/result.ts'
import { PeerCandidates } from './peer-candidates.ts'
import type { PeerCandidate, CandidateAddress } from './peer-candidates.ts'
import { PeerCapabilityFetcher } from './peer-capability-fetcher-client.ts'
import { formatHostPort, parseHostPort, STATIC_PEER_SOURCE_NAME } from './discovery/peer-source.ts'
import type { PeerDiscoveryHint } from './discovery/peer-source.ts'
import type { Community } from './identity/community.ts'
import { parseAnnouncedCapabilities } from './identity/node-manifest.ts'
import type { PeerManifestUpdateResult, KnownPeer, PeerDirectory } from './peer-directory.ts'
import type { FullAndSlimOwnManifest } from './own-manifest.ts'
import type { PeerAddress, PeerEndpoint } from './transport.ts'
import { RefusedManifestLog } from './refused-manifest-log.ts'
import { MembershipSync } from './membership-sync-client.ts'

type ControlRequestSender = (
  peer: PeerAddress,
  question: string,
  body: JsonObject,
  signal: AbortSignal,
) => Promise<Result<JsonObject, Fault>>

export interface PeerSyncDependencies {
  readonly self: string
  readonly directory: PeerDirectory
  readonly clock: Clock
  readonly logger: Logger
  readonly community: () => Community | undefined
  readonly own: () => FullAndSlimOwnManifest | undefined
  readonly request: ControlRequestSender
  /** Sends a signed request to a node that may not know us. */
  readonly requestFromUnknown: ControlRequestSender
  /** Finds the id of the node at an address. */
  readonly identify: (host: string, port: number) => Promise<string | undefined>
  /** Takes records whose signatures were verified; the store decides whether any is new. */
  readonly onCommunity: (community: Community) => Promise<void>
  readonly onGone: (nodeId: string) => void
}

const TICK_MS = 250
/**
 * A peer that was silent for this long is asked: longer than a heartbeat through a registry takes, and half a
 * manifest's life.
 */
const QUIET_MS = 12_000
/**
 * After an unanswered request the next ones follow quickly, to find out whether the peer is gone or one packet was
 * lost.
 */
const DOUBT_MS = 500
const REQUEST_MS = 5_000
const MAX_ANNOUNCED_PEERS = 64
type CapabilitiesHint = Extract<PeerDiscoveryHint, { kind: 'capabilities' }>

export class PeerSync {
  readonly #parts: PeerSyncDependencies
  readonly #candidates = new PeerCandidates()
  readonly #exchanging = new Set<string>()
  readonly #nextRequestMs = new Map<string, number>()
  readonly #fetcher: PeerCapabilityFetcher
  /** Capabilities of members that arrived before the manifest that names them, as a registry delivers them first. */
  readonly #offered = new Map<string, CapabilitiesHint>()
  readonly #refusals: RefusedManifestLog
  readonly #membership: MembershipSync
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: PeerSyncDependencies) {
    this.#parts = parts
    const request = (peer: PeerAddress, question: string, body: JsonObject) => this.#request(peer, question, body)
    this.#fetcher = new PeerCapabilityFetcher({ ...parts, request })
    this.#refusals = new RefusedManifestLog(parts.logger)
    this.#membership = new MembershipSync({
      ...parts,
      request,
      requestFromUnknown: (peer, question, body) => parts.requestFromUnknown(peer, question, body, this.#timeLimit()),
    })
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#stop.abort()
  }

  hint(hint: PeerDiscoveryHint, source: string): void {
    if (this.#stop.signal.aborted) return
    switch (hint.kind) {
      case 'address':
        this.#addCandidate({ ...hint, source })
        return
      case 'manifest':
        this.#receive(hint.manifest, source, { reached: hint.endpoint })
        return
      case 'capabilities':
        this.#learn(hint)
        return
      default:
        void this.#membership.receive(hint.document)
    }
  }

  /** Something of ours has changed: sends the manifest to all peers now instead of in a few seconds. */
  async announceToAll(): Promise<void> {
    await Promise.all(this.#parts.directory.peers.map((peer) => this.#exchange(peer)))
  }

  /** Gets the membership records of every peer that can be reached, before this node decides about membership. */
  async fetchCommunities(): Promise<void> {
    await Promise.all(this.#parts.directory.peers.map((peer) => this.#membership.fetch(peer)))
  }

  /** The membership has changed: nodes that did not answer, or were not members, are asked again now. */
  probeAgain(): void {
    this.#candidates.hurry()
  }

  /** A call could not reach this node, so it is probed. */
  doubt(nodeId: string): void {
    if (this.#parts.directory.find(nodeId) !== undefined) this.#nextRequestMs.set(nodeId, this.#parts.clock.monotonic())
  }

  /** Sends the goodbye manifest to every node that can be reached, and waits no longer than the given time. */
  async sendGoodbye(manifest: JsonObject, timeoutMs: number): Promise<void> {
    const { directory, request, community } = this.#parts
    const held = community()
    if (held === undefined) return
    const body = { manifest, community: { revision: held.revision, digest: held.digest } }
    const signal = AbortSignal.timeout(timeoutMs)
    await Promise.all(directory.peers.map((peer) => request(directory.addressOf(peer), 'mesh.exchange', body, signal)))
  }

  /** Takes the other side's part of an exchange; the result is ours. */
  answerExchange({ manifest, digest }: { readonly manifest: Json; readonly digest: string }, peer: string): JsonObject {
    if (isJsonObject(manifest)) this.#receive(manifest, 'exchange')
    const known = this.#parts.directory.find(peer)
    if (known !== undefined) this.#membership.compare(known, digest)
    return this.#exchangeBody()
  }

  #tick(): void {
    const { directory, clock } = this.#parts
    const nowMs = clock.monotonic()
    for (const nodeId of directory.sweep(this.#parts.community(), nowMs)) this.#gone(nodeId)
    for (const peer of directory.peers) {
      const dueMs = this.#nextRequestMs.get(peer.nodeId) ?? peer.lastReceivedMs + QUIET_MS
      if (nowMs >= dueMs) void this.#exchange(peer)
    }
    for (const candidate of this.#candidates.due(nowMs)) void this.#probe(candidate)
  }

  async #exchange(peer: KnownPeer): Promise<void> {
    const { nodeId } = peer
    if (this.#exchanging.has(nodeId)) {
      // An exchange is running and may carry an older state, so another one follows it.
      this.#nextRequestMs.set(nodeId, this.#parts.clock.monotonic())
      return
    }
    this.#exchanging.add(nodeId)
    this.#nextRequestMs.delete(nodeId)
    const answer = await this.#request(this.#parts.directory.addressOf(peer), 'mesh.exchange', this.#exchangeBody())
    this.#exchanging.delete(nodeId)
    if (this.#stop.signal.aborted) return
    if (answer.ok) {
      this.#took(answer.value, nodeId)
      if (this.#nextRequestMs.has(nodeId)) void this.#exchange(peer)
      return
    }
    this.#parts.logger.debug({ node: nodeId, fault: answer.fault.message }, 'a node did not answer')
    void this.#membership.remind(this.#parts.directory.addressOf(peer), answer.fault)
    if (this.#parts.directory.fail(nodeId)) this.#gone(nodeId)
    else this.#nextRequestMs.set(nodeId, this.#parts.clock.monotonic() + DOUBT_MS)
  }

  /** Takes the other side's answer in an exchange that we began. */
  #took(answer: JsonObject, nodeId: string, reached?: PeerEndpoint): void {
    const { manifest, community, peers } = answer
    const isLive = isJsonObject(manifest) && manifest['node_id'] === nodeId
    const update = isJsonObject(manifest) ? this.#receive(manifest, 'exchange', { reached, isLive }) : undefined
    const peer = this.#parts.directory.find(nodeId)
    // An answer proves that the node is alive, even if its manifest is the known one.
    if (update?.kind === 'old' && peer !== undefined) {
      peer.lastReceivedMs = this.#parts.clock.monotonic()
      peer.failures = 0
      this.#parts.directory.publish(peer)
    }
    const digest = isJsonObject(community) ? community['digest'] : undefined
    if (peer !== undefined && typeof digest === 'string') this.#membership.compare(peer, digest)
    if (Array.isArray(peers)) for (const each of peers.slice(0, MAX_ANNOUNCED_PEERS)) this.#learnAddresses(each)
  }

  #exchangeBody(): JsonObject {
    const { own, community, directory } = this.#parts
    const held = community()
    const peers = directory.peers
      .slice(0, MAX_ANNOUNCED_PEERS)
      .map((peer) => ({ node_id: peer.nodeId, addresses: [...directory.placesOf(peer)] }))
    return {
      manifest: own()?.slim ?? {},
      community: { revision: held?.revision ?? 1, digest: held?.digest ?? '' },
      peers,
    }
  }

  #receive(
    manifest: JsonObject,
    source: string,
    how: { readonly reached?: PeerEndpoint | undefined; readonly isLive?: boolean } = {},
  ): PeerManifestUpdateResult | undefined {
    const { directory, clock } = this.#parts
    const community = this.#parts.community()
    if (community === undefined) return undefined
    const update = directory.receive(manifest, {
      community,
      nowMs: clock.now(),
      monotonicMs: clock.monotonic(),
      source,
      ...how,
    })
    if (update.kind === 'refused' && update.why.kind !== 'ourselves')
      this.#refusals.log(manifest['node_id'], update.why, source)
    if (update.kind === 'left') this.#gone(update.nodeId)
    if (update.kind === 'heard') {
      // The node is on the bus, so it is no longer probed. `gone` keeps its address.
      this.#candidates.forget(update.peer.nodeId)
      this.#refusals.forget(update.peer.nodeId)
      const offered = this.#offered.get(update.peer.nodeId)
      this.#offered.delete(update.peer.nodeId)
      if (!update.wantsCapabilities) this.#complete(update.peer)
      else if (offered === undefined || !this.#learn(offered)) void this.#fetcher.fetch(update.peer.nodeId)
    }
    return update
  }

  /** Puts the peer on the bus with what is known, and fetches its missing contracts afterwards. */
  #complete(peer: KnownPeer): void {
    const { directory } = this.#parts
    if (directory.missingSchemas(peer).length > 0) void this.#fetcher.fetch(peer.nodeId)
    else directory.publish(peer)
  }

  /** Returns `false` for capabilities that the newest manifest of a known node does not name; the next manifest may. */
  #learn(hint: CapabilitiesHint): boolean {
    const { directory, community } = this.#parts
    const { nodeId, hash, capabilities } = hint
    const peer = directory.find(nodeId)
    if (peer?.manifest.capabilitiesHash !== hash) {
      if (community()?.members.has(nodeId) === true) this.#offered.set(nodeId, hint)
      return false
    }
    const read = parseAnnouncedCapabilities(capabilities, hash)
    if (read === undefined) return false
    directory.learn(nodeId, read, hash)
    this.#complete(peer)
    return true
  }

  #learnAddresses(entry: Json): void {
    if (!isJsonObject(entry) || typeof entry['node_id'] !== 'string' || !Array.isArray(entry['addresses'])) return
    const { node_id: nodeId, addresses } = entry
    if (nodeId === this.#parts.self || this.#parts.directory.find(nodeId) !== undefined) return
    if (this.#parts.community()?.members.has(nodeId) !== true) return
    for (const text of addresses.slice(0, 4)) {
      const address = typeof text === 'string' ? parseHostPort(text) : undefined
      if (address !== undefined) this.#addCandidate({ ...address, nodeId, source: 'hearsay' })
    }
  }

  #addCandidate(place: CandidateAddress): void {
    const { nodeId } = place
    if (nodeId !== undefined && (nodeId === this.#parts.self || this.#isKnownAt(nodeId, place))) return
    const candidate = this.#candidates.add(place)
    if (candidate !== undefined) void this.#probe(candidate)
  }

  /** A node that has moved is still on the bus for a while, with an address at which it is no longer. */
  #isKnownAt(nodeId: string, { host, port }: CandidateAddress): boolean {
    const peer = this.#parts.directory.find(nodeId)
    return peer !== undefined && this.#parts.directory.placesOf(peer).includes(formatHostPort(host, port))
  }

  async #probe(candidate: PeerCandidate): Promise<void> {
    const { host, port } = candidate
    candidate.isBusy = true
    const nodeId = candidate.nodeId ?? (await this.#parts.identify(host, port))
    candidate.nodeId = nodeId
    const endpoint: PeerEndpoint = { transport: 'http', host, port }
    const isMember = nodeId !== undefined && this.#parts.community()?.members.has(nodeId) === true
    if (nodeId === this.#parts.self) this.#candidates.drop(candidate)
    const answer =
      isMember && nodeId !== this.#parts.self
        ? await this.#request({ nodeId, endpoints: [endpoint] }, 'mesh.exchange', this.#exchangeBody())
        : undefined
    candidate.isBusy = false
    if (this.#stop.signal.aborted) return
    if (answer?.ok === false && nodeId !== undefined)
      await this.#membership.remind({ nodeId, endpoints: [endpoint] }, answer.fault)
    if (answer?.ok === true && nodeId !== undefined) this.#took(answer.value, nodeId, endpoint)
    // At an address that the owner configured, or that the network has reassigned, another node may live by now.
    else if (candidate.source === STATIC_PEER_SOURCE_NAME) candidate.nodeId = undefined
    this.#candidates.probeLater(candidate, this.#parts.clock.monotonic())
  }

  #gone(nodeId: string): void {
    const { directory, onGone, logger } = this.#parts
    this.#nextRequestMs.delete(nodeId)
    logger.info({ node: nodeId }, 'a node is gone')
    onGone(nodeId)
    for (const endpoint of directory.departed(nodeId)?.endpoints ?? [])
      if (endpoint.transport === 'http') this.#addCandidate({ ...endpoint, nodeId, source: 'remembered' })
  }

  #request(peer: PeerAddress, question: string, body: JsonObject): Promise<Result<JsonObject, Fault>> {
    return this.#parts.request(peer, question, body, this.#timeLimit())
  }

  #timeLimit(): AbortSignal {
    return AbortSignal.any([this.#stop.signal, AbortSignal.timeout(REQUEST_MS)])
  }
}
