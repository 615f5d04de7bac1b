/**
 * Event loop yield queue: one after the other for whoever has much to do. What large answers of other nodes take is
 * done in steps, one step in a turn of the event loop, so that whatever else has come in is served in between: also
 * when many such answers come at the same moment.
 *
 * Waits for turns of the event loop.
 */
import { setImmediate } from 'node:timers/promises'

export class EventLoopYieldQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves in a later turn of the event loop, which is given to this caller only. */
  next(): Promise<unknown> {
    // Immediates that are created together run together, so the next one is created only when the one before has run.
    this.#last = this.#last.then(() => setImmediate())
    return this.#last
  }
}
