/**
 * Admission: how many calls a provider works on at once, and the queue before it.
 *
 *   enter ─▶ a slot is free ─▶ run ─▶ leave ─▶ whoever's turn it is gets the slot
 *      └───▶ none is free ─▶ wait, at most QUEUE_WAIT_MS and the call's own deadline ─▶ busy, with when to come back
 *
 * The limit is the provider's, whoever calls: from here, from a peer, from a service. Calls to another node's provider
 * wait in a queue here as well: this node's own count is all that it knows of the slots over there. Callers take turns
 * (ADR 122), so that one who calls in a loop waits behind itself.
 *
 * Pure: time and timers come from outside.
 */
import type { Fault } from '../core/fault.ts'
import { dequeueFairly, enqueueFairly, newFairQueue, withdrawFromQueue } from '../core/fair-queue.ts'
import type { FairQueue } from '../core/fair-queue.ts'
import { TimerWheelEntry } from './deadline-timer.ts'
import type { CapabilityEntry } from './entry.ts'

export const QUEUE_WAIT_MS = 10_000
/** More waiting for one provider than this, and later callers are better off being told at once. */
const MAX_WAITING = 128

export type ProviderQueue = FairQueue<QueuedCall>

export function createProviderQueue(): ProviderQueue {
  return newFairQueue(MAX_WAITING)
}

export function isProviderFull(entry: CapabilityEntry): boolean {
  return entry.inFlight >= entry.offer.maxConcurrent
}

/** One call in the queue. `granted(true)` comes with the slot taken; exactly one of the two comes, once. */
export class QueuedCall extends TimerWheelEntry {
  readonly #entry: CapabilityEntry
  #granted: ((slot: boolean) => void) | undefined

  /** `account`: whose turn it takes. Where there is no place left, somebody is told so at once, perhaps this one. */
  constructor(entry: CapabilityEntry, account: string, granted: (slot: boolean) => void) {
    super()
    this.#entry = entry
    this.#granted = granted
    const left = enqueueFairly(entry.waiting, account, this)
    if (left !== undefined) left.#settle(false)
  }

  grant(): void {
    takeProviderSlot(this.#entry)
    this.#settle(true)
  }

  /** Time is up, or the caller went away. */
  giveUp(): void {
    if (this.#granted === undefined) return
    withdrawFromQueue(this.#entry.waiting, this)
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
export function takeProviderSlot(entry: CapabilityEntry): void {
  entry.inFlight++
}

export function releaseProviderSlot(entry: CapabilityEntry): void {
  entry.inFlight--
  grantFreeSlots(entry)
}

/** Hands out what is free. A limit that was lowered meanwhile holds at once, and so does one that was raised. */
export function grantFreeSlots(entry: CapabilityEntry): void {
  while (entry.waiting.size > 0 && !isProviderFull(entry)) dequeueFairly(entry.waiting)?.grant()
}

/** When the queue is likely to have moved on: half a typical call per place in it. */
function retryAfterMs(entry: CapabilityEntry, nowMs: number): number {
  const typicalMs = entry.health.p50Ms || 100
  const turns = (entry.waiting.size + 1) / entry.offer.maxConcurrent
  const guess = Math.ceil(typicalMs * Math.max(0.5, turns))
  return Math.min(Math.max(guess, 50, entry.busyUntilMs - nowMs), 30_000)
}

export function busyFault(entry: CapabilityEntry, nowMs: number, otherNodes: readonly string[] = []): Fault {
  const why = isProviderFull(entry)
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
