/**
 * Plain client participant: a client that sees and sends bare symbols, and has to keep the bus's rhythm by itself.
 *
 * Pure, but for the port it is given.
 */
import { SYN } from '../../ebus/wire/symbol.ts'
import type { BusParticipant } from './virtual-bus.ts'

export class PlainClientParticipant implements BusParticipant {
  readonly #tell: (symbol: number) => void
  #spoke = false

  constructor(tell: (symbol: number) => void) {
    this.#tell = tell
  }

  /** The client puts a symbol on the bus. */
  speaks(): void {
    this.#spoke = true
  }

  isOutsideOwner = (): boolean => this.#spoke

  heard(symbol: number): undefined {
    if (symbol === SYN) this.#spoke = false
    this.#tell(symbol)
  }
}
