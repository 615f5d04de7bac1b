/**
 * Admission: how many calls a provider on this node works on at once, and the short queue before it.
 *
 *   enter ─▶ a slot is free ─▶ run ─▶ leave ─▶ the first in the queue gets the slot
 *      └───▶ none is free ─▶ wait, at most QUEUE_WAIT_MS and the call's own deadline ─▶ busy, with when to come back
 *
 * The limit is the provider's, whoever calls: from here, from a peer, from a service (the caller's own count of what it
 * has sent somewhere is only a hint to its router).
 *
 * Pure: time and timers come from outside.
 */
import type { Fault } from '../core/fault.ts'
import { Alarm } from './deadline-wheel.ts'
import type { CapabilityEntry } from './entry.ts'

export const QUEUE_WAIT_MS = 1_000
/** At least this many may wait; a provider with a higher limit may have as many waiting as running. */
const MIN_QUEUE = 16

export function isFull(entry: CapabilityEntry): boolean {
  return entry.inFlight >= entry.offer.maxConcurrent
}

export function mayWait(entry: CapabilityEntry): boolean {
  return entry.waiting.length < Math.max(MIN_QUEUE, entry.offer.maxConcurrent)
}

/** One call in the queue. `granted(true)` comes with the slot taken; exactly one of the two comes, once. */
export class Waiter extends Alarm {
  readonly #entry: CapabilityEntry
  #granted: ((slot: boolean) => void) | undefined

  constructor(entry: CapabilityEntry, granted: (slot: boolean) => void) {
    super()
    this.#entry = entry
    this.#granted = granted
    entry.waiting.push(this)
  }

  grant(): void {
    enter(this.#entry)
    this.#settle(true)
  }

  /** Time is up, or the caller went away. */
  giveUp(): void {
    if (this.#granted === undefined) return
    const place = this.#entry.waiting.indexOf(this)
    if (place >= 0) this.#entry.waiting.splice(place, 1)
    this.#settle(false)
  }

  ring(): void {
    this.giveUp()
  }

  callEnded(): void {
    this.giveUp()
  }

  #settle(slot: boolean): void {
    const granted = this.#granted
    this.#granted = undefined
    granted?.(slot)
  }
}

/** Takes a slot. Whoever does gives it back with `leave`, exactly once. */
export function enter(entry: CapabilityEntry): void {
  entry.inFlight++
}

export function leave(entry: CapabilityEntry): void {
  entry.inFlight--
  // A limit that was lowered meanwhile holds at once.
  if (entry.waiting.length > 0 && !isFull(entry)) entry.waiting.shift()?.grant()
}

/** When the queue is likely to have moved on: half a typical call per place in it. */
function retryAfterMs(entry: CapabilityEntry, nowMs: number): number {
  const typicalMs = entry.health.p50Ms || 100
  const turns = (entry.waiting.length + 1) / entry.offer.maxConcurrent
  const guess = Math.ceil(typicalMs * Math.max(0.5, turns))
  return Math.min(Math.max(guess, 50, entry.busyUntilMs - nowMs), 30_000)
}

export function busy(entry: CapabilityEntry, nowMs: number, otherNodes: readonly string[] = []): Fault {
  const why = isFull(entry)
    ? `is working on ${entry.inFlight} calls, which is all it takes at once`
    : 'asked to be left alone for a while'
  return {
    kind: 'busy',
    code: 'capacity_exceeded',
    message: `${entry.offer.name} ${why}. Try again later.`,
    retryAfterMs: retryAfterMs(entry, nowMs),
    ...(otherNodes.length > 0 ? { details: { alt_nodes: [...otherNodes] } } : {}),
  }
}
