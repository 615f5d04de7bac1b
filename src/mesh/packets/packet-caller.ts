/**
 * Packet caller: sends small calls to other nodes. Calls that are made in one moment are sent in one packet.
 *
 *   made ─▶ gathered until the moment is over ─▶ sent ─▶ answered
 *                  │ the connection refuses            │ the connection broke: unknown, unless idempotent
 *                  ▼                                   │ no subscriber there: equivalent to never sent
 *               unsent                                 │ a second without answer where some may get lost:
 *                                                      │ the outcome is requested
 *
 * Pure: connections do the I/O; a moment is over when all input that has arrived was processed.
 */
import { createTimeoutOrCancelFault } from '../../bus/provider-attempt.ts'
import type { Call, Outcome } from '../../bus/call.ts'
import { RunningCallTicket } from '../../bus/call-ticket.ts'
import type { CallEndListener } from '../../bus/call-ticket.ts'
import type { Clock } from '../../core/clock.ts'
import { parseJsonOrUndefined } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import { decodeParsedOutcome } from '../mesh-answer.ts'
import { verifyText } from '../identity/node-key.ts'
import { readMeshRefusalReason } from '../mesh-refusal.ts'
import type { MeshSession } from '../sessions.ts'
import { readAbortCause, createLostAnswerFault } from '../transport.ts'
import type { PacketConnectionListener, PacketConnection } from '../transport.ts'
import { PendingCallTable } from './pending-call-table.ts'
import { PacketProcessingQueue } from './packet-processing-queue.ts'
import {
  formatPacketHeaderToSign,
  decodePacket,
  encodePacket,
  DEFAULT_CALLS_PER_PACKET,
  MAX_CALLS_PER_PACKET,
  MAX_BATCHED_BYTES,
} from './packet.ts'
import type { Packet, PacketHeader } from './packet.ts'
import { encodePacketCallList, countPacketCallBytes } from './packet-call.ts'
import type { PacketCallText } from './packet-call.ts'
import { matchesExpectedPacketProof, computeSessionPacketProof } from './packet-proof.ts'

/**
 * `unsent`: no byte of it was sent. `stale`: the peer no longer accepts calls under this session. In both cases nothing
 * was tried, or the call is idempotent.
 */
export type UnsentReason = 'unsent' | 'stale'

export interface PacketRequest {
  readonly text: PacketCallText
  readonly idempotent: boolean
  readonly call: Call
  /** What to do with a call that was not sent. */
  readonly otherwise: (why: UnsentReason) => Promise<Outcome>
}

/**
 * Most calls are answered within this time; the outcome of the others is requested, if the connection may lose answers.
 */
const PATIENCE_MS = 1_000
const MAX_MISSED = 4

class Waiting implements CallEndListener {
  readonly request: PacketRequest
  readonly calls: SessionCalls
  readonly wire: PacketConnection
  readonly #resolve: (outcome: Outcome | Promise<Outcome>) => void
  readonly #withdraw: (waiting: Waiting) => void
  /** The ticket reports the end of the call, which is cheaper than a listener on a signal. */
  readonly #ticket: RunningCallTicket | undefined
  readonly #aborted: (() => void) | undefined
  /** The number of the call; 0 until it is sent. */
  number = 0
  /** The number of the first call in its packet. */
  first = 0
  sentMs = 0
  questions = 0
  missed = 0
  isSettled = false

