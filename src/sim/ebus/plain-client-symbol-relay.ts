/**
 * Plain client participant: a client that sees and sends bare symbols, and has to keep the bus's rhythm by itself.
 *
 * Pure, but for the port it is given.
 */
import { SYN } from '../../ebus/wire/symbol.ts'
import type { BusParticipant, VirtualBus } from './virtual-bus.ts'

export class PlainClientParticipant implements BusParticipant {
  readonly #tell: (symbol: number) => void
  #spoke = false

  constructor(tell: (symbol: number) => void) {
    this.#tell = tell
  }

  /** Plain clients keep time themselves: each byte is on the wire when it arrives, into whatever is there. */
  say(symbols: Uint8Array, bus: VirtualBus, nowMs: number): void {
    for (const symbol of symbols) {
      this.#spoke = true
      bus.send(this, symbol, nowMs)
    }
  }

  isOutsideOwner = (): boolean => this.#spoke

  heard(symbol: number): undefined {
    if (symbol === SYN) this.#spoke = false
    this.#tell(symbol)
  }
}
