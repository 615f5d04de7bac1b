/**
 * Timer wheel: all timers of the bus behind one system timer.
 *
 *   spoke 300 ─▶ alarm ⇄ alarm        setting and clearing an alarm is O(1) and costs no system timer;
 *   spoke 301 ─▶ alarm                a spoke is SPOKE_MS wide, so an alarm rings up to that much late, never early
 *
 * The system's timer is armed for the earliest alarm only; alarms that are cleared in time never reach the system. It
 * does not keep the process alive by itself.
 */
import type { Clock } from '../core/clock.ts'

export const TIMER_WHEEL_SLOT_MS = 10

/** Something that wants to be called at a time. It is in at most one slot of the wheel. */
export abstract class TimerWheelEntry {
  previous: TimerWheelEntry | undefined
  following: TimerWheelEntry | undefined
  spoke: Spoke | undefined

  abstract ring(nowMs: number): void
}

interface Spoke {
  readonly number: number
  first: TimerWheelEntry | undefined
}

export class TimerWheel {
  readonly #spokes = new Map<number, Spoke>()
  /** The slot that was looked up last: calls that arrive together mostly share their deadline. */
  #recent: Spoke | undefined

  /** Moves the entry if it was set already; returns when it will fire. `Infinity` means never. */
  set(alarm: TimerWheelEntry, dueMs: number): number {
    this.clear(alarm)
    if (dueMs === Infinity) return Infinity
    const number = Math.ceil(dueMs / TIMER_WHEEL_SLOT_MS)
    const spoke = this.#recent?.number === number ? this.#recent : this.#spokeAt(number)
    alarm.spoke = spoke
    alarm.following = spoke.first
    if (spoke.first !== undefined) spoke.first.previous = alarm
    spoke.first = alarm
    return number * TIMER_WHEEL_SLOT_MS
  }

  clear(alarm: TimerWheelEntry): void {
    const { spoke, previous, following } = alarm
    if (spoke === undefined) return
    if (previous === undefined) spoke.first = following
    else previous.following = following
    if (following !== undefined) following.previous = previous
    alarm.previous = undefined
    alarm.following = undefined
    alarm.spoke = undefined
  }

  /** Fires the entries that are due. An entry may set itself or others again while it fires. */
  turn(nowMs: number): void {
    const due = [...this.#spokes.values()].filter((spoke) => spoke.number * TIMER_WHEEL_SLOT_MS <= nowMs)
    for (const spoke of due.toSorted((left, right) => left.number - right.number)) {
      this.#drop(spoke)
      for (let alarm = spoke.first; alarm !== undefined; alarm = spoke.first) {
        this.clear(alarm)
        alarm.ring(nowMs)
      }
    }
  }

  /** When to turn next, or `undefined` while nothing waits. Removes slots whose entries were all cleared. */
  nextMs(): number | undefined {
    let next: number | undefined
    for (const spoke of this.#spokes.values()) {
      if (spoke.first === undefined) this.#drop(spoke)
      else next = Math.min(next ?? Infinity, spoke.number * TIMER_WHEEL_SLOT_MS)
    }
    return next
  }

  /** Every entry that is set at the moment. */
  *alarms(): Generator<TimerWheelEntry> {
    for (const spoke of this.#spokes.values())
      for (let alarm = spoke.first; alarm !== undefined; alarm = alarm.following) yield alarm
  }

  #spokeAt(number: number): Spoke {
    let spoke = this.#spokes.get(number)
    if (spoke === undefined) {
      spoke = { number, first: undefined }
      this.#spokes.set(number, spoke)
    }
    this.#recent = spoke
    return spoke
  }

  #drop(spoke: Spoke): void {
    this.#spokes.delete(spoke.number)
    if (this.#recent === spoke) this.#recent = undefined
  }
}

/** After the clock jumps, timers that were set since do not wait for one that was armed before the jump. */
const LONGEST_WAIT_MS = 1_000

export class TimerWheelDriver {
  readonly #wheel: TimerWheel
  readonly #clock: Clock
  #handle: NodeJS.Timeout | undefined
  #armedForMs = Infinity
  readonly nowMs: () => number
  readonly #fire = (): void => this.turn()

  constructor(wheel: TimerWheel, clock: Clock) {
    this.#wheel = wheel
    this.#clock = clock
    this.nowMs = clock.monotonic
  }

  set(alarm: TimerWheelEntry, dueMs: number): void {
    const ringsMs = this.#wheel.set(alarm, dueMs)
    if (ringsMs < this.#armedForMs) this.#arm(ringsMs)
  }

  clear(alarm: TimerWheelEntry): void {
    this.#wheel.clear(alarm)
  }

  /** Fires what is due now; a test with its own clock calls it after moving the clock. */
  turn(): void {
    this.#armedForMs = Infinity
    this.#wheel.turn(this.#clock.monotonic())
    const nextMs = this.#wheel.nextMs()
    if (nextMs !== undefined && nextMs < this.#armedForMs) this.#arm(nextMs)
  }

  /** Resolves after the events that the event loop has ready. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(resolve)
    })
  }

  alarms(): Iterable<TimerWheelEntry> {
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
