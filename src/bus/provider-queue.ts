/**
 * Provider queue: how many calls a provider works on at once, and the calls that wait for it.
 *
 *   enter ─▶ a slot is free ─▶ run ─▶ leave ─▶ the caller whose turn it is gets the slot
 *      └───▶ none is free ─▶ wait, at most MAX_QUEUE_WAIT_MS and the call's own deadline ─▶ busy, with when to come back
 *
 * The limit is the provider's, whoever calls: from here, from a peer, from a service. Calls to another node's provider
 * wait in a queue here as well: this node only knows its own share of the slots there. Callers take turns (ADR 122), so
 * that one who calls in a loop waits behind itself.
 */
import type { Fault } from '../core/fault.ts'
import { dequeueFromFairQueue, enqueueInFairQueue, createFairQueue, removeFromFairQueue } from '../core/fair-queue.ts'
import type { FairQueue } from '../core/fair-queue.ts'
import { TimerWheelEntry } from './timer-wheel.ts'
import type { CapabilityEntry } from './capability-entry.ts'

export const MAX_QUEUE_WAIT_MS = 10_000
/** With more calls waiting for one provider, later callers are refused at once. */
const MAX_WAITING = 128

export type ProviderQueue = FairQueue<QueuedCall>

export function createProviderQueue(): ProviderQueue {
  return createFairQueue(MAX_WAITING)
}

export function hasNoFreeSlot(entry: CapabilityEntry): boolean {
  return entry.inFlight >= entry.offer.maxConcurrent
}

/**
 * One call in the queue. `granted` is called exactly once: with true when the slot is taken for it, else with false.
 */
export class QueuedCall extends TimerWheelEntry {
  readonly #entry: CapabilityEntry
  #granted: ((slot: boolean) => void) | undefined

  /** `account` says whose turn it takes. When the queue is full, one caller is refused at once, possibly this one. */
  constructor(entry: CapabilityEntry, account: string, granted: (slot: boolean) => void) {
    super()
    this.#entry = entry
    this.#granted = granted
    const left = enqueueInFairQueue(entry.waiting, account, this)
    if (left !== undefined) left.#settle(false)
  }

  grant(): void {
    markProviderSlotTaken(this.#entry)
    this.#settle(true)
  }

  /** The waiting time is over, or the caller has gone. */
  giveUp(): void {
    if (this.#granted === undefined) return
    removeFromFairQueue(this.#entry.waiting, this)
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

/** Takes a slot. The caller gives it back with `releaseProviderSlot`, exactly once. */
export function markProviderSlotTaken(entry: CapabilityEntry): void {
  entry.inFlight++
}

export function releaseProviderSlot(entry: CapabilityEntry): void {
  entry.inFlight--
  assignFreeSlots(entry)
}

/** Gives free slots to waiting calls. A limit that was changed meanwhile holds at once. */
export function assignFreeSlots(entry: CapabilityEntry): void {
  while (entry.waiting.size > 0 && !hasNoFreeSlot(entry)) dequeueFromFairQueue(entry.waiting)?.grant()
}

/** An estimate of when the queue has moved on: half a typical call per waiting call. */
function retryAfterMs(entry: CapabilityEntry, nowMs: number): number {
  const typicalMs = entry.health.p50Ms || 100
  const turns = (entry.waiting.size + 1) / entry.offer.maxConcurrent
  const guess = Math.ceil(typicalMs * Math.max(0.5, turns))
  return Math.min(Math.max(guess, 50, entry.busyUntilMs - nowMs), 30_000)
}

export function createProviderBusyFault(
  entry: CapabilityEntry,
  nowMs: number,
  otherNodes: readonly string[] = [],
): Fault {
  const why = hasNoFreeSlot(entry)
    ? `is working on ${entry.inFlight} calls, which is its limit`
    : 'asked for no more calls for a while'
  return {
    kind: 'busy',
    code: 'capacity_exceeded',
    message: `${entry.offer.name} ${why}. Try again later.`,
    retryAfterMs: retryAfterMs(entry, nowMs),
    ...(otherNodes.length > 0 ? { details: { alt_nodes: [...otherNodes] } } : {}),
  }
}
