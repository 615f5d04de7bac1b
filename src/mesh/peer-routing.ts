/**
 * Peer routing: how this node reaches others: which endpoint of a peer is tried first, and with which transport.
 *
 *   best endpoint ─offline: nothing was sent─▶ next endpoint ─▶ … ─▶ the answer, or why no endpoint was reached
 *
 * Pure: the transports do the I/O.
 */
import type { StreamFrameEmitter } from '../bus/peer.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createOwnSideDisconnectedFault } from './transport.ts'
import type {
  DeliveredAnswer,
  MessageDestination,
  MeshTransport,
  MeshMessage,
  PacketConnectionListener,
  PacketConnection,
  PeerAddress,
  PeerEndpoint,
} from './transport.ts'
import { EndpointOrder } from './endpoint-order.ts'

export type MeshTransports = { readonly [Kind in PeerEndpoint['transport']]?: MeshTransport<Kind> | undefined }

export interface PeerSendRequest {
  readonly message: MeshMessage
  readonly signal: AbortSignal
  /** Receives the frames, if the answer is a stream. */
  readonly emit: StreamFrameEmitter | undefined
}

export class PeerEndpointRouter {
  readonly #transports: MeshTransports
  readonly #order: EndpointOrder

  constructor(transports: MeshTransports, clock: Clock) {
    this.#transports = transports
    this.#order = new EndpointOrder(clock)
  }

  onPackets(events: PacketConnectionListener): void {
    this.#transports.http?.onPackets?.(events)
    this.#transports.nats?.onPackets?.(events)
  }

  /** The connection for packets to the best endpoint; a promise while it is being opened. */
  wire(peer: PeerAddress): PacketConnection | Promise<PacketConnection | undefined> | undefined {
    const { nodeId } = peer
    const { http, nats } = this.#transports
    const [endpoint] = this.#order.inOrder(peer)
    if (endpoint?.transport === 'http') return http?.wire?.({ nodeId, endpoint })
    return endpoint?.transport === 'nats' ? nats?.wire?.({ nodeId, endpoint }) : undefined
  }

  /** Tries each endpoint in turn as long as nothing was sent; `offline` means that nothing was sent to any of them. */
  async send(peer: PeerAddress, sending: PeerSendRequest): Promise<Result<DeliveredAnswer, Fault>> {
    const { nodeId } = peer
    let nobody = createOwnSideDisconnectedFault(nodeId, 'no route to it is known')
    for (const endpoint of this.#order.inOrder(peer)) {
      const delivered = await this.#through(endpoint, nodeId, sending)
      // This node has no transport for that endpoint.
      if (delivered === undefined) continue
      if (delivered.ok || delivered.fault.kind !== 'offline') return delivered
      // A missing connection of this node is only reported if no other endpoint gave a better reason.
      if (delivered.fault.ownSide !== true || nobody.ownSide === true) nobody = delivered.fault
      this.#order.markUnreachable(nodeId, endpoint)
    }
    return fail(nobody)
  }

  #through(
    endpoint: PeerEndpoint,
    nodeId: string,
    sending: PeerSendRequest,
  ): Promise<Result<DeliveredAnswer, Fault>> | undefined {
    const { http, nats } = this.#transports
    return endpoint.transport === 'http'
      ? http && carry(http, { nodeId, endpoint }, sending)
      : nats && carry(nats, { nodeId, endpoint }, sending)
  }
}

function carry<Kind extends PeerEndpoint['transport']>(
  transport: MeshTransport<Kind>,
  to: MessageDestination<Kind>,
  { message, signal, emit }: PeerSendRequest,
): Promise<Result<DeliveredAnswer, Fault>> {
  return emit === undefined ? transport.send(to, message, signal) : transport.stream(to, message, { signal, emit })
}
