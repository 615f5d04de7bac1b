/**
 * Virtual bus: two wires, one symbol at a time, everybody on them hearing the AND of everybody sending.
 *
 *   idle ──somebody starts, or 40 ms of quiet──▶ symbol on the wire ──4.17 ms──▶ everybody hears it ──▶ idle
 *
 * Time is an input: `advance` plays everything up to a moment, however far away, so a day takes a second in a test and
 * a day in a demo. Who starts within the same arbitration window collides; who is later hears that the bus is taken.
 *
 * Pure, but for the bus it is given.
 */
import { AUTO_SYN_INTERVAL_MS, SYMBOL_DURATION_MS, SYN } from '../../ebus/wire/symbol.ts'

export interface PlannedSymbol {
  readonly symbol: number
  /** From the end of the symbol just heard. */
  readonly afterMs: number
}

export interface BusParticipant {
  /** A symbol stood on the wire until `nowMs`. Returns what this one sends next, if nobody is faster. */
  heard(symbol: number, nowMs: number): PlannedSymbol | undefined
  /**
   * Whether the telegram under way belongs to somebody outside this program, whose next symbol takes a network's time.
   * An accelerated bus waits for such a one; at 2400 Bd it makes no difference.
   */
  readonly isOutsideOwner?: () => boolean
}

/** What happens to the wire on command; each is asked for every symbol. */
export interface WireDisturbance {
  /** The symbol as it arrives; `undefined` when it is lost to everybody. */
  distort(symbol: number, nowMs: number): number | undefined
  /** While this holds, the line is held low: no symbol can be framed and no SYN is heard. */
  isStuck(nowMs: number): boolean
}

export interface VirtualBusOptions {
  readonly disturbance?: WireDisturbance
  /** How long a telegram owned from outside may pause before the AUTO-SYN cuts it, if that is more than 40 ms. */
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

  /** Symbols that have stood on the wire. */
  get symbols(): number {
    return this.#symbols
  }

  join(participant: BusParticipant): void {
    this.#participants.set(participant, undefined)
  }

  leave(participant: BusParticipant): void {
    this.#participants.delete(participant)
  }

  /** A symbol from outside the bus's own rhythm. Whoever speaks into a symbol garbles it. */
  send(participant: BusParticipant, symbol: number, nowMs: number): void {
    this.advance(nowMs)
    // A low level wins: the bus is a wired AND.
    if (this.#current !== undefined) this.#current.symbol &= symbol
    else this.#participants.set(participant, { symbol, startMs: nowMs })
    this.advance(nowMs)
  }

  /** When something happens next if nobody interferes. */
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
    // Distorted once, for everybody: noise on the wire is heard by all, its sender too.
    const arriving = disturbance === undefined ? symbol : disturbance.distort(symbol, endMs)
    if (arriving === undefined) return
    for (const participant of this.#participants.keys()) {
      const intent = participant.heard(arriving, endMs)
      if (intent === undefined) continue
      this.#participants.set(participant, { symbol: intent.symbol, startMs: endMs + intent.afterMs })
    }
  }

  /** Whoever generates the SYN does so after 40 ms of quiet; here it is the bus itself. */
  #synDueMs(): number {
    const { outsidePatienceMs = 0 } = this.#options
    let patienceMs = AUTO_SYN_INTERVAL_MS
    if (outsidePatienceMs > AUTO_SYN_INTERVAL_MS)
      for (const { isOutsideOwner } of this.#participants.keys())
        if (isOutsideOwner?.() === true) patienceMs = outsidePatienceMs
    return this.#lastEndMs + patienceMs
  }
}
