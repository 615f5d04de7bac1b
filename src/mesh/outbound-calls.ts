/**
 * Outbound calls: this node as a caller. What only reads goes in packets, where it can; everything else in messages of
 * its own, sealed one by one.
 *
 *   packet    session key ▸ connection ▸ small enough? ▸ sent with other calls to that node ─▶ outcome
 *                │ no connection, too large, or not accepted: nothing was tried
 *                ▼
 *   message   session key ▸ seal ▸ endpoint after endpoint, while nothing was sent ▸ proven? ─▶ outcome
 *                ▲                  │ the peer has forgotten the key (it restarted): nothing was tried
 *                └──────────────────┘ once
 */
import { createTimeoutOrCancelFault } from '../bus/provider-attempt.ts'
import type { Call, Outcome } from '../bus/call.ts'
import type { CapabilityEntry } from '../bus/capability-entry.ts'
import type { StreamFrameEmitter, RemoteProviderClient } from '../bus/peer.ts'
import { computeSchemaHash } from '../bus/schema-hash.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject, isNestedWithinDepth } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatActorName } from './actor-name.ts'
import { createMalformedMeshReplyFault } from './mesh-answer.ts'
import { OutboundSessions } from './outbound-sessions.ts'
import { createControlRequestDraft } from './request-draft.ts'
import type { RequestDraft } from './request-draft.ts'
import { StreamFramesHash, MAX_SESSION_NAME_LENGTH } from './mesh-envelope.ts'
import { MAX_MESH_BODY_DEPTH } from './message-body.ts'
import { SESSION_REQUEST_NAME } from './message-gate.ts'
import type { NodeIdentity } from './identity/node-key.ts'
import { encodeBodyWithInteraction } from './interaction-wire.ts'
import { EventLoopYieldQueue } from './event-loop-yield-queue.ts'
import { MAX_PACKET_CALL_BYTES } from './packets/packet.ts'
import { encodePacketCall, countPacketCallBytes } from './packets/packet-call.ts'
import { PacketCaller } from './packets/packet-caller.ts'
import { readMeshRefusalReason } from './mesh-refusal.ts'
import { verifyAndDecodeAnswer, signRequestDraft } from './request-signing.ts'
import type { MeshSession, PacketProofMode } from './sessions.ts'
import { createTraceparentWithNewSpan } from '../toolbox/traceparent.ts'
import { sanitizeStreamFrame, sanitizeOutcome } from './outcome-sanitizer.ts'
import { readAbortCause, createOwnSideDisconnectedFault } from './transport.ts'
import type { PacketConnection, PeerAddress } from './transport.ts'
import { PeerEndpointRouter } from './peer-routing.ts'
import type { MeshTransports } from './peer-routing.ts'

export interface OutboundCallDependencies {
  readonly identity: NodeIdentity
  readonly communityId: () => string | undefined
  readonly transports: MeshTransports
  readonly clock: Clock
  /** The mode that this node requests when it makes a session. */
  readonly signatures?: PacketProofMode
  /** Told when a peer could not be reached at all. */
  readonly onUnreachable?: (nodeId: string) => void
}

export class OutboundCallClient implements RemoteProviderClient {
  readonly #parts: OutboundCallDependencies
  readonly #sessions: OutboundSessions
  readonly #packets: PacketCaller
  readonly #routing: PeerEndpointRouter
  readonly #turns = new EventLoopYieldQueue()
  readonly #sanitize = (outcome: Outcome): Outcome | Promise<Outcome> => sanitizeOutcome(outcome, this.#turns)