  constructor(
    calls: SessionCalls,
    wire: PacketConnection,
    how: { request: PacketRequest; resolve: Waiting['settle']; withdraw: (it: Waiting) => void },
  ) {
    this.calls = calls
    this.wire = wire
    this.request = how.request
    this.#resolve = how.resolve
    this.#withdraw = how.withdraw
    const { ticket, signal } = how.request.call
    // A hedged call has a signal of its own.
    this.#ticket = ticket instanceof RunningCallTicket && ticket.signal === signal ? ticket : undefined
    wire.inFlight++
    if (this.#ticket !== undefined) this.#ticket.employ(this)
    else {
      this.#aborted = () => this.callEnded()
      signal.addEventListener('abort', this.#aborted, { once: true })
    }
  }

  callEnded(): void {
    this.#withdraw(this)
  }

  settle(outcome: Outcome | Promise<Outcome>): void {
    if (this.isSettled) return
    this.isSettled = true
    this.wire.inFlight--
    this.calls.waiting.delete(this.number)
    if (this.#ticket !== undefined) this.#ticket.dismiss(this)
    else if (this.#aborted !== undefined) this.request.call.signal.removeEventListener('abort', this.#aborted)
    this.#resolve(outcome)
  }

  untried(why: UnsentReason): void {
    if (!this.isSettled) this.settle(this.request.otherwise(why))
  }

  /**
   * A number is used once: either another party repeated our packet and the call was carried out, or the counter is
   * wrong.
   */
  wasSeenBefore(): void {
    if (this.request.idempotent) this.untried('stale')
    else this.lose('its number was used before')
  }

  lose(why: string): void {
    this.settle(fail(createLostAnswerFault(this.wire.nodeId, this.request.idempotent, why)))
  }
}

/**
 * The running calls of one session. A session numbers its calls upwards, and the far end remembers the numbers that it
 * has seen.
 */
interface SessionCalls {
  readonly session: MeshSession
  readonly waiting: PendingCallTable<Waiting>
  /** Calls of this moment for one connection. */
  gathered: Waiting[]
  gatheredBytes: number
  next: number
  /**
   * How many answers the last packet had, unless calls were sent since: about as many new calls are likely to follow.
   */
  answered: number
}

export class PacketCaller implements PacketConnectionListener {
  readonly #clock: Clock
  readonly #sessions = new Map<string, SessionCalls>()
  readonly #due: SessionCalls[] = []
  readonly #flushAll = (): void => {
    for (const calls of this.#due.splice(0)) this.#flush(calls)
  }

  /** The calls that follow from one packet of answers are sent before the next packet is processed. */
  readonly #inTurn = new PacketProcessingQueue<string>((text) => {
    this.#flushAll()
    this.#read(text)
  })

  readonly #withdraw = (waiting: Waiting): void => {
    const { wire, calls, number, sentMs } = waiting
    if (number !== 0) {
      wire.send(about('cancel', number, calls.session), calls.session.id, 0)
      // Nothing has arrived since, so the connection may be dead.
      if (this.#clock.monotonic() - sentMs >= PATIENCE_MS) wire.doubt(sentMs)
    }
    waiting.settle(cutOffRead(waiting.request.call))
  }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  call(wire: PacketConnection, session: MeshSession, request: PacketRequest): Promise<Outcome> {
    const { call, text } = request
    if (call.signal.aborted) return Promise.resolve(cutOffRead(call))
    const calls = this.#callsOf(session)
    const other = calls.gathered[0]
    const length = countPacketCallBytes(text)
    const isFull = calls.gatheredBytes + length > MAX_BATCHED_BYTES || calls.gathered.length >= mostTogether(calls)
    if (other !== undefined && (isFull || other.wire !== wire)) this.#flush(calls)
    return new Promise((resolve) => {
      calls.gathered.push(new Waiting(calls, wire, { request, resolve, withdraw: this.#withdraw }))
      calls.gatheredBytes += length
      if (calls.gathered.length > 1) return
      // A single call is sent at once; calls of a burst, and those that follow from a burst of answers, wait for each
      // other.
      if (calls.waiting.size === 0 && calls.answered <= 1) this.#flush(calls)
      else this.#flushLater(calls)
    })
  }

  /** Handles a text from a connection. Unproven packets are ignored; the call then ends with its deadline. */
  hear(text: string): void {
    this.#inTurn.add(text)
  }

  #read(text: string): void {
    const packet = decodePacket(text)
    const calls = packet && this.#sessions.get(packet.head.keyId)
    if (packet === undefined || calls === undefined) return
    const { head } = packet
    if (head.kind === 'answer') this.#answers(packet, calls)
    else if (head.kind === 'refusal') this.#refused(head, packet, calls)
    else if (head.kind === 'forgotten')
      calls.waiting.get(head.number)?.lose('it has restarted, or too much happened since')
    else if (head.kind === 'unknown') this.#unknown(head.number, packet, calls)
  }

  broke(wire: PacketConnection, why: string): void {
    for (const calls of this.#sessions.values()) {
      for (const waiting of calls.gathered.filter((each) => each.wire === wire)) waiting.untried('unsent')
      for (const waiting of calls.waiting.values()) if (waiting.wire === wire) waiting.lose(why)
    }
  }

  /** The broker reports that a packet, or a request about one of its calls, found no subscriber. */
  nobody(keyId: string, number: number): void {
    const calls = this.#sessions.get(keyId)
    for (let at = number; at < number + MAX_CALLS_PER_PACKET; at++) {
      const waiting = calls?.waiting.get(at)
      if (waiting === undefined) continue
      if (waiting.questions === 0 && waiting.first === number) waiting.untried('unsent')
      // The provider may be reconnecting, and have the answer.
      else if (waiting.questions > 0 && at === number && ++waiting.missed >= MAX_MISSED)
        waiting.lose('nobody listens there any more')
    }
  }

  /** Runs periodically: requests the outcome of calls that were not answered. */
  tick(): void {
    const nowMs = this.#clock.monotonic()
    for (const { session, waiting } of this.#sessions.values())
      for (const each of waiting.values()) {
        if (!each.wire.mayLose || nowMs - each.sentMs < PATIENCE_MS) continue
        each.questions++
        each.wire.send(about('again', each.number, session), session.id, each.number)
      }
  }

  #flushLater(calls: SessionCalls): void {
    if (this.#due.length === 0) setImmediate(this.#flushAll)
    this.#due.push(calls)
  }

  #flush(calls: SessionCalls): void {
    const { session } = calls
    const gathered = calls.gathered.filter(({ isSettled }) => !isSettled)
    calls.gathered = []
    calls.gatheredBytes = 0
    calls.answered = 0
    const wire = gathered[0]?.wire
    if (wire === undefined) return
    const first = calls.next
    calls.next += gathered.length
    const sentMs = this.#clock.monotonic()
    for (const [index, waiting] of gathered.entries()) {
      waiting.number = first + index
      waiting.first = first
      waiting.sentMs = sentMs
      calls.waiting.set(waiting.number, waiting)
    }
    const payload = `[${this.#clock.now()}${encodePacketCallList(gathered.map(({ request }) => request.text))}]`
    const covered = formatPacketHeaderToSign({ kind: 'call', keyId: session.id, first, count: gathered.length })
    const packet = encodePacket(covered, computeSessionPacketProof('call', covered, payload, session), payload)
    if (wire.send(packet, session.id, first)) return
    for (const waiting of gathered) waiting.untried('unsent')
  }

  #answers(packet: Packet, calls: SessionCalls): void {
    const { session, waiting } = calls
    if (!matchesExpectedPacketProof('answer', packet, session)) return
    const answers = parseJsonOrUndefined(packet.payload)
    if (!Array.isArray(answers)) return
    calls.answered = answers.length
    const share = Math.round(Buffer.byteLength(packet.payload) / Math.max(1, answers.length))
    for (const answer of answers as readonly unknown[]) {
      if (!Array.isArray(answer)) continue
      const [number, status, body] = answer as readonly unknown[]
      const waited = typeof number === 'number' ? waiting.get(number) : undefined
      if (waited === undefined || typeof status !== 'number') continue
      waited.request.call.ticket?.bytes(share, countPacketCallBytes(waited.request.text))
      const outcome = decodeParsedOutcome(status, body)
      if (!outcome.ok && readMeshRefusalReason(outcome.fault) === 'replayed') waited.wasSeenBefore()
      else waited.settle(outcome)
    }
  }

  #refused(
    { first, count }: Extract<PacketHeader, { kind: 'call' | 'refusal' }>,
    { covered, proof, payload }: Packet,
    { session, waiting }: SessionCalls,
  ): void {
    if (!verifyText(session.peer, `packet ${covered}${payload}`, proof)) return
    const [status, body] = parsedPair(payload)
    const outcome = decodeParsedOutcome(status, body)
    const isStale = !outcome.ok && readMeshRefusalReason(outcome.fault) === 'unknown-session'
    for (let number = first; number < first + count; number++) {
      if (isStale) waiting.get(number)?.untried('stale')
      else waiting.get(number)?.settle(outcome)
    }
  }

  /** The provider's own signed statement that the call never came, and will never be carried out. */
  #unknown(number: number, { covered, proof }: Packet, { session, waiting }: SessionCalls): void {
    if (verifyText(session.peer, `packet ${covered}`, proof)) waiting.get(number)?.untried('unsent')
  }

  #callsOf(session: MeshSession): SessionCalls {
    const known = this.#sessions.get(session.id)
    if (known !== undefined) return known
    const nowMs = this.#clock.monotonic()
    for (const [keyId, old] of this.#sessions)
      if (old.session.endsMs < nowMs && old.waiting.size === 0 && old.gathered.length === 0)
        this.#sessions.delete(keyId)
    const calls: SessionCalls = {
      session,
      waiting: new PendingCallTable(),
      gathered: [],
      gatheredBytes: 0,
      next: 1,
      answered: 0,
    }
    this.#sessions.set(session.id, calls)
    return calls
  }
}

/**
 * Half of the running calls, so that both ends work at the same time; but a packet should have more than a few calls.
 */
function mostTogether({ session, waiting, gathered }: SessionCalls): number {
  return Math.min(session.callsPerPacket, Math.max(DEFAULT_CALLS_PER_PACKET, (waiting.size + gathered.length) / 2))
}

/** Proven like the call itself, so that no other party can cancel it or request its outcome. */
function about(kind: 'cancel' | 'again', number: number, session: MeshSession): string {
  const covered = formatPacketHeaderToSign({ kind, keyId: session.id, number })
  return encodePacket(covered, computeSessionPacketProof('call', covered, '', session))
}

/** The fault that the bus uses for any provider that was cut off. */
function cutOffRead(call: Call): Outcome {
  return fail(createTimeoutOrCancelFault(call, 'reads', readAbortCause(call.signal)))
}

function parsedPair(text: string): readonly [number, unknown] {
  const value: unknown = parseJsonOrUndefined(text)
  // A signed answer that is malformed still counts as an answer, with status 500.
  return Array.isArray(value) && typeof value[0] === 'number' ? [value[0], value[1]] : [500, undefined]
}
