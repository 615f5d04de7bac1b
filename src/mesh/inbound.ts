/**
 * Inbound: this node as a provider. Whatever a transport brings in goes through the gate, then to the desk (questions
 * between nodes) or to the bus, where the chain locks, validates, guards and records it like any other call.
 *
 *   bytes ─▶ envelope ─▶ gate ─▶ mesh.* ─▶ desk
 *                          └───▶ anything else ─▶ bus.handleCall, here only unless the envelope leaves hops
 *
 * Pure: the transports do the I/O.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Call, Outcome } from '../bus/call.ts'
import type { Emit } from '../bus/peer.ts'
import { schemaHash } from '../bus/schema-hash.ts'
import { fromUtf8 } from '../core/bytes.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { encodeOutcome } from './answer.ts'
import type { WireAnswer } from './answer.ts'
import { answerText, bodyHash, FramesHash, readEnvelope } from './envelope.ts'
import type { Envelope } from './envelope.ts'
import { admit } from './gate.ts'
import type { Admitted, GateParts } from './gate.ts'
import type { NodeIdentity } from './identity/node-key.ts'
import { macProof, signatureProof } from './proof.ts'
import { refusal } from './refusal.ts'
import { readTraceparent } from './traceparent.ts'
import type { Delivered } from './transport.ts'

/** Questions between nodes that are no calls: nothing of them is in the ledger, and they change nothing in the house. */
export type Desk = (
  question: string,
  body: JsonObject,
  asker: Admitted['caller'],
) => Promise<Result<Json, Fault>> | undefined

export interface InboundParts {
  readonly identity: NodeIdentity
  readonly gate: GateParts
  readonly bus: () => CapabilityBus | undefined
  readonly desk: Desk
  /** A mistake of ours, for the log. */
  readonly report: (error: unknown) => void
}

export interface Arrived {
  readonly field: (name: string) => string | undefined
  readonly proof: string
  /** `undefined` when it was larger than anybody may send. */
  readonly body: Uint8Array | undefined
}

export interface ServeOptions {
  readonly signal: AbortSignal
  /** Where frames of a streamed answer go. Not called for a message that asks for no stream. */
  readonly emit: Emit
}

export class Inbound {
  readonly #parts: InboundParts
  #inFlight = 0
  #stopping = false

  constructor(parts: InboundParts) {
    this.#parts = parts
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether this very process has given that session key. */
  knowsSession(keyId: string): boolean {
    return this.#parts.gate.sessions.find(keyId) !== undefined
  }

  /** From now on everything is refused, honestly: nothing of it was tried. */
  stop(): void {
    this.#stopping = true
  }

  /** Never rejects. Always proven, refusals included: "nothing was tried" is worth lying about. */
  async receive(arrived: Arrived, options: ServeOptions): Promise<Delivered> {
    this.#inFlight++
    try {
      return await this.#receive(arrived, options)
    } finally {
      this.#inFlight--
    }
  }

  async #receive(arrived: Arrived, options: ServeOptions): Promise<Delivered> {
    const envelope = readEnvelope(arrived.field)
    if (!envelope.ok) return this.#answer(arrived.field('request_id') ?? '', fail(envelope.fault), undefined)
    const { requestId } = envelope.value
    if (arrived.body === undefined) {
      const fault = refusal('bad_request', 'too-large', 'The body is larger than this node takes.')
      return this.#answer(requestId, fail(fault), undefined)
    }
    const sealed = { envelope: envelope.value, proof: arrived.proof, bodyHash: bodyHash(arrived.body) }
    const admitted = admit(sealed, this.#parts.gate)
    if (!admitted.ok) return this.#answer(requestId, admitted, undefined)
    const body = parsedBody(arrived.body)
    const frames = new FramesHash()
    const emit: Emit = (frame) => {
      frames.add(frame)
      return options.emit(frame)
    }
    const outcome = body.ok
      ? await this.#serve(envelope.value, admitted.value, body.value, { ...options, emit }).catch((error: unknown) =>
          this.#mistake(error),
        )
      : body
    return this.#answer(requestId, outcome, admitted.value, frames.digest())
  }

