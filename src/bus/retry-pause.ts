/** Retry pause: waits before a retry, at most until the call ends. */
import type { AttemptTimer } from './provider-attempt.ts'
import { TimerWheelEntry } from './timer-wheel.ts'
import type { RunningCallTicket, CallEndListener } from './call-ticket.ts'

class Pause extends TimerWheelEntry implements CallEndListener {
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

export async function pauseBeforeRetry(ms: number, timer: AttemptTimer, ticket: RunningCallTicket): Promise<void> {
  const waiting = new Pause()
  timer.set(waiting, timer.nowMs() + ms)
  ticket.employ(waiting)
  await waiting.over
  timer.clear(waiting)
  ticket.dismiss(waiting)
}
