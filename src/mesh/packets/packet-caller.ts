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
import type { Clock } from '../../core/clock.ts'
import { parseJsonOrUndefined } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import { decodeParsedOutcome } from '../mesh-answer.ts'
import { isNodeSignatureValid } from '../identity/node-key.ts'
import { readMeshRefusalReason } from '../mesh-refusal.ts'
import type { MeshSession } from '../sessions.ts'
import { readAbortCause } from '../transport.ts'
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
import { joinPacketCallTexts, countPacketCallBytes } from './packet-call.ts'
import { matchesExpectedPacketProof, computeSessionPacketProof } from './packet-proof.ts'
import type { RunningSessionCalls, PacketCallRequest } from './pending-packet-call.ts'
import { PendingPacketCall } from './pending-packet-call.ts'

/**
 * Most calls are answered within this time; the outcome of the others is requested, if the connection may lose answers.
 */
const PATIENCE_MS = 1_000
const MAX_MISSED = 4

export class PacketCaller implements PacketConnectionListener {
  readonly #clock: Clock
  readonly #sessions = new Map<string, RunningSessionCalls>()
  readonly #due: RunningSessionCalls[] = []
  readonly #flushAll = (): void => {
    for (const calls of this.#due.splice(0)) this.#flush(calls)
  }

  /** The calls that follow from one packet of answers are sent before the next packet is processed. */
  readonly #inTurn = new PacketProcessingQueue<string>((text) => {
    this.#flushAll()
    this.#read(text)
  })

  readonly #withdraw = (waiting: PendingPacketCall): void => {
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

  call(wire: PacketConnection, session: MeshSession, request: PacketCallRequest): Promise<Outcome> {
    const { call, text } = request
    if (call.signal.aborted) return Promise.resolve(cutOffRead(call))
    const calls = this.#callsOf(session)
    const other = calls.gathered[0]
    const length = countPacketCallBytes(text)
    const isFull = calls.gatheredBytes + length > MAX_BATCHED_BYTES || calls.gathered.length >= mostTogether(calls)
    if (other !== undefined && (isFull || other.wire !== wire)) this.#flush(calls)
    return new Promise((resolve) => {
      calls.gathered.push(new PendingPacketCall(calls, wire, { request, resolve, withdraw: this.#withdraw }))
      calls.gatheredBytes += length
      if (calls.gathered.length > 1) return
      // A single call is sent at once; calls of a burst, and those that follow from a burst of answers, wait for each
      // other.
      if (calls.waiting.size === 0 && calls.answered <= 1) this.#flush(calls)
      else this.#flushLater(calls)
    })
  }

  /** Handles a text from a connection. Unproven packets are ignored; the call then ends with its deadline. */
  receive(text: string): void {
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

  #flushLater(calls: RunningSessionCalls): void {
    if (this.#due.length === 0) setImmediate(this.#flushAll)
    this.#due.push(calls)
  }

  #flush(calls: RunningSessionCalls): void {
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
    const payload = `[${this.#clock.now()}${joinPacketCallTexts(gathered.map(({ request }) => request.text))}]`
    const covered = formatPacketHeaderToSign({ kind: 'call', keyId: session.id, first, count: gathered.length })
    const packet = encodePacket(covered, computeSessionPacketProof('call', covered, payload, session), payload)
    if (wire.send(packet, session.id, first)) return
    for (const waiting of gathered) waiting.untried('unsent')
  }

  #answers(packet: Packet, calls: RunningSessionCalls): void {
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
    { session, waiting }: RunningSessionCalls,
  ): void {
    if (!isNodeSignatureValid(session.peer, `packet ${covered}${payload}`, proof)) return
    const [status, body] = parsedPair(payload)
    const outcome = decodeParsedOutcome(status, body)
    const isStale = !outcome.ok && readMeshRefusalReason(outcome.fault) === 'unknown-session'
    for (let number = first; number < first + count; number++) {
      if (isStale) waiting.get(number)?.untried('stale')
      else waiting.get(number)?.settle(outcome)
    }
  }

  /** The provider's own signed statement that the call never came, and will never be carried out. */
  #unknown(number: number, { covered, proof }: Packet, { session, waiting }: RunningSessionCalls): void {
    if (isNodeSignatureValid(session.peer, `packet ${covered}`, proof)) waiting.get(number)?.untried('unsent')
  }

  #callsOf(session: MeshSession): RunningSessionCalls {
    const known = this.#sessions.get(session.id)
    if (known !== undefined) return known
    const nowMs = this.#clock.monotonic()
    for (const [keyId, old] of this.#sessions)
      if (old.session.endsMs < nowMs && old.waiting.size === 0 && old.gathered.length === 0)
        this.#sessions.delete(keyId)
    const calls: RunningSessionCalls = {
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
function mostTogether({ session, waiting, gathered }: RunningSessionCalls): number {
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
