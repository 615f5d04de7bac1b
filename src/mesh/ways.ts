/**
 * Ways: how this node gets to others. Which way to a peer is tried first, and which transport carries it.
 *
 *   best way ─offline: nothing was sent─▶ next way ─▶ … ─▶ what came back, or why nobody was reached
 *
 * Pure: the transports do the I/O.
 */
import type { Emit } from '../bus/peer.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { disconnected } from './transport.ts'
import type {
  Delivered,
  Destination,
  MeshTransport,
  Message,
  PacketEvents,
  PacketWire,
  PeerAddress,
  Way,
} from './transport.ts'
import { WayOrder } from './way-order.ts'

export type MeshTransports = { readonly [Kind in Way['transport']]?: MeshTransport<Kind> | undefined }

export interface Sending {
  readonly message: Message
  readonly signal: AbortSignal
  /** Who takes the frames, where the answer is a stream. */
  readonly emit: Emit | undefined
}

export class Ways {
  readonly #transports: MeshTransports
  readonly #order: WayOrder

  constructor(transports: MeshTransports, clock: Clock) {
    this.#transports = transports
    this.#order = new WayOrder(clock)
  }

  onPackets(events: PacketEvents): void {
    this.#transports.http?.onPackets?.(events)
    this.#transports.nats?.onPackets?.(events)
  }

  /** What carries packets along the best way; a promise while it is being made. */
  wire(peer: PeerAddress): PacketWire | Promise<PacketWire | undefined> | undefined {
    const { nodeId } = peer
    const { http, nats } = this.#transports
    const [way] = this.#order.inOrder(peer)
    if (way?.transport === 'http') return http?.wire?.({ nodeId, way })
    return way?.transport === 'nats' ? nats?.wire?.({ nodeId, way }) : undefined
  }

  /** Along each way in turn, as long as nothing was sent: `offline` says that of all of them. */
  async send(peer: PeerAddress, sending: Sending): Promise<Result<Delivered, Fault>> {
    const { nodeId } = peer
    let nobody = disconnected(nodeId, 'no way to it is known')
    for (const way of this.#order.inOrder(peer)) {
      const delivered = await this.#along(way, nodeId, sending)
      // A way that its peer has and this node has no transport for.
      if (delivered === undefined) continue
      if (delivered.ok || delivered.fault.kind !== 'offline') return delivered
      // That this node lacks one connection explains nothing, if the other node was not found along another.
      if (delivered.fault.ownSide !== true || nobody.ownSide === true) nobody = delivered.fault
      this.#order.ledNowhere(nodeId, way)
    }
    return fail(nobody)
  }

  #along(way: Way, nodeId: string, sending: Sending): Promise<Result<Delivered, Fault>> | undefined {
    const { http, nats } = this.#transports
    return way.transport === 'http'
      ? http && carry(http, { nodeId, way }, sending)
      : nats && carry(nats, { nodeId, way }, sending)
  }
}

function carry<Kind extends Way['transport']>(
  transport: MeshTransport<Kind>,
  to: Destination<Kind>,
  { message, signal, emit }: Sending,
): Promise<Result<Delivered, Fault>> {
  return emit === undefined ? transport.send(to, message, signal) : transport.stream(to, message, { signal, emit })
}
