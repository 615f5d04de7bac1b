/**
 * Throttle: runs a job at once when it is triggered, and then not again before a rest, however often it is triggered.
 *
 *   trigger ▸ run ── rest ──▶ triggered meanwhile? run once more
 *
 * For changes that other parties cause, where each run makes every listener read again.
 */
export class Throttle {
  readonly #run: () => void
  readonly #restMs: number
  #resting: NodeJS.Timeout | undefined
  #isOwed = false
  #isClosed = false

  constructor(run: () => void, restMs: number) {
    this.#run = run
    this.#restMs = restMs
  }

  readonly trigger = (): void => {
    if (this.#isClosed) return
    if (this.#resting !== undefined) {
      this.#isOwed = true
      return
    }
    this.#isOwed = false
    this.#resting = setTimeout(this.#rested, this.#restMs)
    this.#resting.unref()
    this.#run()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#resting)
  }

  readonly #rested = (): void => {
    this.#resting = undefined
    if (this.#isOwed) this.trigger()
  }
}
