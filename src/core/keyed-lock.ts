/**
 * Keyed lock: one holder per key; the others wait, not too many, and free to leave. Callers take turns: whoever asks
 * again and again, also for what they may not have, waits behind themselves and keeps nobody else out.
 *
 * Pure: it waits for its own holders and for the caller's signal, nothing else.
 */
import { fail, ok } from './result.ts'
import type { Result } from './result.ts'
import { dequeue, enqueue, newTurns, withdraw } from './turns.ts'
import type { Turns } from './turns.ts'

export type Release = () => void
export type LockFault = 'queue-full' | 'aborted'

interface Waiter {
  readonly resolve: (result: Result<Release, LockFault>) => void
  readonly signal: AbortSignal
  readonly leave: () => void
}

export interface KeyedLock {
  readonly acquire: (key: string, caller: string, signal: AbortSignal) => Promise<Result<Release, LockFault>>
  readonly isHeld: (key: string) => boolean
  /** How many wait, over all keys. */
  readonly waiting: () => number
}

export function keyedLock(maxWaitingPerKey: number): KeyedLock {
  /** A key is present while somebody holds it. */
  const queues = new Map<string, Turns<Waiter>>()

  function releaseOf(key: string): Release {
    let held = true
    return () => {
      // A second release must not hand the key to two holders.
      if (!held) return
      held = false
      const queue = queues.get(key)
      const next = queue === undefined ? undefined : dequeue(queue)
      if (next === undefined) {
        queues.delete(key)
        return
      }
      next.signal.removeEventListener('abort', next.leave)
      next.resolve(ok(releaseOf(key)))
    }
  }

  function acquire(key: string, caller: string, signal: AbortSignal): Promise<Result<Release, LockFault>> {
    if (signal.aborted) return Promise.resolve(fail('aborted'))
    const queue = queues.get(key)
    if (queue === undefined) {
      queues.set(key, newTurns(maxWaitingPerKey))
      return Promise.resolve(ok(releaseOf(key)))
    }
    return new Promise((resolve) => {
      const waiter: Waiter = {
        resolve,
        signal,
        leave: () => {
          withdraw(queue, waiter)
          resolve(fail('aborted'))
        },
      }
      signal.addEventListener('abort', waiter.leave, { once: true })
      const left = enqueue(queue, caller, waiter)
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
