/**
 * Outbound: this node as a caller. Makes a call into a sealed message, sends it along the best way there is, and makes
 * an outcome of what comes back.
 *
 *   session key? ─no─▶ handshake ─▶ seal ─▶ first way ─offline─▶ next way ─▶ proof of the answer ─▶ outcome
 *                                     ▲        │ the peer has forgotten the key (it restarted): nothing was tried
 *                                     └────────┘ once
 *
 * Pure: the transports do the I/O.
 */
import { cutOff } from '../bus/attempt.ts'
import type { Call, Outcome } from '../bus/call.ts'
import type { CapabilityEntry } from '../bus/entry.ts'
import type { Emit, RemoteProvider } from '../bus/peer.ts'
import { schemaHash } from '../bus/schema-hash.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { actorFor } from './actor.ts'
import { decodeOutcome, nonsense } from './answer.ts'
import { CallerSessions } from './caller-sessions.ts'
import { addressed, question } from './draft.ts'
import type { Draft } from './draft.ts'
import { answerText, bodyHash, callText, envelopeFields, FramesHash, MAX_SESSION } from './envelope.ts'
import { leavesFirstOpen, SESSION_QUESTION } from './gate.ts'
import type { NodeIdentity } from './identity/node-key.ts'
import { MAX_CALL_BYTES } from './packets/packet.ts'
import { encodePacketCall, lengthOf } from './packets/packet-call.ts'
import { PacketCaller } from './packets/packet-caller.ts'
import { withInput } from './input.ts'
import { isProven, macProof, signatureProof } from './proof.ts'
import { reasonOf } from './refusal.ts'
import type { Session, Signatures } from './sessions.ts'
import { traceparentOf } from './traceparent.ts'
import { causeOf, lostAnswer, unreachable } from './transport.ts'
import type { Delivered, MeshTransport, Message, PacketWire, PeerAddress, Way } from './transport.ts'
import { WayOrder } from './way-order.ts'

export interface OutboundParts {
  readonly identity: NodeIdentity
  readonly communityId: () => string | undefined
  readonly transports: { readonly [Kind in Way['transport']]?: MeshTransport<Kind> | undefined }
  readonly clock: Clock
  /** What this node asks for when it makes a session. */
  readonly signatures?: Signatures
  /** Told when a peer could not be reached at all. */
  readonly onUnreachable?: (nodeId: string) => void
}

export class Outbound implements RemoteProvider {
  readonly #parts: OutboundParts
  readonly #sessions: CallerSessions
  readonly #packets: PacketCaller
  readonly #order: WayOrder

