/**
 * Packet provider: serves small calls of other nodes, and answers those together that are done at the same moment.
 *
 *   packet ─▶ gate ─▶ each call: rate? replay? ─▶ bus ─▶ answers of one moment ─▶ one packet
 *
 * Answers over a connection that may lose them are kept for a while. If the outcome of a call is requested that was
 * never received, the provider signs that, and never carries the call out afterwards.
 *
 * Pure: the transports receive packets and send the answers.
 */
import type { InboundPeerCallHandle } from '../../bus/bus.ts'
import type { Outcome } from '../../bus/call.ts'
import type { Fault } from '../../core/fault.ts'
import { fail } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { encodeOutcome } from '../mesh-answer.ts'
import { checkPeerRateLimit } from '../message-gate.ts'
import type { MessageAdmission, MessageGateDependencies } from '../message-gate.ts'
import { signTextWithNodeKey } from '../identity/node-key.ts'
import type { NodeIdentity } from '../identity/node-key.ts'
import type { InboundCallHandler } from '../inbound-calls.ts'
import { createMeshRefusal } from '../mesh-refusal.ts'
import type { MeshSession } from '../sessions.ts'
import { PendingCallTable } from './pending-call-table.ts'
import { PacketProcessingQueue } from './packet-processing-queue.ts'
import { AnswerPacketResendBuffer } from './answer-packet-resend-buffer.ts'
import {
  formatPacketHeaderToSign,
  decodePacket,
  encodePacket,
  MAX_CALLS_PER_PACKET,
  MAX_BATCHED_BYTES,
} from './packet.ts'
import type { Packet, PacketHeader } from './packet.ts'
import { decodePacketCallArray } from './packet-call.ts'
import type { PacketCall } from './packet-call.ts'
import { admitPacket } from './packet-gate.ts'
import { matchesExpectedPacketProof, computeSessionPacketProof } from './packet-proof.ts'
import { SequenceWindow } from './sequence-window.ts'

/** The connection that packets come from, and to which answers are sent. */
export interface InboundPacketConnection {
  /** The node whose key is at the other end; `undefined` if it is a broker. */
  readonly shownBy: string | undefined
  readonly mayLose: boolean
  /** The largest packet that it accepts. */
  readonly maxBytes: number
  /** How many of its calls are running. */
  running: number
  readonly answer: (packet: string) => void
  readonly served?: (status: number, ms: number) => void
}

export interface PacketCallServerDependencies {
  readonly identity: NodeIdentity
  readonly gate: MessageGateDependencies
  readonly inbound: InboundCallHandler
  readonly maxBodyBytes: number
}

interface Running {
  readonly serving: InboundPeerCallHandle
  readonly source: InboundPacketConnection
}

/** One call of an accepted packet, and where its answer is sent. */
interface PacketCallArrival {
  readonly number: number
  readonly caller: MessageAdmission['caller']
  readonly source: InboundPacketConnection
  readonly startedMs: number
}

interface Served {
  readonly session: MeshSession
  readonly seen: SequenceWindow
  readonly running: PendingCallTable<Running>
  readonly resendBuffer: AnswerPacketResendBuffer
  /** Answers of this moment for one source. */
  gathered: string[]
  gatheredBytes: number
  source: InboundPacketConnection
  /** One of its packets is being processed: refusals that are ready wait for the other answers. */
  isReading: boolean
}

export class PacketCallServer {
  readonly #parts: PacketCallServerDependencies
  readonly #served = new Map<string, Served>()
  readonly #due: Served[] = []
  readonly #flushAll = (): void => {
    for (const served of this.#due.splice(0)) this.#flush(served)
  }