  constructor(parts: OutboundCallDependencies) {
    const { identity, clock, signatures, transports } = parts
    this.#parts = parts
    this.#sessions = new OutboundSessions({
      self: identity.id,
      clock,
      signatures,
      request: (peer, body, signal) => this.#requestSession(peer, body, signal),
    })
    this.#packets = new PacketCaller(clock)
    this.#routing = new PeerEndpointRouter(transports, clock)
    this.#routing.onPackets(this.#packets)
  }

  call(entry: CapabilityEntry, call: Call): Promise<Outcome> {
    return (isPackable(entry, call) ? this.#inPacket(entry, call) : this.#inMessage(entry, call)).then(this.#sanitize)
  }

  stream(entry: CapabilityEntry, call: Call, emit: StreamFrameEmitter): Promise<Outcome> {
    const emitSanitized: StreamFrameEmitter = (frame) => {
      const sanitized = sanitizeStreamFrame(frame, this.#turns)
      return sanitized instanceof Promise ? sanitized.then(emit) : emit(sanitized)
    }
    return this.#inMessage(entry, call, emitSanitized).then(this.#sanitize)
  }

  /** Sends a request between nodes, outside of the bus and the ledger: for manifests, schemas, checkpoints. */
  async request(peer: PeerAddress, name: string, body: Json, signal: AbortSignal): Promise<Result<JsonObject, Fault>> {
    return dataOf(await this.#deliver(peer, createControlRequestDraft(name, body), { signal }))
  }

  /** Sends a join request, before this node has a community. */
  requestToJoin(
    peer: PeerAddress,
    body: JsonObject,
    options: { name: string; communityId: string; signal: AbortSignal },
  ): Promise<Result<JsonObject, Fault>> {
    return this.#requestSigned(peer, createControlRequestDraft(options.name, body), options)
  }

  forget(nodeId: string): void {
    this.#sessions.forget(nodeId)
  }

  async #requestSession(peer: PeerAddress, body: JsonObject, signal: AbortSignal): Promise<Result<JsonObject, Fault>> {
    const communityId = this.#parts.communityId()
    if (communityId === undefined) return fail(homeless(peer.nodeId))
    return this.#requestSigned(peer, createControlRequestDraft(SESSION_REQUEST_NAME, body), { signal, communityId })
  }

  /** Sends a request before there is a session key, proven by its signature alone. */
  async #requestSigned(
    peer: PeerAddress,
    unsigned: RequestDraft,
    { signal, communityId }: { readonly signal: AbortSignal; readonly communityId: string },
  ): Promise<Result<JsonObject, Fault>> {
    const draft = { ...unsigned, isSigned: true }
    return dataOf(await this.#attempt(peer, draft, { signal, communityId, session: undefined }))
  }

  #inPacket(entry: CapabilityEntry, call: Call): Promise<Outcome> {
    const peer = peerOf(entry)
    const session = this.#sessions.live(peer.nodeId)
    if (session === undefined) return this.#inFirstPacket(entry, call)
    // Usually the connection is open as well and nothing has to be awaited, so no promise is made.
    const wire = session.takesPackets ? this.#routing.wire(peer) : undefined
    if (wire instanceof Promise) return wire.then((open) => this.#alongWire(open, session, { entry, call }))
    return this.#alongWire(wire, session, { entry, call })
  }

  async #inFirstPacket(entry: CapabilityEntry, call: Call): Promise<Outcome> {
    const peer = peerOf(entry)
    const session = await this.#sessions.open(peer)
    if (!session.ok) return session
    const wire = session.value.takesPackets ? await this.#routing.wire(peer) : undefined
    return this.#alongWire(wire, session.value, { entry, call })
  }

  /** Sends the call in a packet with other calls of this moment, if there is a connection and the call is small. */
  #alongWire(
    wire: PacketConnection | undefined,
    session: MeshSession,
    { entry, call }: { readonly entry: CapabilityEntry; readonly call: Call },
  ): Promise<Outcome> {
    if (wire === undefined) return this.#inMessage(entry, call)
    const { offer } = entry
    // Rounded up, so that the far end does not give up before this node does.
    const deadlineMs = Math.max(0, Math.ceil(call.deadlineMs - this.#parts.clock.monotonic()))
    const actor = session.takesActors ? formatActorName(call.caller) : undefined
    const text = encodePacketCall(offer, hashOf(entry), { call, deadlineMs, actor })
    if (countPacketCallBytes(text) > MAX_PACKET_CALL_BYTES) return this.#inMessage(entry, call)
    return this.#packets.call(wire, session, {
      text,
      idempotent: offer.idempotent,
      call,
      otherwise: (why) => {
        if (why === 'stale') this.#sessions.forget(session.peer, session)
        return this.#inMessage(entry, call)
      },
    })
  }

  async #inMessage(entry: CapabilityEntry, call: Call, emit?: StreamFrameEmitter): Promise<Outcome> {
    const { offer } = entry
    const bodyWithInteraction = encodeBodyWithInteraction(call.body, call.interaction)
    const body = JSON.stringify(bodyWithInteraction ?? call.body)
    const draft: RequestDraft = {
      capability: offer.name,
      version: offer.version,
      body,
      input: bodyWithInteraction !== undefined,
      deadlineMs: Math.max(0, Math.floor(call.deadlineMs - this.#parts.clock.monotonic())),
      session: call.sessionId?.slice(0, MAX_SESSION_NAME_LENGTH),
      hops: Math.max(0, call.hopBudget),
      stream: emit !== undefined,
      schemaHash: hashOf(entry),
      traceparent: createTraceparentWithNewSpan(call.traceId),
      actor: formatActorName(call.caller),
      isSigned: offer.effect !== 'reads',
      idempotent: offer.idempotent,
    }
    const delivered = await this.#deliver(peerOf(entry), draft, {
      signal: call.signal,
      emit,
      count: (received) => call.ticket?.bytes(received, body.length),
    })
    // Nobody waited for the answer, so the bus decides whether the outcome is unknown, as for any provider that was cut
    // off.
    const isCutOff = call.signal.aborted && !delivered.ok && delivered.fault.kind === 'cancelled'
    return isCutOff
      ? fail(createTimeoutOrCancelFault(call, offer.effect, readAbortCause(call.signal)))
      : withNode(entry.nodeId, delivered)
  }

  async #deliver(peer: PeerAddress, draft: RequestDraft, options: DeliveryOptions): Promise<Outcome> {
    const communityId = this.#parts.communityId()
    if (communityId === undefined) return fail(homeless(peer.nodeId))
    for (let again = false; ; again = true) {
      const session = await this.#sessions.open(peer)
      if (!session.ok) return session
      const outcome = await this.#attempt(peer, draft, { ...options, session: session.value, communityId })
      if (again || outcome.ok || readMeshRefusalReason(outcome.fault) !== 'unknown-session') return outcome
      // The peer has restarted and lost the key, so nothing was tried.
      this.#sessions.forget(peer.nodeId, session.value)
    }
  }

  async #attempt(peer: PeerAddress, draft: RequestDraft, options: AttemptOptions): Promise<Outcome> {
    const { identity, clock, onUnreachable } = this.#parts
    const { signal, session, communityId } = options
    const { nodeId } = peer
    const message = signRequestDraft(draft, { identity, clock, to: nodeId, communityId, session })
    const frames = new StreamFramesHash()
    const emit = options.emit && counted(options.emit, frames)
    const delivered = await this.#routing.send(peer, { message, signal, emit })
    if (delivered.ok) {
      options.count?.(delivered.value.text.length)
      return verifyAndDecodeAnswer(message, delivered.value, { from: nodeId, session, framesHash: frames.digest() })
    }
    if (delivered.fault.kind === 'offline') onUnreachable?.(nodeId)
    return delivered
  }
}

