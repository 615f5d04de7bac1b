/** Peer sources: all sources from which this node hears of others, as its configuration has them. */
import type { MeshOptions } from '../mesh-options.ts'
import { createMdnsPeerSource } from './mdns-client.ts'
import type { PeerSource } from './peer-source.ts'
import { createStaticPeerSource } from './peer-source.ts'

export interface PeerSourceOptions {
  /** The registry in the broker, if a broker is configured. */
  readonly registry: PeerSource | undefined
  /** The port of this node's listener. */
  readonly port: () => number
}

export function createPeerSources(
  { config, identity, name, store, logger }: MeshOptions,
  { registry, port }: PeerSourceOptions,
): readonly PeerSource[] {
  const communityId = (): string | undefined => store.community()?.id
  return [
    ...(config.peers.length > 0 ? [createStaticPeerSource(config.peers)] : []),
    ...(registry === undefined ? [] : [registry]),
    ...(config.mdns ? [createMdnsPeerSource({ nodeId: identity.id, name, communityId, port, logger })] : []),
  ]
}