  readonly #inTurn = new PacketProcessingQueue<{ readonly text: string; readonly source: InboundPacketConnection }>(
    ({ text, source }) => this.#read(text, source),
  )

  constructor(parts: PacketCallServerDependencies) {
    this.#parts = parts
  }

  /** Never throws. */
  receive(text: string, source: InboundPacketConnection): void {
    this.#inTurn.add({ text, source })
  }

  #read(text: string, source: InboundPacketConnection): void {
    const packet = decodePacket(text)
    if (packet === undefined) return
    const { head } = packet
    if (head.kind === 'call') this.#calls(head, packet, source)
    if ((head.kind !== 'again' && head.kind !== 'cancel') || !this.#isCallers(packet, source)) return
    if (head.kind === 'again') this.#again(head.keyId, head.number, source)
    else this.#served.get(head.keyId)?.running.get(head.number)?.serving.withdraw('the caller withdrew')
  }

  /** The other end has disconnected. */
  gone(source: InboundPacketConnection): void {
    for (const { running } of this.#served.values())
      for (const run of running.values()) if (run.source === source) run.serving.withdraw('the caller went away')
  }

  /** The node stops: running handlers are aborted. */
  close(): void {
    for (const { running } of this.#served.values())
      for (const { serving } of running.values()) serving.withdraw('the node stops')
  }

  /**
   * Only the caller itself may cancel a call or request its outcome. A call whose outcome was requested and that never
   * came is refused from then on, so another party that could request outcomes of future numbers could have every call
   * refused (ADR 87).
   */
  #isCallers(packet: Packet, { shownBy }: InboundPacketConnection): boolean {
    const { keyId } = packet.head
    const session = this.#served.get(keyId)?.session ?? this.#parts.gate.sessions.find(keyId)
    // Nothing is known of the call, and the answer will only say that.
    if (session === undefined) return true
    return (shownBy === undefined || shownBy === session.peer) && matchesExpectedPacketProof('call', packet, session)
  }

  #calls(
    head: Extract<PacketHeader, { kind: 'call' | 'refusal' }>,
    packet: Packet,
    source: InboundPacketConnection,
  ): void {
    const admitted = admitPacket(packet, source.shownBy, this.#parts.gate)
    if (!admitted.ok) {
      this.#refuse(head, admitted.fault, source)
      return
    }
    const { session, caller, calls } = admitted.value
    if (calls.length !== head.count) {
      this.#refuse(
        head,
        createMeshRefusal('bad_request', 'envelope', 'The packet holds another number of calls than it says.'),
        source,
      )
      return
    }
    const served = this.#servedOf(session, source)
    const mayBeTooLarge = packet.payload.length * MAX_BYTES_PER_CHARACTER > this.#parts.maxBodyBytes
    let request: PacketCall | undefined
    served.isReading = true
    for (let index = 0; index < calls.length; index++) {
      request = decodePacketCallArray(calls[index], request)
      const arrival = { number: head.first + index, caller, source, startedMs: this.#parts.gate.clock.monotonic() }
      this.#serve(served, arrival, { request, mayBeTooLarge })
    }
    served.isReading = false
    if (served.running.size === 0) this.#flush(served)
  }

  #serve(
    served: Served,
    arrival: PacketCallArrival,
    decoded: { readonly request: PacketCall | undefined; readonly mayBeTooLarge: boolean },
  ): void {
    const { number, source } = arrival
    const serving = this.#start(served, arrival, decoded)
    if (!serving.ok) {
      this.#answer(served, arrival, serving)
      return
    }
    served.running.set(number, { serving: serving.value, source })
    source.running++
    void this.#finish(served, arrival, serving.value)
  }

  async #finish(served: Served, arrival: PacketCallArrival, serving: InboundPeerCallHandle): Promise<void> {
    // It never rejects: an error inside becomes an outcome.
    const outcome = await serving.outcome
    served.running.delete(arrival.number)
    arrival.source.running--
    this.#answer(served, arrival, outcome)
  }

  #start(
    { seen }: Served,
    { number, caller, startedMs }: PacketCallArrival,
    { request, mayBeTooLarge }: { readonly request: PacketCall | undefined; readonly mayBeTooLarge: boolean },
  ): Result<InboundPeerCallHandle, Fault> {
    const { inbound, maxBodyBytes, gate } = this.#parts
    if (request === undefined)
      return fail(createMeshRefusal('bad_request', 'envelope', 'The call is not as packets hold them.'))
    if (mayBeTooLarge && Buffer.byteLength(JSON.stringify(request.body)) > maxBodyBytes)
      return fail(createMeshRefusal('bad_request', 'too-large', 'The body is larger than this node takes.'))
    const tooOften = checkPeerRateLimit({ from: caller.id, capability: request.capability }, startedMs, gate)
    if (tooOften !== undefined) return fail(tooOften)
    if (!seen.see(number))
      return fail(
        createMeshRefusal(
          'expired',
          'replayed',
          `Call ${number} of this session was received before. Send it again under a new number.`,
        ),
      )
    try {
      return inbound.servePacketCall(request, caller, startedMs)
    } catch (error) {
      return inbound.mistake(error)
    }
  }

  #answer(served: Served, { number, source, startedMs }: PacketCallArrival, outcome: Outcome): void {
    const { inbound, gate } = this.#parts
    const { status, text } = inbound.encoded(outcome)
    source.served?.(status, gate.clock.monotonic() - startedMs)
    const answer =
      text.length * MAX_BYTES_PER_CHARACTER < source.maxBytes || Buffer.byteLength(text) < source.maxBytes - HEAD_BYTES
        ? `[${number},${status},${text}]`
        : tooLarge(number, source.maxBytes)
    this.#gather(served, answer, source)
  }

  #gather(served: Served, answer: string, source: InboundPacketConnection): void {
    const isFull =
      served.gatheredBytes + answer.length > MAX_BATCHED_BYTES || served.gathered.length >= MAX_CALLS_PER_PACKET
    if (served.gathered.length > 0 && (isFull || (served.source !== source && !source.mayLose))) this.#flush(served)
    served.source = source
    served.gathered.push(answer)
    served.gatheredBytes += answer.length
    // No other call of the packet is running, so the answer is sent at once.
    if (served.running.size === 0 && !served.isReading) {
      this.#flush(served)
      return
    }
    if (served.gathered.length > 1) return
    if (this.#due.length === 0) setImmediate(this.#flushAll)
    this.#due.push(served)
  }

  #flush(served: Served): void {
    const { session, gathered, source } = served
    if (gathered.length === 0) return
    const payload = `[${gathered.join(',')}]`
    served.gathered = []
    served.gatheredBytes = 0
    const covered = formatPacketHeaderToSign({ kind: 'answer', keyId: session.id })
    const packet = encodePacket(covered, computeSessionPacketProof('answer', covered, payload, session), payload)
    if (source.mayLose) served.resendBuffer.store(packet)
    source.answer(packet)
  }

  /**
   * Signed, because there may be no session to prove it with, and a false "nothing was tried" would make the caller
   * repeat a call that ran.
   */
  #refuse(
    { keyId, first, count }: Extract<PacketHeader, { kind: 'call' | 'refusal' }>,
    fault: Fault,
    source: InboundPacketConnection,
  ): void {
    const { status, text } = encodeOutcome(fail(fault))
    const payload = `[${status},${text}]`
    const covered = formatPacketHeaderToSign({ kind: 'refusal', keyId, first, count })
    source.answer(
      encodePacket(covered, signTextWithNodeKey(this.#parts.identity, `packet ${covered}${payload}`), payload),
    )
  }

  /** The caller has waited for long, or lost its connection, and requests the outcome of a call. */
  #again(keyId: string, number: number, source: InboundPacketConnection): void {
    const served = this.#served.get(keyId)
    const session = this.#parts.gate.sessions.find(keyId)
    // The call is running, or its answer is about to be sent.
    if (served?.running.has(number) === true || (served?.gathered.length ?? 0) > 0) return
    const stored = served?.resendBuffer.find(number)
    if (served !== undefined && stored !== undefined) {
      this.#gather(served, stored, source)
      return
    }
    // A process that has restarted does not know what the one before it did, and must not state that nothing was done.
    if (session === undefined || served?.seen.has(number) === true) {
      source.answer(encodePacket(formatPacketHeaderToSign({ kind: 'forgotten', keyId, number })))
      return
    }
    this.#servedOf(session, source).seen.see(number)
    const covered = formatPacketHeaderToSign({ kind: 'unknown', keyId, number })
    source.answer(encodePacket(covered, signTextWithNodeKey(this.#parts.identity, `packet ${covered}`)))
  }

  #servedOf(session: MeshSession, source: InboundPacketConnection): Served {
    const known = this.#served.get(session.id)
    if (known !== undefined) return known
    for (const [keyId, { running }] of this.#served)
      if (running.size === 0 && this.#parts.gate.sessions.find(keyId) === undefined) this.#served.delete(keyId)
    const served: Served = {
      session,
      seen: new SequenceWindow(),
      running: new PendingCallTable(),
      resendBuffer: new AnswerPacketResendBuffer(),
      gathered: [],
      gatheredBytes: 0,
      source,
      isReading: false,
    }
    this.#served.set(session.id, served)
    return served
  }
}

/** The worst case of UTF-16 to UTF-8. */
const MAX_BYTES_PER_CHARACTER = 3
/** The bytes of key id, proof, number and status around an answer. */
const HEAD_BYTES = 256

function tooLarge(number: number, limit: number): string {
  const sentence = `The answer is larger than the ${limit} bytes that can be carried. Any change it made stands.`
  const { status, text } = encodeOutcome(
    fail({ ...createMeshRefusal('internal_error', 'too-large', sentence), begun: true }),
  )
  return `[${number},${status},${text}]`
}