interface DeliveryOptions {
  readonly signal: AbortSignal
  readonly emit?: StreamFrameEmitter | undefined
  readonly count?: (received: number) => void
}

interface AttemptOptions extends DeliveryOptions {
  readonly session: MeshSession | undefined
  readonly communityId: string
}

/** Packets contain arguments only: no requests to the caller and no answers of the caller. */
function isPackable({ offer }: CapabilityEntry, { body, interaction }: Call): boolean {
  return (
    offer.effect === 'reads' &&
    (interaction === undefined || encodeBodyWithInteraction(body, interaction) === undefined)
  )
}

/** The peer that the directory stored in the bus's entry. */
function peerOf({ endpoint }: CapabilityEntry): PeerAddress {
  return endpoint as PeerAddress
}

/** The hash of the contract as the peer announced it. If the peer has another one by now, it refuses the call. */
function hashOf({ offer, announced }: CapabilityEntry): string {
  return announced?.schemaHash ?? computeSchemaHash(offer)
}

/** The node that asks the caller back is the one that gets the answer. */
function withNode(node: string, outcome: Outcome): Outcome {
  const wanted = outcome.ok ? outcome.value.inputRequired : undefined
  return outcome.ok && wanted !== undefined ? ok({ ...outcome.value, inputRequired: { ...wanted, node } }) : outcome
}

function homeless(nodeId: string): Fault {
  return createOwnSideDisconnectedFault(nodeId, 'this node belongs to no community')
}

/** The proof at the end of the stream has to cover the frames that were passed on. */
function counted(emit: StreamFrameEmitter, frames: StreamFramesHash): StreamFrameEmitter {
  return (frame) => {
    frames.add(frame)
    return emit(frame)
  }
}

function dataOf(outcome: Outcome): Result<JsonObject, Fault> {
  if (!isNestedWithinDepth(outcome.ok ? outcome.value : outcome.fault, MAX_MESH_BODY_DEPTH))
    return fail(createMalformedMeshReplyFault(`The peer’s answer is nested deeper than ${MAX_MESH_BODY_DEPTH} levels.`))
  if (!outcome.ok) return outcome
  const { data } = outcome.value
  return isJsonObject(data)
    ? ok(data)
    : fail(createMalformedMeshReplyFault('The peer answered something that is not an object.'))
}
