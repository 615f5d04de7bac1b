/**
 * Mesh: other nodes as providers. It connects identity, discovery and the transports with one bus.
 *
 *   outbound ◀─ bus ─▶ inbound ◀─ gate ◀─ HTTP, NATS        peer sync ─▶ peer directory ─▶ bus.onPeer…
 *
 * It is created before the bus, whose constructor needs the client for other nodes, and started after it.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { ServiceHealth } from '../bus/capability.ts'
import type { RemoteProviderClient } from '../bus/peer.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import type { createControlHandler } from './control-handler.ts'
import { listOwnAddresses } from './discovery/own-addresses.ts'
import { createStaticPeerSource, formatHostPort, parseHostPort } from './discovery/peer-source.ts'
import type { PeerSource } from './discovery/peer-source.ts'
import { createMdnsPeerSource } from './discovery/mdns-client.ts'
import { computeMeshHealth } from './health.ts'
import { MeshHttpClient } from './http/http-client.ts'
import { startMeshHttpServer } from './http/http-server.ts'
import type { MeshHttpServer } from './http/http-server.ts'
import { createTlsIdentityFromNodeKey } from './identity/self-signed-certificate.ts'
import type { TlsIdentity } from './identity/self-signed-certificate.ts'
import type { CommunitySigningIdentities, Community } from './identity/community.ts'
import { listOtherMemberNames } from './identity/node-name.ts'
import type { InboundCallHandler } from './inbound-calls.ts'
import type { BrokeredMeshTransport, MeshOptions, MeshStartOptions, MeshStatus } from './mesh-options.ts'
import { OutboundCallClient } from './outbound-calls.ts'
import type { PacketCallServer } from './packets/packet-provider.ts'
import type { KnownPeer } from './peer-directory.ts'
import { createInboundMeshComponents } from './inbound-components.ts'
import { startPeriodicJob } from '../toolbox/periodic-job.ts'
import { runOrUndefined } from '../toolbox/time-limit.ts'
import type { IssuedSessions } from './sessions.ts'
import type { PeerManagementComponents } from './peer-components.ts'
import { createPeerManagementComponents } from './peer-components.ts'

/** New capabilities come in groups; after this pause they are announced in one manifest. */
const SETTLE_MS = 20
/** How soon a running node notices members that a command beside it admitted or revoked. */
const WATCH_MS = 500
/** How often the node's own addresses are checked, because a router assigns new ones now and then. */
const ADDRESSES_MS = 5_000
/** Well within the ten seconds after which a manifest is renewed (own-manifest.ts). */
const RENEW_CHECK_MS = 2_500
/** How often the addresses of others are stored for the next start; a minute of them may be lost. */
const REMEMBER_MS = 60_000
/** The goodbye may delay the stop by this much only, because other nodes also notice a silent one. */
const GOODBYE_MS = 500

export class Mesh {
  readonly #options: MeshOptions
  readonly #outbound: OutboundCallClient
  readonly #inbound: InboundCallHandler
  readonly #packets: PacketCallServer
  readonly #sessions: IssuedSessions
  readonly #http: MeshHttpClient
  readonly #nats: BrokeredMeshTransport | undefined
  readonly #tls: TlsIdentity
  /**
   * The handler of inbound messages is created before there is a bus; until the start it answers no control request.
   */
  readonly #control = { answer: ((): undefined => undefined) as ReturnType<typeof createControlHandler> }
  #bus: CapabilityBus | undefined
  #peerServices: PeerManagementComponents | undefined
  #offersRevision = 0
  #server: MeshHttpServer | undefined
  #sources: readonly PeerSource[] = []
  readonly #stopJobs: (() => void)[] = []
  #settling: NodeJS.Timeout | undefined
  #knownDigest: string | undefined
  #addresses: readonly string[] = []

