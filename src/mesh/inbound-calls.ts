/**
 * Inbound calls: this node as a provider. Whatever a transport brings in goes through the gate, then to the control
 * handler (requests between nodes) or to the bus, where the chain locks, validates, guards and records it like any
 * other call.
 *
 *   bytes ─▶ envelope ─▶ gate ─▶ mesh.* ─▶ control handler
 *                          └───▶ anything else ─▶ bus.handleCall, here only unless the envelope leaves hops
 */
import type { CapabilityBus, InboundPeerCallHandle } from '../bus/bus.ts'
import type { Call, CallerInteraction, Outcome } from '../bus/call.ts'
import type { StreamFrameEmitter } from '../bus/peer.ts'
import { satisfiesVersion } from '../bus/route-request-matching.ts'
import { computeSchemaHash } from '../bus/schema-hash.ts'
import type { Fault } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { encodeOutcome } from './mesh-answer.ts'
import type { WireAnswer } from './mesh-answer.ts'
import { parseMeshBody } from './message-body.ts'
import { formatAnswerTextToSign, computeBodyHash, StreamFramesHash, parseMeshEnvelopeFields } from './mesh-envelope.ts'
import type { MeshEnvelope } from './mesh-envelope.ts'
import { admitMessage } from './message-gate.ts'
import type { MessageAdmission, MessageGateDependencies } from './message-gate.ts'
import type { NodeIdentity } from './identity/node-key.ts'
import { decodeBodyWithInteraction } from './interaction-wire.ts'
import { createMacProof, createSignatureProof } from './message-proof.ts'
import { createMeshRefusal } from './mesh-refusal.ts'
import { parseTraceparent } from '../toolbox/traceparent.ts'
import type { DeliveredAnswer } from './transport.ts'

/**
 * Answers requests between nodes that are not calls: they are not recorded in the ledger, and change nothing in the
 * house.
 */
export type ControlHandler = (
  question: string,
  body: JsonObject,
  sender: MessageAdmission['caller'],
) => Promise<Result<Json, Fault>> | undefined

export interface InboundCallDependencies {
  readonly identity: NodeIdentity
  readonly gate: MessageGateDependencies
  readonly bus: () => CapabilityBus | undefined
  readonly control: ControlHandler
  /** Logs a bug. */
  readonly report: (error: unknown) => void
}

export interface ReceivedMeshMessage {
  readonly field: (name: string) => string | undefined
  readonly proof: string
  /** `undefined` when it was larger than anybody may send. */
  readonly body: Uint8Array | undefined
}

/** The parts of an envelope that the bus needs. */
export interface InboundCallFields extends Pick<
  MeshEnvelope,
  'capability' | 'version' | 'schemaHash' | 'session' | 'deadlineMs' | 'hops' | 'actor'
> {
  readonly traceId: string
  readonly parentSpan?: string | undefined
  readonly body: JsonObject
  readonly interaction?: CallerInteraction | undefined
}

export interface MeshReceiveOptions {
  readonly signal: AbortSignal
  /** Receives the frames of a streamed answer. Not called for a message that requests no stream. */
  readonly emit: StreamFrameEmitter
}

export class InboundCallHandler {
  readonly #parts: InboundCallDependencies
  #stopping = false

  constructor(parts: InboundCallDependencies) {
    this.#parts = parts
  }

  /** Whether this process issued that session key. */
  knowsSession(keyId: string): boolean {
    return this.#parts.gate.sessions.find(keyId) !== undefined
  }

  /** From now on every message is refused, with a proof that nothing was tried. */
  stop(): void {
    this.#stopping = true
  }

  /**
   * Never rejects. Every answer is proven, also a refusal, because a false "nothing was tried" would make the caller
   * repeat a call that ran.
   */
  async receive(arrived: ReceivedMeshMessage, options: MeshReceiveOptions): Promise<DeliveredAnswer> {
    const envelope = parseMeshEnvelopeFields(arrived.field)
    if (!envelope.ok) return this.#answer(arrived.field('request_id') ?? '', fail(envelope.fault), undefined)
    const { requestId } = envelope.value
    if (arrived.body === undefined) {
      const fault = createMeshRefusal('bad_request', 'too-large', 'The body is larger than this node takes.')
      return this.#answer(requestId, fail(fault), undefined)
    }
    const sealed = { envelope: envelope.value, proof: arrived.proof, bodyHash: computeBodyHash(arrived.body) }
    const admitted = admitMessage(sealed, this.#parts.gate)
    if (!admitted.ok) return this.#answer(requestId, admitted, undefined)
    const body = parseMeshBody(arrived.body)
    const frames = new StreamFramesHash()
    const emit: StreamFrameEmitter = (frame) => {
      frames.add(frame)
      return options.emit(frame)
    }
    const outcome = body.ok
      ? await this.#serve(envelope.value, admitted.value, body.value, { ...options, emit }).catch((error: unknown) =>
          this.mistake(error),
        )
      : body
    return this.#answer(requestId, outcome, admitted.value, frames.digest())
  }

