/**
 * Virtual bus: two wires, one symbol at a time, on which all participants read the AND of all senders.
 *
 *   idle ──a sender, or 40 ms of silence──▶ symbol on the wire ──4.17 ms──▶ all participants get it ──▶ idle
 *
 * Time is an input: `advance` plays everything up to a moment, however far away, so a day takes a second in a test and
 * a day in a demo. Two senders within the same arbitration window collide; a later one finds the bus in use.
 *
 * Pure, but for the bus it is given.
 */
import { AUTO_SYN_INTERVAL_MS, SYMBOL_DURATION_MS, SYN } from '../../ebus/wire/symbol.ts'

export interface PlannedSymbol {
  readonly symbol: number
  /** Counted from the end of the last symbol. */
  readonly afterMs: number
}

export interface BusParticipant {
  /** A symbol was on the wire until `nowMs`. Returns what this participant sends next, unless another one is faster. */
  heard(symbol: number, nowMs: number): PlannedSymbol | undefined
  /**
   * Whether the present telegram belongs to a client outside of this program, whose next symbol takes a network's time.
   * An accelerated bus waits for it; at 2400 Bd it makes no difference.
   */
  readonly isOutsideOwner?: () => boolean
}

/** Disturbances of the wire on command; called for every symbol. */
export interface WireFaultInjector {
  /** The symbol as it arrives; `undefined` when it is lost. */
  distort(symbol: number, nowMs: number): number | undefined
  /** While this is true, the line is held low: no symbol and no SYN can be sent. */
  isStuck(nowMs: number): boolean
}

export interface VirtualBusOptions {
  readonly disturbance?: WireFaultInjector
  /** How long a telegram of an outside client may pause before the AUTO-SYN ends it, if that is more than 40 ms. */
  readonly outsidePatienceMs?: number
}

/** Two addresses this close to each other are sent at once: the arbitration window is 156 µs wide. */
const CONTEST_MS = 0.2

interface Sending {
  readonly symbol: number
  readonly startMs: number
}

export class VirtualBus {
  readonly #participants = new Map<BusParticipant, Sending | undefined>()
  readonly #options: VirtualBusOptions
  #current: { symbol: number; readonly endMs: number } | undefined
  #lastEndMs = 0
  #symbols = 0

  constructor(options: VirtualBusOptions = {}) {
    this.#options = options
  }

  /** How many symbols were on the wire. */
  get symbols(): number {
    return this.#symbols
  }

  join(participant: BusParticipant): void {
    this.#participants.set(participant, undefined)
  }

  leave(participant: BusParticipant): void {
    this.#participants.delete(participant)
  }

  /** A symbol that is not synchronised with the bus. One that is sent into another symbol garbles it. */
  send(participant: BusParticipant, symbol: number, nowMs: number): void {
    this.advance(nowMs)
    // A low level wins: the bus is a wired AND.
    if (this.#current !== undefined) this.#current.symbol &= symbol
    else this.#participants.set(participant, { symbol, startMs: nowMs })
    this.advance(nowMs)
  }

  /** When the next thing happens if no participant sends. */
  nextMs(): number {
    if (this.#current !== undefined) return this.#current.endMs
    let next = this.#synDueMs()
    for (const sending of this.#participants.values())
      if (sending !== undefined && sending.startMs < next) next = sending.startMs
    return next
  }

  advance(nowMs: number): void {
    for (let next = this.nextMs(); next <= nowMs; next = this.nextMs()) {
      if (this.#current === undefined) this.#begin(next)
      else this.#deliver(this.#current.symbol, next)
    }
  }

  #begin(startMs: number): void {
    let symbol = 0xff
    let sent = false
    for (const sending of this.#participants.values()) {
      if (sending === undefined || sending.startMs > startMs + CONTEST_MS) continue
      symbol &= sending.symbol
      sent = true
    }
    this.#current = { symbol: sent ? symbol : SYN, endMs: startMs + SYMBOL_DURATION_MS }
  }

  #deliver(symbol: number, endMs: number): void {
    this.#current = undefined
    this.#lastEndMs = endMs
    for (const participant of this.#participants.keys()) this.#participants.set(participant, undefined)
    const { disturbance } = this.#options
    if (disturbance?.isStuck(endMs) === true) return
    this.#symbols++
    // Distorted once for all, because noise on the wire reaches every participant, including the sender.
    const arriving = disturbance === undefined ? symbol : disturbance.distort(symbol, endMs)
    if (arriving === undefined) return
    for (const participant of this.#participants.keys()) {
      const intent = participant.heard(arriving, endMs)
      if (intent === undefined) continue
      this.#participants.set(participant, { symbol: intent.symbol, startMs: endMs + intent.afterMs })
    }
  }

  /** The SYN comes after 40 ms of silence; here the bus itself generates it. */
  #synDueMs(): number {
    const { outsidePatienceMs = 0 } = this.#options
    let patienceMs = AUTO_SYN_INTERVAL_MS
    if (outsidePatienceMs > AUTO_SYN_INTERVAL_MS)
      for (const { isOutsideOwner } of this.#participants.keys())
        if (isOutsideOwner?.() === true) patienceMs = outsidePatienceMs
    return this.#lastEndMs + patienceMs
  }
}
