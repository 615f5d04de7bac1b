/**
 * Bounded queue: passes values from a producer to a consumer, with a limit on how many may wait.
 *
 * When it is full the oldest is dropped and counted: a slow consumer loses history, never the latest values.
 *
 * Pure, but for the queue it is given.
 */
export class BoundedQueue<Value> implements AsyncIterableIterator<Value>, Disposable {
  readonly #capacity: number
  readonly #values: Value[] = []
  #waiting: ((result: IteratorResult<Value>) => void) | undefined
  #ended = false
  #dropped = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get ended(): boolean {
    return this.#ended
  }

  push(value: Value): void {
    if (this.#ended) return
    const waiting = this.#waiting
    if (waiting !== undefined) {
      this.#waiting = undefined
      waiting({ done: false, value })
      return
    }
    this.#values.push(value)
    if (this.#values.length <= this.#capacity) return
    this.#values.shift()
    this.#dropped++
  }

  /** How many were dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped
    this.#dropped = 0
    return dropped
  }

  /** Ends the queue; values in it can still be taken. */
  end(): void {
    this.#ended = true
    this.#waiting?.({ done: true, value: undefined })
    this.#waiting = undefined
  }

  next(): Promise<IteratorResult<Value>> {
    const [value] = this.#values.splice(0, 1)
    if (value !== undefined) return Promise.resolve({ done: false, value })
    if (this.#ended) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => {
      this.#waiting = resolve
    })
  }

  /** The consumer left its loop. */
  return(): Promise<IteratorResult<Value>> {
    this.#values.length = 0
    this.end()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  [Symbol.dispose](): void {
    this.#values.length = 0
    this.end()
  }
}
