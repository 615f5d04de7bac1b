/**
 * NATS server side: calls from other nodes, through one subscription.
 *
 *   call ─▶ inbound ─▶ frames, as far as the reader's credit goes ─▶ reply, kept for a minute in case it is lost
 *
 * Does I/O, through the link.
 */
import type { Msg } from '@nats-io/transport-node'
import type { StreamFrame } from '../../bus/call.ts'
import { fromUtf8 } from '../../core/bytes.ts'
import type { Clock } from '../../core/clock.ts'
import { fail } from '../../core/result.ts'
import { encodeOutcome } from '../mesh-answer.ts'
import { formatAnswerTextToSign, computeBodyHash } from '../mesh-envelope.ts'
import { signTextWithNodeKey } from '../identity/node-key.ts'
import type { NodeIdentity } from '../identity/node-key.ts'
import type { InboundCallHandler } from '../inbound-calls.ts'
import { hasPacketMarker } from '../packets/packet.ts'
import type { PacketCallServer } from '../packets/packet-provider.ts'
import { createMeshRefusal } from '../mesh-refusal.ts'
import type { DeliveredAnswer } from '../transport.ts'
import { STREAM_ACK_TIMEOUT_MS, StreamFrameCredit, STREAM_WINDOW_FRAMES } from './stream-credit.ts'
import type { NatsLink } from './nats-link-client.ts'
import { decodeNatsMessageToProvider, encodeNatsMessage, formatUnknownCallTextToSign } from './nats-payload.ts'
import type { NatsMessageToProvider } from './nats-payload.ts'
import { formatCallSubject } from './subject.ts'

export interface NatsCallServerOptions {
  readonly link: NatsLink
  readonly identity: NodeIdentity
  readonly inbound: InboundCallHandler
  readonly packets: PacketCallServer
  readonly maxBodyBytes: number
  readonly clock: Clock
}

interface Served {
  readonly controller: AbortController
  readonly credit: StreamFrameCredit
  lastReceivedMs: number
}

const KEEP_REPLIES_MS = 60_000
const MAX_STORED_REPLIES = 1_024
const MAX_STORED_REPLY_BYTES = 65_536
const TICK_MS = 1_000

export class NatsCallServer {
  readonly #options: NatsCallServerOptions
  readonly #running = new Map<string, Served>()
  readonly #replies = new Map<string, { readonly payload: Uint8Array; readonly untilMs: number }>()
  readonly #timer: NodeJS.Timeout
  #subscribed: string | undefined
  /** Until this time there were replies that are not kept any more. */
  #forgetfulUntilMs = 0
  /** The counters for `$SRV.STATS`. */
  readonly stats = { requests: 0, errors: 0, busyMs: 0, lastError: '' }

  constructor(options: NatsCallServerOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#timer.unref()
  }