  async #serve(
    envelope: MeshEnvelope,
    admitted: MessageAdmission,
    body: JsonObject,
    options: MeshReceiveOptions,
  ): Promise<Outcome> {
    if (this.#stopping) return fail(createMeshRefusal('partition', 'stopping', 'This node is stopping.'))
    const answered = this.#parts.control(envelope.capability, body, admitted.caller)
    if (answered !== undefined) {
      const answer = await answered
      return answer.ok ? ok({ data: answer.value }) : answer
    }
    const { signal } = options
    const decoded = envelope.input === true ? decodeBodyWithInteraction(body) : ok({ body, interaction: undefined })
    if (!decoded.ok) return decoded
    const request = {
      ...envelope,
      ...(parseTraceparent(envelope.traceparent) ?? { traceId: newUlid() }),
      ...decoded.value,
    }
    return this.#serveCall(request, admitted, envelope.stream ? { signal, emit: options.emit } : { signal })
  }

  /**
   * Serves a call from an admitted packet: it only reads, and is sent under a session key. May throw in case of a bug.
   */
  servePacketCall(
    request: InboundCallFields,
    caller: MessageAdmission['caller'],
    nowMs: number,
  ): Result<InboundPeerCallHandle, Fault> {
    const bus = this.#servingBus()
    if (!bus.ok) return bus
    const refused = checkContract(bus.value, request, false)
    const call = callOf(request, caller, { stream: false, refusal: refused, nowMs })
    return ok(bus.value.serve(call))
  }

  #serveCall(
    request: InboundCallFields,
    { caller, isSigned }: MessageAdmission,
    { signal, emit }: { readonly signal: AbortSignal; readonly emit?: StreamFrameEmitter },
  ): Promise<Outcome> {
    const bus = this.#servingBus()
    if (!bus.ok) return Promise.resolve(bus)
    // A member's call that is refused still passes the chain, which records it without trying it.
    const refused = checkContract(bus.value, request, isSigned)
    const nowMs = this.#parts.gate.clock.monotonic()
    const call = callOf(request, caller, { stream: emit !== undefined, refusal: refused, nowMs })
    return bus.value.handleCall({ ...call, signal }, emit)
  }

  #servingBus(): Result<CapabilityBus, Fault> {
    const bus = this.#parts.bus()
    return bus === undefined || this.#stopping
      ? fail(createMeshRefusal('partition', 'stopping', 'This node is starting or stopping.'))
      : ok(bus)
  }

  mistake(error: unknown): Extract<Outcome, { ok: false }> {
    this.#parts.report(error)
    return fail({
      kind: 'internal',
      code: 'internal_error',
      message: 'An internal error occurred. The log of the gateway has the details.',
    })
  }

  /**
   * A handler may return a value that has no JSON text (a cycle, endless nesting): this is a bug of the handler, and is
   * answered as one.
   */
  encoded(outcome: Outcome): WireAnswer {
    try {
      return encodeOutcome(outcome)
    } catch (error) {
      return encodeOutcome(this.mistake(error))
    }
  }

  #answer(
    requestId: string,
    outcome: Outcome,
    admitted: MessageAdmission | undefined,
    framesHash?: string,
  ): DeliveredAnswer {
    const { identity } = this.#parts
    const { status, text } = this.encoded(outcome)
    const covered = formatAnswerTextToSign({
      requestId,
      from: identity.id,
      status,
      bodyHash: computeBodyHash(text),
      framesHash,
    })
    const session = admitted?.isSigned === false ? admitted.session : undefined
    return {
      status,
      text,
      proof: session === undefined ? createSignatureProof(covered, identity) : createMacProof(covered, session),
    }
  }
}

const NO_LOCKS: readonly string[] = []

function callOf(
  request: InboundCallFields,
  caller: MessageAdmission['caller'],
  {
    stream,
    refusal: refused,
    nowMs,
  }: { readonly stream: boolean; readonly refusal: Fault | undefined; readonly nowMs: number },
): Omit<Call, 'signal'> {
  const { session, actor } = request
  const who = actor === undefined ? caller.id : `${caller.id}/${actor}`
  return {
    capability: request.capability,
    versionReq: request.version,
    body: request.body,
    caller: actor === undefined ? caller : { ...caller, actor },
    channel: 'mesh',
    traceId: request.traceId,
    parentSpan: request.parentSpan,
    // Session names of different peers are different sessions, and so are those of different callers behind one peer.
    sessionId: session === undefined ? undefined : `${who} ${session}`,
    deadlineMs: nowMs + request.deadlineMs,
    isStream: stream,
    hopBudget: request.hops,
    rehearsal: false,
    heldLocks: NO_LOCKS,
    interaction: request.interaction,
    refusal: refused,
    schemaHash: request.schemaHash,
  }
}

/**
 * The contract that the caller signed must be the one that is offered, and a call that changes something must be
 * signed.
 */
function checkContract(
  bus: CapabilityBus,
  { capability, version, schemaHash: expectedByCaller }: InboundCallFields,
  isSigned: boolean,
): Fault | undefined {
  let expected: string | undefined
  let isKnown = expectedByCaller === undefined
  for (const { offer, isLocal } of bus.registry.named(capability)) {
    if (!isLocal || !satisfiesVersion(offer.version, version)) continue
    if (!isSigned && offer.effect !== 'reads')
      return createMeshRefusal(
        'invalid_signature',
        'needs-signature',
        `${capability} changes something: sign the call with the node's key.`,
      )
    const hash = computeSchemaHash(offer)
    expected ??= hash
    isKnown ||= hash === expectedByCaller
  }
  if (isKnown || expected === undefined) return undefined
  return createMeshRefusal(
    'schema_mismatch',
    'schema-hash',
    `${capability} has another contract here than the caller's.`,
    {
      details: { schema_hash_expected: expected },
    },
  )
}
