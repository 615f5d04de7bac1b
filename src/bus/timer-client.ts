/**
 * Timer: the one system timer behind the bus's deadline wheel.
 *
 * Armed for the earliest alarm only; alarms that are cleared in time never reach the system. It does not keep the
 * process alive by itself.
 *
 * Does I/O.
 */
import type { Clock } from '../core/clock.ts'
import type { Alarm, DeadlineWheel } from './deadline-wheel.ts'

/** After a leap of the clock, alarms that were set since do not wait for one that was armed before it. */
const LONGEST_WAIT_MS = 1_000

export class WheelTimer {
  readonly #wheel: DeadlineWheel
  readonly #clock: Clock
  #handle: NodeJS.Timeout | undefined
  #armedForMs = Infinity
  readonly nowMs: () => number
  readonly #fire = (): void => this.turn()

  constructor(wheel: DeadlineWheel, clock: Clock) {
    this.#wheel = wheel
    this.#clock = clock
    this.nowMs = clock.monotonic
  }

  set(alarm: Alarm, dueMs: number): void {
    const ringsMs = this.#wheel.set(alarm, dueMs)
    if (ringsMs < this.#armedForMs) this.#arm(ringsMs)
  }

  clear(alarm: Alarm): void {
    this.#wheel.clear(alarm)
  }

  /** Rings what is due now; a test with a clock of its own calls it after moving the clock. */
  turn(): void {
    this.#armedForMs = Infinity
    this.#wheel.turn(this.#clock.monotonic())
    const nextMs = this.#wheel.nextMs()
    if (nextMs !== undefined && nextMs < this.#armedForMs) this.#arm(nextMs)
  }

  /** After whatever the system has ready. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(resolve)
    })
  }

  alarms(): Iterable<Alarm> {
    return this.#wheel.alarms()
  }

  #arm(dueMs: number): void {
    clearTimeout(this.#handle)
    this.#armedForMs = dueMs
    const waitMs = Math.min(Math.max(1, Math.ceil(dueMs - this.#clock.monotonic())), LONGEST_WAIT_MS)
    this.#handle = setTimeout(this.#fire, waitMs)
    this.#handle.unref()
  }
}
