/**
 * Stream credit: how far ahead of its reader a stream may run. NATS itself has no back-pressure: the server disconnects
 * a reader that is too slow. So the reader acknowledges the frames that it has taken, and the writer waits when too
 * many are unacknowledged.
 *
 *   window 16 frames, an ack every 8, and one every two seconds that only says "still here" (X01: 16, 8, 5 s)
 */
export const STREAM_WINDOW_FRAMES = 16
export const FRAMES_PER_ACK = 8
/** How long a writer waits for a reader that sends nothing at all. */
export const STREAM_ACK_TIMEOUT_MS = 10_000
export const STREAM_KEEP_ALIVE_INTERVAL_MS = 2_000

export class StreamFrameCredit {
  readonly #window: number
  #sent = 0
  #taken = 0
  #waiting: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined

  constructor(window: number) {
    this.#window = window
  }

  get isWaiting(): boolean {
    return this.#waiting !== undefined
  }

  /** Returns the number of the next frame, starting with 1. */
  next(): number {
    return ++this.#sent
  }

  /** Resolves when another frame may be sent. */
  ready(): Promise<void> {
    if (this.#sent - this.#taken < this.#window) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  /** The reader has taken all frames up to this one. A number above the last frame that was sent is ignored. */
  take(upTo: number): void {
    if (upTo > this.#sent) return
    this.#taken = Math.max(this.#taken, upTo)
    if (this.#sent - this.#taken >= this.#window) return
    this.#waiting?.resolve()
    this.#waiting = undefined
  }

  /** The reader has gone. */
  close(error: Error): void {
    this.#waiting?.reject(error)
    this.#waiting = undefined
  }
}
