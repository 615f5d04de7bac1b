/**
 * Pause: waiting a moment on behalf of a call, and no longer than the call lives.
 *
 * Pure: timers come from outside.
 */
import type { AttemptTimer } from './attempt.ts'
import { TimerWheelEntry } from './deadline-timer.ts'
import type { LiveTicket, CallWorker } from './ticket.ts'

class Pause extends TimerWheelEntry implements CallWorker {
  readonly over: Promise<void>
  readonly #resolve: () => void

  constructor() {
    super()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.over = promise
    this.#resolve = resolve
  }

  ring(): void {
    this.#resolve()
  }

  callEnded(): void {
    this.#resolve()
  }
}

export async function pauseCall(ms: number, timer: AttemptTimer, ticket: LiveTicket): Promise<void> {
  const waiting = new Pause()
  timer.set(waiting, timer.nowMs() + ms)
  ticket.employ(waiting)
  await waiting.over
  timer.clear(waiting)
  ticket.dismiss(waiting)
}