  subscribe(communityId: string): void {
    const subject = formatCallSubject(communityId, this.#options.identity.id)
    if (this.#subscribed === subject) return
    this.#subscribed = subject
    this.#options.link.subscribe(subject, (message) => this.#receive(message))
  }

  get subject(): string | undefined {
    return this.#subscribed
  }

  close(): void {
    clearInterval(this.#timer)
    for (const served of this.#running.values()) withdraw(served, 'the node stops')
    this.#options.packets.close()
  }

  #receive(message: Msg): void {
    if (hasPacketMarker(message.data)) {
      this.#packet(message)
      return
    }
    const decoded = decodeNatsMessageToProvider(message.data)
    if (!decoded.ok) return
    const { head, body } = decoded.value
    if (head.t === 'call') {
      if (message.reply !== undefined && !this.#running.has(message.reply)) void this.#serve(message.reply, head, body)
      return
    }
    const served = this.#running.get(head.r)
    if (head.t === 'cancel') withdraw(served, 'the caller withdrew')
    else if (head.t === 'again') this.#again(head, served)
    else if (served !== undefined) {
      served.lastReceivedMs = this.#options.clock.monotonic()
      served.credit.take(head.n)
    }
  }

  #packet({ data, reply }: Msg): void {
    if (reply === undefined || reply === '') return
    const { packets, link } = this.#options
    packets.receive(fromUtf8(data) ?? '', {
      shownBy: undefined,
      mayLose: true,
      maxBytes: link.maxPayload,
      running: 0,
      answer: (packet) => this.#publish(reply, packet),
      served: (status, ms) => this.#count(status, ms),
    })
  }

  #count(status: number, ms: number): void {
    this.stats.requests++
    this.stats.busyMs += ms
    if (status < 500) return
    this.stats.errors++
    this.stats.lastError = `${status}`
  }

  async #serve(reply: string, head: Extract<NatsMessageToProvider, { t: 'call' }>, body: Uint8Array): Promise<void> {
    const { inbound, maxBodyBytes, clock } = this.#options
    const startedMs = clock.monotonic()
    const served = {
      controller: new AbortController(),
      credit: new StreamFrameCredit(head.w ?? STREAM_WINDOW_FRAMES),
      lastReceivedMs: startedMs,
    }
    this.#running.set(reply, served)
    const delivered = await inbound.receive(
      {
        field: (name) => (Object.hasOwn(head.f, name) ? head.f[name] : undefined),
        proof: head.p,
        body: body.length > maxBodyBytes ? undefined : body,
      },
      { signal: served.controller.signal, emit: (frame) => this.#frame(reply, served, frame) },
    )
    this.#running.delete(reply)
    this.#count(delivered.status, clock.monotonic() - startedMs)
    this.#answer(reply, delivered, head.f['request_id'] ?? '')
  }

  #answer(reply: string, delivered: DeliveredAnswer, requestId: string): void {
    const { link, clock } = this.#options
    let payload = encodeNatsMessage({ t: 'reply', s: delivered.status, p: delivered.proof }, delivered.text)
    const limit = link.maxPayload
    if (payload.length > limit) payload = this.#tooLarge(requestId, limit)
    const untilMs = clock.monotonic() + KEEP_REPLIES_MS
    const isFull = this.#replies.size >= MAX_STORED_REPLIES
    if (isFull || payload.length > MAX_STORED_REPLY_BYTES) this.#forgetfulUntilMs = untilMs
    if (isFull) this.#replies.delete(this.#replies.keys().next().value ?? '')
    if (payload.length <= MAX_STORED_REPLY_BYTES) this.#replies.set(reply, { payload, untilMs })
    this.#publish(reply, payload)
  }

  #tooLarge(requestId: string, limit: number): Uint8Array {
    const { identity } = this.#options
    const sentence = `The answer is larger than the ${limit} bytes that the NATS server takes. Any change it made stands.`
    const { status, text } = encodeOutcome(fail(createMeshRefusal('internal_error', 'too-large', sentence)))
    const covered = formatAnswerTextToSign({ requestId, from: identity.id, status, bodyHash: computeBodyHash(text) })
    return encodeNatsMessage({ t: 'reply', s: status, p: signTextWithNodeKey(identity, covered) }, text)
  }

  async #frame(reply: string, { controller, credit }: Served, { event, data }: StreamFrame): Promise<void> {
    await credit.ready()
    if (controller.signal.aborted) throw new Error('the caller went away')
    this.#publish(reply, encodeNatsMessage({ t: 'frame', n: credit.next(), e: event }, JSON.stringify(data)))
  }

  /** The caller lost its connection and requests the outcome of a call. */
  #again(
    { r: reply, c: challenge, k: keyId }: Extract<NatsMessageToProvider, { t: 'again' }>,
    served: Served | undefined,
  ): void {
    if (served !== undefined) return
    const stored = this.#replies.get(reply)
    if (stored !== undefined) {
      this.#publish(reply, stored.payload)
      return
    }
    // A process that has restarted does not know what the one before it did, and must not state that nothing was done;
    // nor must one whose replies were too large or too many to keep.
    const isForgetful = this.#options.clock.monotonic() < this.#forgetfulUntilMs
    if (keyId === undefined || isForgetful || !this.#options.inbound.knowsSession(keyId)) {
      this.#publish(reply, encodeNatsMessage({ t: 'forgotten' }))
      return
    }
    const proof = signTextWithNodeKey(this.#options.identity, formatUnknownCallTextToSign(reply, challenge))
    this.#publish(reply, encodeNatsMessage({ t: 'unknown', p: proof }))
  }

  /** While the connection is down, the client keeps the message and sends it after a reconnect. */
  #publish(subject: string, payload: Uint8Array | string): void {
    this.#options.link.publish(subject, payload)
  }

  #tick(): void {
    const nowMs = this.#options.clock.monotonic()
    for (const served of this.#running.values())
      if (served.credit.isWaiting && nowMs - served.lastReceivedMs > STREAM_ACK_TIMEOUT_MS)
        withdraw(served, 'nobody takes the frames')
    for (const [reply, { untilMs }] of this.#replies) {
      if (untilMs > nowMs) break
      this.#replies.delete(reply)
    }
  }
}

/** Also wakes a handler that waits for its reader. */
function withdraw(served: Served | undefined, why: string): void {
  served?.controller.abort(new DOMException(why, 'AbortError'))
  served?.credit.close(new Error(why))
}
