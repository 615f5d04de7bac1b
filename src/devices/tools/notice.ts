/**
 * Notice: tells that something changed. At once, and then not again before a rest, however often it changes.
 *
 *   changed ▸ tell ── rest ──▶ changed meanwhile? tell once more
 *
 * Strangers cause these changes, and each costs everybody who listens a look.
 *
 * Pure, apart from waiting.
 */
const REST_MS = 200

export class Notice {
  readonly #tell: () => void
  #resting: NodeJS.Timeout | undefined
  #owed = false
  #closed = false

  constructor(tell: () => void) {
    this.#tell = tell
  }

  readonly changed = (): void => {
    if (this.#closed) return
    if (this.#resting !== undefined) {
      this.#owed = true
      return
    }
    this.#owed = false
    this.#resting = setTimeout(this.#rested, REST_MS)
    this.#resting.unref()
    this.#tell()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#resting)
  }

  readonly #rested = (): void => {
    this.#resting = undefined
    if (this.#owed) this.changed()
  }
}
