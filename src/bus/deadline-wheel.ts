/**
 * Deadline wheel: everything of the bus that waits for a moment, under one timer.
 *
 *   spoke 300 ─▶ alarm ⇄ alarm        setting and clearing an alarm is O(1) and costs no system timer;
 *   spoke 301 ─▶ alarm                a spoke is SPOKE_MS wide, so an alarm rings up to that much late, never early
 *
 * Pure: whoever holds it says when time has passed.
 */

export const SPOKE_MS = 10

/** Something that wants to be told when a moment has come. It sits on at most one spoke at a time. */
export abstract class Alarm {
  previous: Alarm | undefined
  following: Alarm | undefined
  spoke: Spoke | undefined

  abstract ring(nowMs: number): void
}

interface Spoke {
  readonly number: number
  first: Alarm | undefined
}

export class DeadlineWheel {
  readonly #spokes = new Map<number, Spoke>()
  /** The spoke looked up last: calls that come in together mostly share their deadline. */
  #recent: Spoke | undefined

  /** Moves the alarm if it was set already; says when it will ring. `Infinity` means never. */
  set(alarm: Alarm, dueMs: number): number {
    this.clear(alarm)
    if (dueMs === Infinity) return Infinity
    const number = Math.ceil(dueMs / SPOKE_MS)
    const spoke = this.#recent?.number === number ? this.#recent : this.#spokeAt(number)
    alarm.spoke = spoke
    alarm.following = spoke.first
    if (spoke.first !== undefined) spoke.first.previous = alarm
    spoke.first = alarm
    return number * SPOKE_MS
  }

  clear(alarm: Alarm): void {
    const { spoke, previous, following } = alarm
    if (spoke === undefined) return
    if (previous === undefined) spoke.first = following
    else previous.following = following
    if (following !== undefined) following.previous = previous
    alarm.previous = undefined
    alarm.following = undefined
    alarm.spoke = undefined
  }

  /** Rings what is due. An alarm may set itself or others again while it rings. */
  turn(nowMs: number): void {
    const due = [...this.#spokes.values()].filter((spoke) => spoke.number * SPOKE_MS <= nowMs)
    for (const spoke of due.toSorted((left, right) => left.number - right.number)) {
      this.#drop(spoke)
      for (let alarm = spoke.first; alarm !== undefined; alarm = spoke.first) {
        this.clear(alarm)
        alarm.ring(nowMs)
      }
    }
  }

  /** When to turn next, or `undefined` while nothing waits. Forgets spokes whose alarms were all cleared. */
  nextMs(): number | undefined {
    let next: number | undefined
    for (const spoke of this.#spokes.values()) {
      if (spoke.first === undefined) this.#drop(spoke)
      else next = Math.min(next ?? Infinity, spoke.number * SPOKE_MS)
    }
    return next
  }

  /** Everything that is set at the moment. */
  *alarms(): Generator<Alarm> {
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
