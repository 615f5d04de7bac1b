/**
 * Mesh options: the options of a mesh, of its start, and the state that it reports.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { MeshConfig } from '../config/mesh.ts'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { ConsensusGossipHandler, WitnessService } from './control-handler.ts'
import type { PeerSource } from './discovery/peer-source.ts'
import type { MeshHttpViews } from './http/http-server.ts'
import type { MeshStore } from './identity/mesh-store.ts'
import type { NodeIdentity } from './identity/node-key.ts'
import type { InboundCallHandler } from './inbound-calls.ts'
import type { PacketCallServer } from './packets/packet-provider.ts'
import type { MeshTransport } from './transport.ts'

/** A transport that uses a server in the middle, which is also a source of peers. */
export interface BrokeredMeshTransport extends MeshTransport<'nats'> {
  readonly source: PeerSource
  readonly isConnected: boolean
  /** `undefined` while it is connected. */
  readonly downSinceMs: number | undefined
  /** It is connected, but its registry cannot be opened. */
  readonly isRegistryShut: boolean
  readonly close: () => Promise<void>
}

export interface MeshOptions {
  readonly config: MeshConfig
  readonly identity: NodeIdentity
  readonly root: NodeIdentity | undefined
  readonly name: string
  readonly store: MeshStore
  /** Absent: nodes only reach each other directly. */
  readonly broker?: (inbound: InboundCallHandler, packets: PacketCallServer) => BrokeredMeshTransport
  readonly clock: Clock
  readonly logger: Logger
}

export interface MeshStartOptions {
  readonly bus: CapabilityBus
  readonly ledgerOrigin: string | undefined
  readonly witness: WitnessService | undefined
  readonly gossip: ConsensusGossipHandler | undefined
  readonly metrics: MeshHttpViews['metrics']
}

export interface MeshStatus {
  readonly port: number
  readonly addresses: readonly string[]
  readonly community: string | undefined
  readonly peers: number
  readonly nats: boolean
}
