/**
 * Fair queue: callers that wait for one thing, such as a bus or a device, and the keyed lock (mutex) that lets one
 * holder at a time have it. Callers take turns; each has its own first-come-first-served line, and when the queue is
 * full, the caller with the most places loses one. A caller that calls in a loop waits behind itself and keeps nobody
 * else out.
 *
 * Pure: it waits for its own holders and for the caller's signal, nothing else.
 */
import { fail, ok } from './result.ts'
import type { Result } from './result.ts'

export interface FairQueue<Item> {
  readonly capacity: number
  /** By caller, the next in turn first. A caller with nothing waiting is not in the map. */
  readonly lines: Map<string, Item[]>
  size: number
}

export function createFairQueue<Item>(capacity: number): FairQueue<Item> {
  return { capacity, lines: new Map(), size: 0 }
}

/**
 * Returns the item that found no place: none, the newest of the caller with the most items, or the new item itself. The
 * difference must be at least two, lest two callers push each other out for ever.
 */
export function enqueueInFairQueue<Item>(turns: FairQueue<Item>, caller: string, item: Item): Item | undefined {
  const line = turns.lines.get(caller) ?? []
  let left: Item | undefined
  if (turns.size >= turns.capacity) {
    const [longest = line] = [...turns.lines.values()].toSorted((one, other) => other.length - one.length)
    if (longest.length <= line.length + 1) return item
    left = longest.pop()
    turns.size--
  }
  line.push(item)
  turns.lines.set(caller, line)
  turns.size++
  return left
}

export function dequeueFromFairQueue<Item>(turns: FairQueue<Item>): Item | undefined {
  for (const [caller, line] of turns.lines) {
    const item = line.shift()
    turns.lines.delete(caller)
    if (line.length > 0) turns.lines.set(caller, line)
    if (item === undefined) continue
    turns.size--
    return item
  }
  return undefined
}

/** `false` when it was no longer waiting. */
export function removeFromFairQueue<Item>(turns: FairQueue<Item>, item: Item): boolean {
  for (const [caller, line] of turns.lines) {
    const index = line.indexOf(item)
    if (index < 0) continue
    line.splice(index, 1)
    if (line.length === 0) turns.lines.delete(caller)
    turns.size--
    return true
  }
  return false
}

/** Returns everything that waits and empties the queue. */
export function drainFairQueue<Item>(turns: FairQueue<Item>): Item[] {
  const items = [...turns.lines.values()].flat()
  turns.lines.clear()
  turns.size = 0
  return items
}

export type ReleaseLock = () => void
export type LockFault = 'queue-full' | 'aborted'

interface Waiter {
  readonly resolve: (result: Result<ReleaseLock, LockFault>) => void
  readonly signal: AbortSignal
  readonly leave: () => void
}

export interface KeyedLock {
  readonly acquire: (key: string, caller: string, signal: AbortSignal) => Promise<Result<ReleaseLock, LockFault>>
  readonly isHeld: (key: string) => boolean
  /** How many callers wait, over all keys. */
  readonly waiting: () => number
}

export function createKeyedLock(maxWaitingPerKey: number): KeyedLock {
  /** A key is present while it is held. */
  const queues = new Map<string, FairQueue<Waiter>>()

  function releaseOf(key: string): ReleaseLock {
    let held = true
    return () => {
      // A second release must not give the key to two holders.
      if (!held) return
      held = false
      const queue = queues.get(key)
      const next = queue === undefined ? undefined : dequeueFromFairQueue(queue)
      if (next === undefined) {
        queues.delete(key)
        return
      }
      next.signal.removeEventListener('abort', next.leave)
      next.resolve(ok(releaseOf(key)))
    }
  }

  function acquire(key: string, caller: string, signal: AbortSignal): Promise<Result<ReleaseLock, LockFault>> {
    if (signal.aborted) return Promise.resolve(fail('aborted'))
    const queue = queues.get(key)
    if (queue === undefined) {
      queues.set(key, createFairQueue(maxWaitingPerKey))
      return Promise.resolve(ok(releaseOf(key)))
    }
    return new Promise((resolve) => {
      const waiter: Waiter = {
        resolve,
        signal,
        leave: () => {
          removeFromFairQueue(queue, waiter)
          resolve(fail('aborted'))
        },
      }
      signal.addEventListener('abort', waiter.leave, { once: true })
      const left = enqueueInFairQueue(queue, caller, waiter)
      left?.signal.removeEventListener('abort', left.leave)
      left?.resolve(fail('queue-full'))
    })
  }

  return {
    acquire,
    isHeld: (key) => queues.has(key),
    waiting: () => queues.values().reduce((sum, queue) => sum + queue.size, 0),
  }
}
