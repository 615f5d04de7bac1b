/**
 * Call stream: a streamed answer as its consumer sees it.
 *
 *   for await (const frame of stream) …        one frame at a time: the provider makes the next one only after
 *   const outcome = await stream.outcome       the consumer has taken this one, so a slow consumer costs no memory
 *
 * Leaving the loop withdraws the call. A stream that nobody reads ends with its deadline.
 */
import type { StreamFrame, Outcome } from './call.ts'

/** The error with which `emit` rejects once the consumer has gone. */
export class StreamClosedError extends Error {
  override readonly name = 'StreamClosed'
}

interface Offered {
  readonly frame: StreamFrame
  readonly taken: () => void
  readonly refused: (reason: StreamClosedError) => void
}

type Step = IteratorResult<StreamFrame, undefined>

const END: Step = { done: true, value: undefined }

export class CallStream implements AsyncIterableIterator<StreamFrame, undefined>, AsyncDisposable {
  /** Never rejects. Resolves after the last frame was taken. */
  readonly outcome: Promise<Outcome>
  readonly #withdraw: () => void
  #offered: Offered[] = []
  #hungry: ((step: Step) => void)[] = []
  #closed = false

  constructor(start: (emit: (frame: StreamFrame) => Promise<void>) => Promise<Outcome>, withdraw: () => void) {
    this.#withdraw = withdraw
    this.outcome = this.#run(start)
  }

  next(): Promise<Step> {
    const offered = this.#offered.shift()
    if (offered !== undefined) {
      offered.taken()
      return Promise.resolve({ done: false, value: offered.frame })
    }
    if (this.#closed) return Promise.resolve(END)
    return new Promise((resolve) => this.#hungry.push(resolve))
  }

  async return(): Promise<Step> {
    this.cancel()
    await this.outcome
    return END
  }

  /** Cancels the call; frames that were not taken yet are dropped. */
  cancel(): void {
    if (this.#closed) return
    this.#close()
    this.#withdraw()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  async #run(start: (emit: (frame: StreamFrame) => Promise<void>) => Promise<Outcome>): Promise<Outcome> {
    const outcome = await start((frame) => this.#emit(frame))
    this.#close()
    return outcome
  }

  #emit(frame: StreamFrame): Promise<void> {
    if (this.#closed) return Promise.reject(new StreamClosedError('the consumer of this stream is gone'))
    const eater = this.#hungry.shift()
    if (eater !== undefined) {
      eater({ done: false, value: frame })
      return Promise.resolve()
    }
    return new Promise((taken, refused) => this.#offered.push({ frame, taken, refused }))
  }

  #close(): void {
    this.#closed = true
    for (const { refused } of this.#offered.splice(0)) refused(new StreamClosedError('the stream is over'))
    for (const eater of this.#hungry.splice(0)) eater(END)
  }
}
