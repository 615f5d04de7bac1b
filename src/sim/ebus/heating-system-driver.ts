/**
 * Heating system driver: moves a heating system through real time, waking up only when a symbol is due.
 *
 * An idle bus wakes it 25 times a second, a busy one 240 times; in between nothing runs. While this process is delayed,
 * the bus stops: otherwise it would cut off telegrams of clients that were in time.
 *
 * Does I/O: it holds a timer.
 */
import type { HeatingSystem } from './heating-system.ts'

/** The real time to the next wake-up after an input from outside. */
const HURRY_MS = 2
/** A timer is late by less than this, unless other processes use the processor. */
const HELD_UP_MS = 8

export class HeatingSystemDriver {
  readonly #system: HeatingSystem
  readonly #speed: number
  #startedMs = performance.now()
  /** The real time of the next wake-up. */
  #dueMs = Infinity
  readonly #afterwards = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Immediate | undefined
  #hurryUntilMs = 0
  #stopped = false

  constructor(system: HeatingSystem, speed: number) {
    this.#system = system
    this.#speed = speed
    this.#wakeLater()
  }

  /** Milliseconds of the bus since the start. */
  now(): number {
    return (performance.now() - this.#startedMs) * this.#speed
  }

  /** Applies an input from outside now, in the order of events. */
  act(what: (nowMs: number) => void): void {
    if (this.#stopped) return
    this.#standStill()
    this.#hurryUntilMs = performance.now() + (this.#speed > 1 ? HURRY_MS : 0)
    const nowMs = this.now()
    this.#system.advance(nowMs)
    what(nowMs)
    this.#finish()
  }

  /** Runs a function after this many real milliseconds. */
  later(realMs: number, run: () => void): void {
    this.#system.timeline.at(this.now() + realMs * this.#speed, run)
    this.#wakeLater()
  }

  /** Called after every wake-up, when all symbols of the moment are there, in order to send them. */
  afterwards(run: () => void): void {
    this.#afterwards.add(run)
  }

  forget(run: () => void): void {
    this.#afterwards.delete(run)
  }

  stop(): void {
    this.#stopped = true
    this.#forgetWaking()
  }

  #wake(): void {
    this.#standStill()
    this.#system.advance(this.now())
    this.#finish()
  }

  #standStill(): void {
    const lateMs = performance.now() - this.#dueMs
    if (lateMs > HELD_UP_MS) this.#startedMs += lateMs
  }

  #finish(): void {
    for (const run of this.#afterwards) run()
    this.#wakeLater()
  }

  #wakeLater(): void {
    this.#forgetWaking()
    if (this.#stopped) return
    // Timers are never early; a late one is caught up with in one wake-up, at its own virtual time.
    const inMs = (this.#system.nextMs() - this.now()) / this.#speed
    // The wait is at least a millisecond, which is five symbols of a bus that runs twenty times as fast: a client that
    // has just sent one waits for its echo.
    this.#dueMs = performance.now() + Math.max(1, Math.ceil(inMs))
    if (inMs < 1 && performance.now() < this.#hurryUntilMs) this.#soon = setImmediate(() => this.#wake())
    else this.#timer = setTimeout(() => this.#wake(), Math.max(1, Math.ceil(inMs)))
  }

  #forgetWaking(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#soon)
  }
}
