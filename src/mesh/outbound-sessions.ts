/**
 * Outbound sessions: the session keys that other nodes have given this one. The first call to a node requests one;
 * calls that come meanwhile wait for the same one.
 *
 * Pure: the handshake travels through `ask`, time comes from outside.
 */
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createMalformedMeshReplyFault } from './mesh-answer.ts'
import { createSessionProposal, completeSessionFromAnswer } from './sessions.ts'
import type { MeshSession, PacketProofMode } from './sessions.ts'
import { createOwnSideDisconnectedFault, createUnreachableFault } from './transport.ts'
import type { PeerAddress } from './transport.ts'

export interface OutboundSessionsDependencies {
  readonly self: string
  readonly clock: Clock
  readonly signatures: PacketProofMode | undefined
  /** Sends a signed handshake and returns its answer. */
  readonly request: (peer: PeerAddress, body: JsonObject, signal: AbortSignal) => Promise<Result<JsonObject, Fault>>
}

const HANDSHAKE_MS = 5_000

export class OutboundSessions {
  readonly #parts: OutboundSessionsDependencies
  readonly #byPeer = new Map<string, MeshSession | Promise<Result<MeshSession, Fault>>>()

  constructor(parts: OutboundSessionsDependencies) {
    this.#parts = parts
  }

  /** The session with a node, if there is one now. */
  live(nodeId: string): MeshSession | undefined {
    const known = this.#byPeer.get(nodeId)
    if (known === undefined || known instanceof Promise) return undefined
    return known.endsMs > this.#parts.clock.monotonic() ? known : undefined
  }

  async open(peer: PeerAddress): Promise<Result<MeshSession, Fault>> {
    const { nodeId } = peer
    const live = this.live(nodeId)
    if (live !== undefined) return ok(live)
    const known = this.#byPeer.get(nodeId)
    if (known instanceof Promise) return known
    const making = this.#make(peer)
    this.#byPeer.set(nodeId, making)
    const made = await making
    if (made.ok) this.#byPeer.set(nodeId, made.value)
    else if (this.#byPeer.get(nodeId) === making) this.#byPeer.delete(nodeId)
    return made
  }

  /** Drops the session with a node; if a session is given, only that one. */
  forget(nodeId: string, session?: MeshSession): void {
    if (session === undefined || this.#byPeer.get(nodeId) === session) this.#byPeer.delete(nodeId)
  }

  async #make(peer: PeerAddress): Promise<Result<MeshSession, Fault>> {
    const { self, clock, signatures, request } = this.#parts
    const offer = createSessionProposal(signatures)
    // The handshake ignores the signal of the call that started it, because other calls wait for it as well.
    const answer = await request(peer, offer.body, AbortSignal.timeout(HANDSHAKE_MS))
    if (!answer.ok) {
      // Nothing of the call itself was tried, whatever happened to the handshake.
      const { kind, message, ownSide } = answer.fault
      const isLost = kind === 'cancelled' || kind === 'timed-out' || kind === 'failed'
      if (!isLost) return fail({ ...answer.fault, begun: false })
      return fail(
        ownSide === true
          ? createOwnSideDisconnectedFault(peer.nodeId, message)
          : createUnreachableFault(peer.nodeId, message),
      )
    }
    const session = completeSessionFromAnswer(offer, answer.value, {
      self,
      peer: peer.nodeId,
      nowMs: clock.monotonic(),
    })
    return session === undefined
      ? fail({
          ...createMalformedMeshReplyFault(`${peer.nodeId} answered the handshake with something invalid.`),
          begun: false,
        })
      : ok(session)
  }
}
