/**
 * Peer components: what this node shows to its peers and knows of them, once there is a bus.
 *
 *   own manifest ─▶ peer sync ◀─▶ peers        peer sync ─▶ peer directory ─▶ offer screener ─▶ bus
 *                       ▲
 *   control requests ───┘
 *
 * Only joins.
 */
import { createControlHandler } from './control-handler.ts'
import { requestNodeId } from './http/identify-client.ts'
import type { TlsIdentity } from './identity/self-signed-certificate.ts'
import type { CommunitySigningIdentities, Community } from './identity/community.ts'
import type { MeshStartOptions, MeshOptions } from './mesh-options.ts'
import type { OutboundCallClient } from './outbound-calls.ts'
import { OwnManifestIssuer } from './own-manifest.ts'
import { PeerDirectory } from './peer-directory.ts'
import { PeerOfferScreener } from './peer-offer-screener.ts'
import { PeerSync } from './peer-sync-client.ts'
import type { IssuedSessions } from './sessions.ts'

export interface PeerManagementComponents {
  readonly self: OwnManifestIssuer
  readonly offers: PeerOfferScreener
  readonly directory: PeerDirectory
  readonly peerSync: PeerSync
  /** Answers the control requests of peers. */
  readonly control: ReturnType<typeof createControlHandler>
}

interface MeshPeerServiceDependencies {
  readonly start: MeshStartOptions
  readonly sessions: IssuedSessions
  readonly outbound: OutboundCallClient
  readonly tls: TlsIdentity
  readonly authority: CommunitySigningIdentities
  readonly onCommunity: (community: Community) => Promise<void>
}

export async function createPeerManagementComponents(
  { config, identity, name, store, clock, logger }: MeshOptions,
  { start, sessions, outbound, tls, authority, onCommunity }: MeshPeerServiceDependencies,
): Promise<PeerManagementComponents> {
  const { bus } = start
  const communityId = (): string | undefined => store.community()?.id
  const self = new OwnManifestIssuer({
    identity,
    name,
    ledgerOrigin: start.ledgerOrigin,
    communityId,
    bus,
    clock,
    firstSequence: await store.reserveSequence(),
  })
  let directory: PeerDirectory | undefined
  const offers = new PeerOfferScreener({
    bus,
    store: store.offers,
    maxOffers: config.offersPerNode,
    monotonic: () => clock.monotonic(),
    logger,
    publish: (nodeId) => directory?.republish(nodeId),
  })
  offers.touch()
  directory = new PeerDirectory(identity.id, bus, (peer) => offers.screen(peer))
  for (const capability of self.capabilities())
    if (capability.schemas !== undefined) directory.schemas.store(capability, capability.schemas)
  const peerSync = new PeerSync({
    self: identity.id,
    directory,
    clock,
    logger,
    community: () => store.community(),
    own: () => self.manifest(),
    request: (...question) => outbound.request(...question),
    // Signed, since a node that does not know us gives us no session key.
    requestFromUnknown: (peer, name, body, signal) =>
      outbound.requestToJoin(peer, body, { name, communityId: communityId() ?? '', signal }),
    identify: (host, port) => requestNodeId({ host, port, tls }),
    onCommunity,
    onGone: (nodeId) => {
      outbound.forget(nodeId)
      offers.forget(nodeId)
    },
  })
  const control = createControlHandler({
    self: identity.id,
    sessions,
    community: () => store.community(),
    own: () => self.manifest(),
    schemas: (hashes) => self.schemas(hashes),
    exchange: (peer, message) => peerSync.answerExchange(message, peer),
    join: async (request) => {
      // Other nodes may know of a use of an invitation that an older copy of this node's data lacks.
      await peerSync.fetchCommunities()
      return store.admitJoiner(request, { authority, nowMs: clock.now() })
    },
    merge: onCommunity,
    witness: start.witness,
    gossip: start.gossip,
  })
  return { self, offers, directory, peerSync, control }
}
