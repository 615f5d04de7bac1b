/**
 * Faults: what goes wrong on the virtual bus, on command.
 *
 * Pure, but for the faults it is given.
 */
import type { BusLineDecoderState } from '../../ebus/wire/bus-line.ts'
import { newBusLineDecoder, stepBusLineDecoder } from '../../ebus/wire/bus-line.ts'
import { ESC, SYN } from '../../ebus/wire/symbol.ts'
import type { SeededRandomSource } from './random-state.ts'
import { BusStation } from './station.ts'
import type { WireDisturbance } from './virtual-bus.ts'

/** More important than anybody else, so that it wins whenever it wants. */
const RIVAL = 0x00

export class SimulatedBusFaults implements WireDisturbance {
  readonly #chance: SeededRandomSource
  readonly #line: BusLineDecoderState = newBusLineDecoder()
  #corruptCrcs = 0
  #dropSymbols = 0
  #stuckUntilMs = 0
  #delayMs = 0
  #delayedAnswers = 0
  #nowMs = 0
  /** Silent until there is a storm. */
  readonly rival: BusStation

  constructor(chance: SeededRandomSource) {
    this.#chance = chance
    this.rival = new BusStation({ initiator: RIVAL, targets: [], answer: () => undefined })
  }

  /** The next so many answers carry a wrong checksum. Of a command its own sender would notice before anybody else. */
  corruptCrc(times = 1): void {
    this.#corruptCrcs += times
  }

  /** The next so many symbols inside telegrams do not arrive at all. */
  dropByte(times = 1): void {
    this.#dropSymbols += times
  }

  /** The line is held low for so long: no symbol, no SYN. */
  stickBus(forMs: number): void {
    this.#stuckUntilMs = this.#nowMs + forMs
  }

  /** The next so many acknowledges of targets come this much later. */
  slowResponse(delayMs: number, times = 1): void {
    this.#delayMs = delayMs
    this.#delayedAnswers = times
  }

  /** Somebody more important says so many telegrams, one at every opportunity. */
  arbitrationStorm(telegrams: number): void {
    // As many as a station keeps waiting; more would only be turned away.
    for (let index = 0; index < Math.min(telegrams, 64); index++)
      this.rival.say({ target: 0xfe, primary: 0x07, secondary: 0xff, data: new Uint8Array() })
  }

  responseDelayMs(): number {
    if (this.#delayedAnswers <= 0) return 0
    this.#delayedAnswers--
    return this.#delayMs
  }

  isStuck(nowMs: number): boolean {
    this.#nowMs = nowMs
    return nowMs < this.#stuckUntilMs
  }

  distort(symbol: number, nowMs: number): number | undefined {
    this.#nowMs = nowMs
    if (symbol !== SYN && this.#dropSymbols > 0 && this.#line.phase !== 'idle') {
      this.#dropSymbols--
      return undefined
    }
    const before = this.#line.phase
    stepBusLineDecoder(this.#line, symbol)
    // The symbol that completes an answer is its checksum.
    if (before !== 'response' || this.#line.phase !== 'response-ack' || this.#corruptCrcs <= 0) return symbol
    this.#corruptCrcs--
    const garbled = symbol ^ (1 << Math.floor(this.#chance() * 8))
    // A flipped bit must not make a symbol that means something else to the line.
    return garbled === SYN || garbled === ESC ? symbol ^ 0x81 : garbled
  }
}
