/**
 * NATS caller: calls to other nodes through one subscription that lives as long as the process. Each call has a subject
 * of its own below it; no subscription, no timer and no inbox is made per call.
 *
 *   call ─▶ published ─▶ frames … reply                          done
 *             │ no subscriber (503)                          offline, at once
 *             │ a second without answer ─▶ again? ─▶             the reply once more · still running · it never came
 *                                                                · no subscriber any more
 *
 * So a reply that was lost with a broken connection is requested again, and a provider that died is noticed.
 *
 * Does I/O, through the link.
 */
import type { Msg } from '@nats-io/transport-node'
import type { StreamFrame } from '../../bus/call.ts'
import type { StreamFrameEmitter } from '../../bus/peer.ts'
import { toBase64url, fromUtf8 } from '../../core/bytes.ts'
import { randomBytes } from '../../core/ids.ts'
import type { Fault } from '../../core/fault.ts'
import { parseJsonOrUndefined } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { SESSION_ID_LENGTH } from '../identity/session-key.ts'
import { isNodeSignatureValid } from '../identity/node-key.ts'
import {
  createOwnSideDisconnectedFault,
  createLostMeshAnswerFault,
  createUnreachableFault,
  createCancelledSendFault,
} from '../transport.ts'
import type {
  MessageDestination,
  MeshTransport,
  MeshMessage,
  PacketConnectionListener,
  PacketConnection,
  DeliveredStreamEnd,
} from '../transport.ts'
import { hasPacketMarker } from '../packets/packet.ts'
import { FRAMES_PER_ACK, STREAM_KEEP_ALIVE_INTERVAL_MS, STREAM_WINDOW_FRAMES } from './stream-credit.ts'
import type { NatsLink } from './nats-link-client.ts'
import { decodeNatsAnswerMessage, encodeNatsMessage, formatUnknownCallTextToSign } from './nats-payload.ts'
import type { NatsAnswerMessage } from './nats-payload.ts'
import { formatCallSubject, readLastSubjectToken, formatReplyPrefix } from './subject.ts'

type Answered = Result<DeliveredStreamEnd, Fault>

interface Pending {
  readonly nodeId: string
  readonly subject: string
  readonly reply: string
  readonly message: MeshMessage
  readonly emit: StreamFrameEmitter | undefined
  readonly settle: (answered: Answered) => void
  /** Frames received, frames that the consumer has taken, and the chain of promises that keeps their order. */
  received: number
  taken: number
  frames: Promise<void>
  readonly sentMs: number
  /** How often its outcome was requested since, and how many of the latest requests found no subscriber. */
  questions: number
  missed: number
  /**
   * A random value that is sent first when the outcome is requested: a signed answer "it never came" that contains it
   * cannot have been made before the call.
   */
  readonly challenge: string
}

const AGAIN_MS = 500
/** Most calls are answered within this time; the outcome of the others is requested. */
const PATIENCE_MS = 1_000
const MAX_MISSED = 4
const MAX_WIRES = 1_024
/**
 * Reply subjects of packets end in this, the session's id and the first call's number, so that a 503 of the broker
 * identifies the packet.
 */
const PACKET_TOKEN = '-'

export interface NatsCallClientOptions {
  readonly link: NatsLink
  readonly self: string
}

export class NatsCallClient implements MeshTransport<'nats'> {
  readonly name = 'nats'
  readonly #options: NatsCallClientOptions
  /** New with every process, so that an answer to an earlier process is not taken for one to this. */
  readonly #process = toBase64url(randomBytes(12))
  readonly #pending = new Map<string, Pending>()
  #subscribed: string | undefined
  #communityId: string | undefined
  #packets: PacketConnectionListener | undefined
  readonly #wires = new Map<string, PacketConnection>()
  #count = 0
  readonly #timer: NodeJS.Timeout

  constructor(options: NatsCallClientOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#tick(), AGAIN_MS)
    this.#timer.unref()
  }