  constructor(options: MeshOptions) {
    const { config, identity, clock, store } = options
    this.#options = options
    this.#tls = createTlsIdentityFromNodeKey(identity)
    this.#http = new MeshHttpClient({ tls: this.#tls, maxAnswerBytes: config.maxBodyBytes })
    const { sessions, inbound, packets } = createInboundMeshComponents(options, {
      bus: () => this.#bus,
      control: (question, body, sender) => this.#control.answer(question, body, sender),
    })
    this.#sessions = sessions
    this.#inbound = inbound
    this.#packets = packets
    this.#nats = options.broker?.(this.#inbound, this.#packets)
    this.#outbound = new OutboundCallClient({
      identity,
      communityId: () => store.community()?.id,
      transports: { http: this.#http, nats: this.#nats },
      clock,
      signatures: config.signatures,
      onUnreachable: (nodeId) => this.#peerServices?.peerSync.doubt(nodeId),
    })
  }

  /** The client for other nodes, which the bus uses. */
  get remote(): RemoteProviderClient {
    return this.#outbound
  }

  get community(): Community | undefined {
    return this.#options.store.community()
  }

  async start(start: MeshStartOptions): Promise<void> {
    const { config, identity, name, store, logger } = this.#options
    const { bus } = start
    const communityId = (): string | undefined => store.community()?.id
    this.#bus = bus
    const services = await createPeerManagementComponents(this.#options, {
      start,
      sessions: this.#sessions,
      outbound: this.#outbound,
      tls: this.#tls,
      authority: this.#authority,
      onCommunity: (community) => this.#receiveCommunity(community),
    })
    const { peerSync } = services
    this.#peerServices = services
    this.#control.answer = services.control
    // The manifest contains the port, so the listener is opened before the manifest is sent.
    await this.#listen(start)
    const port = (): number => this.#server?.port ?? 0
    this.#sources = [
      ...(config.peers.length > 0 ? [createStaticPeerSource(config.peers)] : []),
      ...(this.#nats === undefined ? [] : [this.#nats.source]),
      ...(config.mdns ? [createMdnsPeerSource({ nodeId: identity.id, name, communityId, port, logger })] : []),
    ]
    for (const source of this.#sources) await source.start((hint) => peerSync.hint(hint, source.name))
    this.#recall()
    peerSync.start()
    this.#knownDigest = store.community()?.digest
    this.#publish()
    this.#stopJobs.push(
      startPeriodicJob(WATCH_MS, () => this.#watchCommunity(), logger),
      startPeriodicJob(ADDRESSES_MS, () => this.#watchAddresses(), logger),
      startPeriodicJob(RENEW_CHECK_MS, () => this.#publish(), logger),
      startPeriodicJob(REMEMBER_MS, () => this.#remember(), logger),
    )
    void this.#watchRegistry(bus)
    logger.info({ ...this.state() }, 'the mesh listens')
  }

  state(): MeshStatus {
    return {
      port: this.#server?.port ?? 0,
      addresses: this.#addresses,
      community: this.community?.id,
      peers: this.#peerServices?.directory.peers.length ?? 0,
      nats: this.#nats?.isConnected ?? false,
    }
  }

  health(): ServiceHealth {
    const { identity, config } = this.#options
    const broker = this.#nats
    const nats = broker && {
      servers: config.nats.servers,
      downSinceMs: broker.downSinceMs,
      isShut: broker.isRegistryShut,
    }
    const reached = new Set(this.peers.filter(({ isOnBus }) => isOnBus).map(({ nodeId }) => nodeId))
    const omitted = this.#peerServices?.self.omitted() ?? 0
    const views = this.#bus?.peerViews() ?? []
    const refused = views.flatMap(({ displayName, nodeId, refused: count, refusedOffers: [first] }) =>
      first === undefined ? [] : [{ node: displayName ?? nodeId, count, why: first.reason }],
    )
    return computeMeshHealth({ self: identity.id, community: this.community, reached, nats, omitted, refused })
  }

  get peers(): readonly KnownPeer[] {
    return this.#peerServices?.directory.peers ?? []
  }

  /** Sends a request to one peer, outside of the bus; used to have checkpoints cosigned. */
  request(nodeId: string, question: string, body: JsonObject, timeoutMs: number): Promise<Result<JsonObject, Fault>> {
    const peer = this.#peerServices?.directory.find(nodeId)
    const address = peer && this.#peerServices?.directory.addressOf(peer)
    return this.#outbound.request(address ?? { nodeId, endpoints: [] }, question, body, AbortSignal.timeout(timeoutMs))
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopJobs) stop()
    clearTimeout(this.#settling)
    // The node refuses messages before it says goodbye: others still send meanwhile, and have to be told that nothing
    // was tried.
    this.#inbound.stop()
    const goodbye = this.#peerServices?.self.goodbye()
    await runOrUndefined(
      GOODBYE_MS,
      async () => goodbye && this.#peerServices?.peerSync.sendGoodbye(goodbye.slim, GOODBYE_MS),
    )
    this.#remember()
    this.#peerServices?.peerSync.stop()
    for (const source of this.#sources) await source.stop(goodbye)
    await this.#server?.stop()
    this.#http.close()
    await this.#nats?.close()
    this.#options.store.close()
  }

  get #authority(): CommunitySigningIdentities {
    return { self: this.#options.identity, root: this.#options.root }
  }

  async #listen(start: MeshStartOptions): Promise<void> {
    const { config, store } = this.#options
    const { bus } = start
    const isMember = (nodeId: string): boolean => store.community()?.members.has(nodeId) === true
    this.#server = await startMeshHttpServer({
      host: config.host,
      port: config.port,
      tls: this.#tls,
      maxBodyBytes: config.maxBodyBytes,
      inbound: this.#inbound,
      packets: this.#packets,
      views: {
        isMember,
        manifest: () => this.#peerServices?.self.manifest()?.full,
        community: () => store.community()?.document,
        // X01: ready means at least one capability and at least one peer.
        ready: () => {
          const [capabilities, peers] = [bus.registry.allLocal().length, this.peers.length]
          return { ready: capabilities > 0 && peers > 0, capabilities, peers }
        },
        metrics: start.metrics,
      },
    })
    await this.#findAddresses()
  }

  /** A router may assign another address to a running node, or the first one only after its start. */
  #watchAddresses(): void {
    const found = this.#findAddresses()
    if (found === undefined) return
    this.#logIfNotStored(found)
    this.#options.logger.info({ addresses: this.#addresses }, 'the addresses of this node have changed')
    for (const source of this.#sources) source.moved?.()
    this.#publish()
    this.#peerServices?.peerSync.probeAgain()
    void this.#peerServices?.peerSync.announceToAll()
  }

  /** Resolves when new addresses are stored; `undefined` if they are unchanged. */
  #findAddresses(): Promise<void> | undefined {
    const { config, store } = this.#options
    const found = listOwnAddresses({ host: config.host, port: this.#server?.port ?? 0, advertise: config.advertise })
    const addresses = found.map(({ host, port }) => formatHostPort(host, port))
    if (addresses.toSorted().join() === this.#addresses.toSorted().join()) return undefined
    this.#addresses = addresses
    this.#peerServices?.self.setEndpoints(found.map((address) => ({ transport: 'http', ...address })))
    return store.setAddresses(addresses)
  }

  #publish(): void {
    const [own, community] = [this.#peerServices?.self.manifest(), this.community?.document]
    if (own !== undefined && community !== undefined) for (const source of this.#sources) source.publish(own, community)
  }

  /** A command beside the gateway, or another node, may have changed the membership. */
  #watchCommunity(): void {
    const { offers } = this.#options.store
    this.#options.store.refresh()
    // Offers that a person accepted with a command are put on the bus once the acceptance is in the log.
    if (offers.revision !== this.#offersRevision) this.#peerServices?.directory.republishAll()
    this.#offersRevision = offers.revision
    const community = this.community
    if (community?.digest === this.#knownDigest) return
    this.#knownDigest = community?.digest
    for (const nodeId of community?.revoked.keys() ?? []) {
      this.#sessions.forget(nodeId)
      this.#outbound.forget(nodeId)
    }
    this.#peerServices?.self.touch()
    this.#publish()
    // Recalls the addresses again: a node that joined while this one runs has stored its inviter's, and an unknown node
    // may be a member now.
    this.#recall()
    this.#peerServices?.peerSync.probeAgain()
    void this.#peerServices?.peerSync.announceToAll()
  }

  async #receiveCommunity(community: Community): Promise<void> {
    const { store, clock, logger } = this.#options
    const merged = await store.merge(community, { authority: this.#authority, nowMs: clock.now() })
    if (merged.ok) this.#watchCommunity()
    else if (merged.fault.kind !== 'not-newer')
      logger.warn({ fault: merged.fault }, 'records about members were refused')
  }

  /** Ends with the bus. The manifest contains only this node's own offers. */
  async #watchRegistry(bus: CapabilityBus): Promise<void> {
    for await (const event of bus.subscribe()) {
      if (event.kind !== 'resync' && !event.entry.isLocal) continue
      this.#peerServices?.self.touch()
      this.#settling ??= setTimeout(() => {
        this.#settling = undefined
        this.#peerServices?.offers.touch()
        this.#peerServices?.directory.republishAll()
        this.#publish()
        void this.#peerServices?.peerSync.announceToAll()
      }, SETTLE_MS)
    }
  }

  /**
   * Reads where other nodes were last reached, by this node or by the command that admitted them, and their names, so
   * that a member that is away is not reported as unknown.
   */
  #recall(): void {
    const { store, identity } = this.#options
    const { community } = this
    const remembered = store.peers.list()
    if (community !== undefined) this.#bus?.expectPeers(listOtherMemberNames(community, identity.id, remembered))
    for (const { nodeId, addresses } of remembered)
      for (const text of addresses) {
        const address = parseHostPort(text)
        if (address !== undefined)
          this.#peerServices?.peerSync.hint({ kind: 'address', ...address, nodeId }, 'remembered')
      }
  }

  #remember(): void {
    const { store, clock } = this.#options
    const directory = this.#peerServices?.directory
    if (directory !== undefined) this.#logIfNotStored(store.peers.save(directory.toRemember(), clock.now()))
  }

  #logIfNotStored(stored: Promise<void>): void {
    stored.catch((error: unknown) => this.#options.logger.warn({ err: error }, 'addresses could not be remembered'))
  }
}