  async #serve(envelope: Envelope, admitted: Admitted, body: JsonObject, options: ServeOptions): Promise<Outcome> {
    if (this.#stopping) return fail(refusal('partition', 'stopping', 'This node is stopping.'))
    const answered = this.#parts.desk(envelope.capability, body, admitted.caller)
    if (answered !== undefined) {
      const answer = await answered
      return answer.ok ? ok({ data: answer.value }) : answer
    }
    const bus = this.#parts.bus()
    if (bus === undefined) return fail(refusal('partition', 'stopping', 'This node is starting.'))
    const wrong = this.#checkContract(bus, envelope, admitted)
    if (wrong !== undefined) return fail(wrong)
    const call = this.#callOf(envelope, admitted, { body, signal: options.signal })
    return envelope.stream ? bus.handleCall(call, options.emit) : bus.handleCall(call)
  }

  #mistake(error: unknown): Outcome {
    this.#parts.report(error)
    return fail({
      kind: 'internal',
      code: 'internal_error',
      message: 'Something went wrong inside. The log says what.',
    })
  }

  /** What was signed for has to be what is offered; what changes something has to be signed for. */
  #checkContract(
    bus: CapabilityBus,
    { capability, version, schemaHash: asked }: Envelope,
    { isSigned }: Admitted,
  ): Fault | undefined {
    const offers = bus.registry.find(capability, version).filter((entry) => entry.isLocal)
    if (!isSigned && offers.some(({ offer }) => offer.effect !== 'reads'))
      return refusal(
        'invalid_signature',
        'needs-signature',
        `${capability} changes something: sign the call with the node's key.`,
      )
    const [first] = offers
    if (asked === undefined || first === undefined || offers.some(({ offer }) => schemaHash(offer) === asked))
      return undefined
    const expected = schemaHash(first.offer)
    return refusal('schema_mismatch', 'schema-hash', `${capability} has another contract here than the caller's.`, {
      details: { schema_hash_expected: expected },
    })
  }

  #callOf(envelope: Envelope, { caller }: Admitted, { body, signal }: { body: JsonObject; signal: AbortSignal }): Call {
    const { session } = envelope
    return {
      capability: envelope.capability,
      versionReq: envelope.version,
      body,
      caller,
      channel: 'mesh',
      ...readTraceparent(envelope.traceparent),
      // Sessions of two peers are two sessions, whatever they call them.
      sessionId: session === undefined ? undefined : `${caller.id} ${session}`,
      deadlineMs: this.#parts.gate.clock.monotonic() + envelope.deadlineMs,
      stream: envelope.stream,
      signal,
      hopBudget: envelope.hops,
      rehearsal: false,
      heldLocks: [],
    }
  }

  /** A handler may answer what no text can say (a cycle, a depth without end): that is its mistake, and an answer. */
  #encoded(outcome: Outcome): WireAnswer {
    try {
      return encodeOutcome(outcome)
    } catch (error) {
      return encodeOutcome(this.#mistake(error))
    }
  }

  #answer(requestId: string, outcome: Outcome, admitted: Admitted | undefined, framesHash?: string): Delivered {
    const { identity } = this.#parts
    const { status, text } = this.#encoded(outcome)
    const covered = answerText({ requestId, from: identity.id, status, bodyHash: bodyHash(text), framesHash })
    const session = admitted?.isSigned === false ? admitted.session : undefined
    return {
      status,
      text,
      proof: session === undefined ? signatureProof(covered, identity) : macProof(covered, session),
    }
  }
}

/** Whatever walks a value walks it by recursion: nobody's stack may hang on what a peer sends. */
const MAX_DEPTH = 128
const [QUOTE, BACKSLASH] = [0x22, 0x5c]

function depthOf(text: string): number {
  let [depth, deepest, isString] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isString) {
      if (unit === BACKSLASH) at++
      else if (unit === QUOTE) isString = false
    } else if (unit === QUOTE) isString = true
    // { and [ are 0x7b and 0x5b, } and ] two more each.
    else if ((unit & 0xdf) === 0x5b) deepest = Math.max(deepest, ++depth)
    else if ((unit & 0xdf) === 0x5d) depth--
  }
  return deepest
}

function parsedBody(bytes: Uint8Array): Result<JsonObject, Fault> {
  const text = fromUtf8(bytes)
  if (text !== undefined && depthOf(text) > MAX_DEPTH)
    return fail(refusal('bad_request', 'not-json', `The body is nested deeper than ${MAX_DEPTH} levels.`))
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text)
    if (isJsonObject(value)) return ok(value)
  } catch {
    // Falls through to the one refusal for whatever is not an object.
  }
  return fail(refusal('bad_request', 'not-json', 'The body is not a JSON object.'))
}