  /** A joiner has no community yet, so it uses the one of its invitation. */
  subscribe(communityId: string): void {
    const prefix = formatReplyPrefix(communityId, this.#options.self, this.#process)
    if (this.#subscribed === prefix) return
    this.#subscribed = prefix
    this.#communityId = communityId
    this.#wires.clear()
    this.#options.link.subscribe(`${prefix}.*`, (message) => this.#receive(message))
  }

  send(to: MessageDestination<'nats'>, message: MeshMessage, signal: AbortSignal): Promise<Answered> {
    return this.#start(to, message, { signal, emit: undefined })
  }

  stream(
    to: MessageDestination<'nats'>,
    message: MeshMessage,
    options: { readonly signal: AbortSignal; readonly emit: StreamFrameEmitter },
  ): Promise<Answered> {
    return this.#start(to, message, options)
  }

  onPackets(events: PacketConnectionListener): void {
    this.#packets = events
  }

  wire({ nodeId }: MessageDestination<'nats'>): PacketConnection | undefined {
    const communityId = this.#communityId
    if (communityId === undefined || this.#packets === undefined || !this.#options.link.isUp) return undefined
    let wire = this.#wires.get(nodeId)
    if (wire === undefined) {
      wire = this.#newWire(nodeId, formatCallSubject(communityId, nodeId))
      if (this.#wires.size >= MAX_WIRES) this.#wires.clear()
      this.#wires.set(nodeId, wire)
    }
    return wire
  }

  /** Streams have lost frames. The outcomes of the other running calls will be requested. */
  linkLost(): void {
    for (const pending of this.#pending.values())
      if (pending.emit !== undefined) settleLost(pending, 'the connection to NATS broke', true)
  }

  close(): void {
    clearInterval(this.#timer)
    for (const pending of this.#pending.values()) settleLost(pending, 'this node stops', true)
    for (const wire of this.#wires.values()) this.#packets?.broke(wire, 'this node stops')
  }

  #newWire(nodeId: string, subject: string): PacketConnection {
    const { link } = this.#options
    return {
      nodeId,
      mayLose: true,
      inFlight: 0,
      send: (packet, keyId, number) => {
        const { connection } = link
        if (connection === undefined) return false
        connection.publish(subject, packet, { reply: `${this.#subscribed ?? ''}.${PACKET_TOKEN}${keyId}${number}` })
        return true
      },
      doubt: () => undefined,
    }
  }

  #start(
    { nodeId }: MessageDestination<'nats'>,
    message: MeshMessage,
    { signal, emit }: { readonly signal: AbortSignal; readonly emit: StreamFrameEmitter | undefined },
  ): Promise<Answered> {
    const { connection } = this.#options.link
    const communityId = message.fields['community'] ?? ''
    if (connection === undefined)
      return Promise.resolve(fail(createOwnSideDisconnectedFault(nodeId, 'NATS is not connected')))
    if (signal.aborted) return Promise.resolve(fail(createCancelledSendFault()))
    const head = { t: 'call' as const, f: { ...message.fields }, p: message.proof }
    const payload = encodeNatsMessage(emit === undefined ? head : { ...head, w: STREAM_WINDOW_FRAMES }, message.body)
    const limit = this.#options.link.maxPayload
    if (payload.length > limit) return Promise.resolve(fail(tooLarge(limit)))
    // A node that knows the reply subject could cancel the call or send a wrong answer, so the subject of each call is
    // random and known only to the node that was called.
    const id = `${(this.#count++).toString(36)}_${toBase64url(randomBytes(12))}`
    const reply = `${this.#subscribed ?? ''}.${id}`
    const subject = formatCallSubject(communityId, nodeId)
    return new Promise((resolve) => {
      const abort = (): void => {
        this.#control(subject, { t: 'cancel', r: reply })
        pending.settle(fail(createCancelledSendFault()))
      }
      const pending: Pending = {
        nodeId,
        subject,
        reply,
        message,
        emit,
        settle: (answered) => {
          if (!this.#pending.delete(id)) return
          signal.removeEventListener('abort', abort)
          resolve(answered)
        },
        received: 0,
        taken: 0,
        frames: Promise.resolve(),
        sentMs: performance.now(),
        questions: 0,
        missed: 0,
        challenge: toBase64url(randomBytes(12)),
      }
      this.#pending.set(id, pending)
      signal.addEventListener('abort', abort, { once: true })
      connection.publish(subject, payload, { reply })
    })
  }

  #receive(message: Msg): void {
    if (hasPacketMarker(message.data)) {
      this.#packets?.receive(fromUtf8(message.data) ?? '')
      return
    }
    const token = readLastSubjectToken(message.subject)
    if (token.startsWith(PACKET_TOKEN)) {
      const { length } = PACKET_TOKEN
      const keyId = token.slice(length, length + SESSION_ID_LENGTH)
      if (message.headers?.code === 503) this.#packets?.nobody(keyId, Number(token.slice(length + SESSION_ID_LENGTH)))
      return
    }
    const pending = this.#pending.get(token)
    if (pending === undefined) return
    if (message.headers?.code === 503) {
      if (pending.questions === 0) pending.settle(fail(createUnreachableFault(pending.nodeId, 'nobody listens there')))
      // It may be reconnecting, with the answer in hand.
      else if (++pending.missed >= MAX_MISSED) settleLost(pending, 'nobody listens there any more')
      return
    }
    pending.missed = 0
    const decoded = decodeNatsAnswerMessage(message.data)
    if (!decoded.ok) return
    const { head, body } = decoded.value
    if (head.t === 'frame') this.#frame(pending, head, body)
    else if (head.t === 'reply') this.#reply(pending, head, body)
    else if (head.t === 'forgotten') settleLost(pending, 'it has restarted')
    else if (
      isNodeSignatureValid(pending.nodeId, formatUnknownCallTextToSign(pending.reply, pending.challenge), head.p)
    )
      // The provider's own signed statement that the call never came: equivalent to a call that was not sent.
      pending.settle(fail(createUnreachableFault(pending.nodeId, 'the message was lost with the connection')))
  }

  #reply(
    pending: Pending,
    { s: status, p: proof }: Extract<NatsAnswerMessage, { t: 'reply' }>,
    body: Uint8Array,
  ): void {
    const text = fromUtf8(body) ?? ''
    // Settled after the frames before it have been taken, or the consumer would see the end too early.
    void pending.frames.then(() => pending.settle(ok({ status, text, proof, frames: pending.received })))
  }

  #frame(
    pending: Pending,
    { n: number, e: event }: Extract<NatsAnswerMessage, { t: 'frame' }>,
    body: Uint8Array,
  ): void {
    const { emit } = pending
    const data = parseJsonOrUndefined(fromUtf8(body))
    if (emit === undefined) return
    const isLost = number !== pending.received + 1 || data === undefined
    // Frames that were sent without credit would fill the memory.
    if (isLost || number - pending.taken > STREAM_WINDOW_FRAMES) {
      const why = isLost ? 'a frame of the stream was lost' : 'it sent more frames than were asked for'
      this.#control(pending.subject, { t: 'cancel', r: pending.reply })
      settleLost(pending, why)
      return
    }
    pending.received = number
    // A chain of promises, so that one frame is taken after the other; it never rejects.
    pending.frames = this.#handOver(pending, { event, data }, number)
  }

  async #handOver(pending: Pending, frame: StreamFrame, number: number): Promise<void> {
    const { emit, frames, subject, reply } = pending
    await frames
    try {
      await emit?.(frame)
      pending.taken = number
      if (number % FRAMES_PER_ACK === 0) this.#control(subject, { t: 'ack', r: reply, n: number })
    } catch {
      this.#control(subject, { t: 'cancel', r: reply })
      pending.settle(fail(createCancelledSendFault()))
    }
  }

  #ticks = 0

  #tick(): void {
    this.#ticks++
    if (this.#options.link.isUp) this.#packets?.tick()
    const isKeepAlive = this.#ticks % (STREAM_KEEP_ALIVE_INTERVAL_MS / AGAIN_MS) === 0
    for (const pending of this.#pending.values()) {
      const { subject, reply, taken, message, challenge } = pending
      if (pending.emit !== undefined && isKeepAlive) this.#control(subject, { t: 'ack', r: reply, n: taken })
      const { connection } = this.#options.link
      if (connection === undefined || performance.now() - pending.sentMs < PATIENCE_MS) continue
      pending.questions++
      const keyId = message.fields['key_id']
      const head = { t: 'again' as const, r: reply, c: challenge, ...(keyId === undefined ? {} : { k: keyId }) }
      connection.publish(subject, encodeNatsMessage(head), { reply })
    }
  }

  #control(subject: string, head: Parameters<typeof encodeNatsMessage>[0]): void {
    this.#options.link.connection?.publish(subject, encodeNatsMessage(head))
  }
}

/** Nobody knows what became of it. `ownSide`: it is this node's connection that failed. */
function settleLost({ settle, nodeId, message }: Pending, why: string, ownSide = false): void {
  const fault = createLostMeshAnswerFault(nodeId, message.idempotent, why)
  settle(fail(ownSide ? { ...fault, ownSide } : fault))
}

function tooLarge(limit: number): Fault {
  const message = `The call is larger than the ${limit} bytes that the NATS server takes. Nothing was sent.`
  return { kind: 'invalid-arguments', code: 'bad_request', message }
}
