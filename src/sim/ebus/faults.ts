/**
 * Faults: disturbances of the virtual bus on command.
 *
 * Pure, but for the faults it is given.
 */
import type { BusLineDecoderState } from '../../ebus/wire/bus-line-decoder.ts'
import { newBusLineDecoder, stepBusLineDecoder } from '../../ebus/wire/bus-line-decoder.ts'
import { ESC, SYN } from '../../ebus/wire/symbol.ts'
import type { SeededRandomSource } from './seeded-random.ts'
import { BusStation } from './bus-station.ts'
import type { WireFaultInjector } from './virtual-bus.ts'

/** The highest priority, so that it wins every arbitration. */
const RIVAL = 0x00

export class SimulatedBusFaults implements WireFaultInjector {
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

  /** The next answers have a wrong checksum. A command with one would be noticed by its own sender first. */
  corruptCrc(times = 1): void {
    this.#corruptCrcs += times
  }

  /** The next symbols inside of telegrams are lost. */
  dropByte(times = 1): void {
    this.#dropSymbols += times
  }

  /** Holds the line low for a time: no symbol, no SYN. */
  stickBus(forMs: number): void {
    this.#stuckUntilMs = this.#nowMs + forMs
  }

  /** The next acknowledgements of targets are delayed by this much. */
  slowResponse(delayMs: number, times = 1): void {
    this.#delayMs = delayMs
    this.#delayedAnswers = times
  }

  /** An initiator with a higher priority sends this many telegrams, one at every opportunity. */
  arbitrationStorm(telegrams: number): void {
    // As many as a station's queue holds; more would be refused.
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
    // A flipped bit must not produce a SYN or an escape.
    return garbled === SYN || garbled === ESC ? symbol ^ 0x81 : garbled
  }
}