  constructor(parts: OutboundParts) {
    const { identity, clock, signatures } = parts
    this.#parts = parts
    this.#sessions = new CallerSessions({
      self: identity.id,
      clock,
      signatures,
      ask: (peer, body, signal) => this.#askForSession(peer, body, signal),
    })
    this.#packets = new PacketCaller(clock)
    this.#order = new WayOrder(clock)
    parts.transports.http?.onPackets?.(this.#packets)
    parts.transports.nats?.onPackets?.(this.#packets)
  }

  /** What only reads goes in packets, where it can; not so what has more to tell than its arguments. */
  call(entry: CapabilityEntry, call: Call): Promise<Outcome> {
    return isPackable(entry, call) ? this.#inPacket(entry, call) : this.#invoke(entry, call)
  }

  stream(entry: CapabilityEntry, call: Call, emit: Emit): Promise<Outcome> {
    return this.#invoke(entry, call, emit)
  }

  /** A question between nodes, outside the bus and outside the ledger: manifests, schemas, checkpoints. */
  async ask(peer: PeerAddress, name: string, body: Json, signal: AbortSignal): Promise<Result<JsonObject, Fault>> {
    const outcome = await this.#deliver(peer, question(name, body), { signal })
    return dataOf(outcome)
  }

  /** Before there is a community of ours: signed, and under no session key. */
  async askToJoin(
    peer: PeerAddress,
    body: JsonObject,
    asking: { name: string; communityId: string; signal: AbortSignal },
  ): Promise<Result<JsonObject, Fault>> {
    const draft = { ...question(asking.name, body), isSigned: true }
    return dataOf(
      await this.#attempt(peer, draft, { signal: asking.signal, session: undefined, communityId: asking.communityId }),
    )
  }

  forget(nodeId: string): void {
    this.#sessions.forget(nodeId)
  }

  async #askForSession(peer: PeerAddress, body: JsonObject, signal: AbortSignal): Promise<Result<JsonObject, Fault>> {
    const communityId = this.#parts.communityId()
    if (communityId === undefined) return fail(homeless(peer.nodeId))
    const draft = { ...question(SESSION_QUESTION, body), isSigned: true }
    return dataOf(await this.#attempt(peer, draft, { signal, session: undefined, communityId }))
  }

  async #invoke(entry: CapabilityEntry, call: Call, emit?: Emit): Promise<Outcome> {
    const peer = entry.endpoint as PeerAddress
    const { offer } = entry
    const told = withInput(call.body, call.interaction)
    const body = JSON.stringify(told ?? call.body)
    const draft: Draft = {
      capability: offer.name,
      version: offer.version,
      body,
      input: told !== undefined,
      deadlineMs: Math.max(0, Math.floor(call.deadlineMs - this.#parts.clock.monotonic())),
      session: call.sessionId?.slice(0, MAX_SESSION),
      hops: Math.max(0, call.hopBudget),
      stream: emit !== undefined,
      schemaHash: entry.announced?.schemaHash ?? schemaHash(offer),
      traceparent: traceparentOf(call.traceId),
      actor: actorFor(call.caller),
      isSigned: offer.effect !== 'reads',
      idempotent: offer.idempotent,
    }
    const delivered = await this.#deliver(peer, draft, {
      signal: call.signal,
      emit,
      count: (received) => call.ticket?.bytes(received, body.length),
    })
    // Nobody waited for the answer: whether it happened is what the bus says of any provider that was cut off.
    const isCutOff = call.signal.aborted && !delivered.ok && delivered.fault.kind === 'cancelled'
    return isCutOff ? fail(cutOff(call, offer.effect, causeOf(call.signal))) : askedBy(entry.nodeId, delivered)
  }

  /** With whatever else goes there in this moment, if there is a wire for it and it is small. */
  #inPacket(entry: CapabilityEntry, call: Call): Promise<Outcome> {
    const peer = entry.endpoint as PeerAddress
    const session = this.#sessions.live(peer.nodeId)
    // Nearly always both are there, and nothing has to be waited for.
    if (session === undefined) return this.#inFirstPacket(entry, call)
    const wire = session.takesPackets ? this.#wire(peer) : undefined
    if (wire instanceof Promise) return wire.then((open) => this.#alongWire(open, session, { entry, call }))
    return this.#alongWire(wire, session, { entry, call })
  }

  async #inFirstPacket(entry: CapabilityEntry, call: Call): Promise<Outcome> {
    const peer = entry.endpoint as PeerAddress
    const session = await this.#sessions.open(peer)
    if (!session.ok) return session
    const wire = session.value.takesPackets ? await this.#wire(peer) : undefined
    return this.#alongWire(wire, session.value, { entry, call })
  }

  #alongWire(
    wire: PacketWire | undefined,
    session: Session,
    { entry, call }: { readonly entry: CapabilityEntry; readonly call: Call },
  ): Promise<Outcome> {
    const { offer, announced } = entry
    if (wire === undefined) return this.#invoke(entry, call)
    const hash = announced?.schemaHash ?? schemaHash(offer)
    // Rounded up: the far end shall not give up before we do.
    const deadlineMs = Math.max(0, Math.ceil(call.deadlineMs - this.#parts.clock.monotonic()))
    const actor = session.takesActors ? actorFor(call.caller) : undefined
    const text = encodePacketCall(offer, hash, { call, deadlineMs, actor })
    if (lengthOf(text) > MAX_CALL_BYTES) return this.#invoke(entry, call)
    return this.#packets.call(wire, session, {
      text,
      idempotent: offer.idempotent,
      call,
      otherwise: (why) => {
        if (why === 'stale') this.#sessions.forget(session.peer, session)
        return this.#invoke(entry, call)
      },
    })
  }

  #wire(peer: PeerAddress): PacketWire | Promise<PacketWire | undefined> | undefined {
    const { nodeId } = peer
    const { http, nats } = this.#parts.transports
    const [way] = this.#order.inOrder(peer)
    if (way?.transport === 'http') return http?.wire?.({ nodeId, way })
    return way?.transport === 'nats' ? nats?.wire?.({ nodeId, way }) : undefined
  }

  async #deliver(peer: PeerAddress, draft: Draft, options: DeliveryOptions): Promise<Outcome> {
    const communityId = this.#parts.communityId()
    if (communityId === undefined) return fail(homeless(peer.nodeId))
    for (let again = false; ; again = true) {
      const session = await this.#sessions.open(peer)
      if (!session.ok) return session
      const outcome = await this.#attempt(peer, draft, { ...options, session: session.value, communityId })
      if (again || outcome.ok || reasonOf(outcome.fault) !== 'unknown-session') return outcome
      // It has restarted: the key went with it, and nothing was tried.
      this.#sessions.forget(peer.nodeId, session.value)
    }
  }

  /** Along each way in turn, as long as nothing was sent. */
  async #attempt(peer: PeerAddress, draft: Draft, options: AttemptOptions): Promise<Outcome> {
    const { session, communityId } = options
    const { identity, clock } = this.#parts
    const { id: keyId, takesActors: takesActor = false } = session ?? {}
    const fields = envelopeFields(
      addressed(draft, { from: identity.id, to: peer.nodeId, communityId, keyId, takesActor, clock }),
    )
    const text = callText(fields, bodyHash(draft.body))
    const proof = draft.isSigned || session === undefined ? signatureProof(text, identity) : macProof(text, session)
    const message: Message = { fields, proof, body: draft.body, idempotent: draft.idempotent }
    const frames = new FramesHash()
    const emit = options.emit && counted(options.emit, frames)
    let last: Outcome = fail(unreachable(peer.nodeId, 'no way to it is known'))
    for (const way of this.#order.inOrder(peer)) {
      const delivered = await this.#along(way, peer.nodeId, message, { signal: options.signal, emit })
      if (delivered === undefined) continue
      if (delivered.ok) {
        options.count?.(delivered.value.text.length)
        return this.#open(peer.nodeId, message, delivered.value, { session, framesHash: frames.digest() })
      }
      last = delivered
      if (delivered.fault.kind !== 'offline') return last
      this.#order.ledNowhere(peer.nodeId, way)
    }
    if (!last.ok && last.fault.kind === 'offline') this.#parts.onUnreachable?.(peer.nodeId)
    return last
  }

  async #along(
    way: Way,
    nodeId: string,
    message: Message,
    { signal, emit }: DeliveryOptions,
  ): Promise<Result<Delivered, Fault> | undefined> {
    const { http, nats } = this.#parts.transports
    if (way.transport === 'http') {
      if (http === undefined) return undefined
      return emit === undefined
        ? http.send({ nodeId, way }, message, signal)
        : http.stream({ nodeId, way }, message, { signal, emit })
    }
    if (nats === undefined) return undefined
    return emit === undefined
      ? nats.send({ nodeId, way }, message, signal)
      : nats.stream({ nodeId, way }, message, { signal, emit })
  }

  #open(
    from: string,
    message: Message,
    { status, text, proof, resent }: Delivered,
    { session, framesHash }: { readonly session: Session | undefined; readonly framesHash: string | undefined },
  ): Outcome {
    const requestId = message.fields['request_id'] ?? ''
    const covered = answerText({ requestId, from, status, bodyHash: bodyHash(text), framesHash })
    if (isProven(covered, proof, { from, session })) {
      const outcome = decodeOutcome(status, text)
      if (resent !== true || outcome.ok || !leavesFirstOpen(outcome.fault)) return outcome
      // The first may have been carried out, if only by a process that has restarted since.
      const mayGoAgain = message.idempotent && reasonOf(outcome.fault) === 'unknown-session'
      return mayGoAgain ? outcome : fail(lostAnswer(from, message.idempotent, 'the connection broke'))
    }
    // Not even a refusal is believed unproven: one that says "nothing was tried" makes the router try elsewhere.
    return fail({
      ...nonsense(`The answer is not proven to be ${from}'s.`),
      kind: message.idempotent ? 'failed' : 'unknown-outcome',
    })
  }
}

