/**
 * Pending packet call: a call that another node was asked to carry out, from the moment in which it is gathered until it
 * is settled, once: with its outcome, as never sent, or as lost.
 *
 *   gathered ─▶ sent under a number ─▶ settled
 */
import { RunningCallTicket } from '../../bus/call-ticket.ts'
import type { CallEndListener } from '../../bus/call-ticket.ts'
import type { Call, Outcome } from '../../bus/call.ts'
import { fail } from '../../core/result.ts'
import type { MeshSession } from '../sessions.ts'
import { createLostMeshAnswerFault } from '../transport.ts'
import type { PacketConnection } from '../transport.ts'
import type { PacketCallText } from './packet-call.ts'
import type { PendingCallTable } from './pending-call-table.ts'

/**
 * `unsent`: no byte of it was sent. `stale`: the peer no longer accepts calls under this session. In both cases nothing
 * was tried, or the call is idempotent.
 */
export type UntriedReason = 'unsent' | 'stale'

export interface PacketCallRequest {
  readonly text: PacketCallText
  readonly idempotent: boolean
  readonly call: Call
  /** What to do with a call that was not sent. */
  readonly otherwise: (why: UntriedReason) => Promise<Outcome>
}

export class PendingPacketCall implements CallEndListener {
  readonly request: PacketCallRequest
  readonly calls: RunningSessionCalls
  readonly wire: PacketConnection
  readonly #resolve: (outcome: Outcome | Promise<Outcome>) => void
  readonly #withdraw: (waiting: PendingPacketCall) => void
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
    calls: RunningSessionCalls,
    wire: PacketConnection,
    how: {
      request: PacketCallRequest
      resolve: PendingPacketCall['settle']
      withdraw: (it: PendingPacketCall) => void
    },
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

  untried(why: UntriedReason): void {
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
    this.settle(fail(createLostMeshAnswerFault(this.wire.nodeId, this.request.idempotent, why)))
  }
}

/**
 * The running calls of one session. A session numbers its calls upwards, and the far end remembers the numbers that it
 * has seen.
 */
export interface RunningSessionCalls {
  readonly session: MeshSession
  readonly waiting: PendingCallTable<PendingPacketCall>
  /** Calls of this moment for one connection. */
  gathered: PendingPacketCall[]
  gatheredBytes: number
  next: number
  /**
   * How many answers the last packet had, unless calls were sent since: about as many new calls are likely to follow.
   */
  answered: number
}
