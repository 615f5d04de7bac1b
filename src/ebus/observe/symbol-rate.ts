/**
 * Symbol rate: how many symbols a second came over the line lately, and at most.
 *
 *   23–25 a second is an idle bus with nothing but SYN; 240 is all that 2400 Bd can carry
 *
 * Computed from a counter that is read periodically. Without two readings of one connection the rate is unknown, which
 * is not zero.
 *
 * Pure, but for the meter it is given.
 */
const WINDOW_MS = 10_000
/** One reading per second fills the window; more frequent ones only displace older ones. */
const MOST_LOOKS = 64
/** Two readings that are closer together are too inaccurate. */
const LEAST_MS = 900

interface Look {
  readonly nowMs: number
  readonly symbols: number
}

export interface SymbolRate {
  readonly perSecond: number
  readonly maxPerSecond: number
  readonly windowMs: number
}

export class SymbolRateMeter {
  #looks: Look[] = []
  #max = 0

  /** Earlier readings belong to another connection, or to none. */
  reset(): void {
    this.#looks = []
    this.#max = 0
  }

  /** Adds a reading: monotonic time, and all symbols so far. */
  look(nowMs: number, symbols: number): void {
    const last = this.#looks.at(-1)
    if (last !== undefined && (nowMs < last.nowMs || symbols < last.symbols)) this.reset()
    this.#looks.push({ nowMs, symbols })
    while (
      this.#looks.length > MOST_LOOKS ||
      (this.#looks.length > 2 && nowMs - (this.#looks[1]?.nowMs ?? 0) >= WINDOW_MS)
    )
      this.#looks.shift()
    const measured = this.#measure()
    if (measured !== undefined) this.#max = Math.max(this.#max, measured.perSecond)
  }

  rate(): SymbolRate | undefined {
    const measured = this.#measure()
    return measured === undefined ? undefined : { ...measured, maxPerSecond: this.#max }
  }

  #measure(): Omit<SymbolRate, 'maxPerSecond'> | undefined {
    const [first] = this.#looks
    const last = this.#looks.at(-1)
    const windowMs = first === undefined || last === undefined ? 0 : last.nowMs - first.nowMs
    if (first === undefined || last === undefined || windowMs < LEAST_MS) return undefined
    return { perSecond: Number((((last.symbols - first.symbols) * 1_000) / windowMs).toFixed(1)), windowMs }
  }
}