interface DeliveryOptions {
  readonly signal: AbortSignal
  readonly emit?: Emit | undefined
  readonly count?: (received: number) => void
}

interface AttemptOptions extends DeliveryOptions {
  readonly session: Session | undefined
  readonly communityId: string
}

/** Packets hold arguments and nothing else: neither what a caller can be asked nor what it answered. */
function isPackable({ offer }: CapabilityEntry, { body, interaction }: Call): boolean {
  return offer.effect === 'reads' && (interaction === undefined || withInput(body, interaction) === undefined)
}

/** Who asks back is the one to hear the answer. */
function askedBy(node: string, outcome: Outcome): Outcome {
  const wanted = outcome.ok ? outcome.value.inputRequired : undefined
  return outcome.ok && wanted !== undefined ? ok({ ...outcome.value, inputRequired: { ...wanted, node } }) : outcome
}

function homeless(nodeId: string): Fault {
  return unreachable(nodeId, 'this node belongs to no community')
}

/** What the end of the stream has to prove is what was handed on, frame by frame. */
function counted(emit: Emit, frames: FramesHash): Emit {
  return (frame) => {
    frames.add(frame)
    return emit(frame)
  }
}

function dataOf(outcome: Outcome): Result<JsonObject, Fault> {
  if (!outcome.ok) return outcome
  const { data } = outcome.value
  return isJsonObject(data) ? ok(data) : fail(nonsense('The peer answered something that is no object.'))
}
