/**
 * Keyed lock: one holder per key, the others in the order they came, not too many, and free to leave.
 *
 * Pure: it waits for its own holders and for the caller's signal, nothing else.
 */
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'

export type Release = () => void
export type LockFault = 'queue-full' | 'aborted'

interface Waiter {
  readonly resolve: (result: Result<Release, LockFault>) => void
  readonly signal: AbortSignal
  readonly leave: () => void
}

export interface KeyedLock {
  readonly acquire: (key: string, signal: AbortSignal) => Promise<Result<Release, LockFault>>
  /** How many wait, over all keys. */
  readonly waiting: () => number
}

export function keyedLock(maxWaitingPerKey: number): KeyedLock {
  /** A key is present while somebody holds it; the list is who waits. */
  const queues = new Map<string, Waiter[]>()

  function releaseOf(key: string): Release {
    let held = true
    return () => {
      // A second release must not hand the key to two holders.
      if (!held) return
      held = false
      const next = queues.get(key)?.shift()
      if (next === undefined) {
        queues.delete(key)
        return
      }
      next.signal.removeEventListener('abort', next.leave)
      next.resolve(ok(releaseOf(key)))
    }
  }

  function acquire(key: string, signal: AbortSignal): Promise<Result<Release, LockFault>> {
    if (signal.aborted) return Promise.resolve(fail('aborted'))
    const queue = queues.get(key)
    if (queue === undefined) {
      queues.set(key, [])
      return Promise.resolve(ok(releaseOf(key)))
    }
    if (queue.length >= maxWaitingPerKey) return Promise.resolve(fail('queue-full'))
    return new Promise((resolve) => {
      const waiter: Waiter = {
        resolve,
        signal,
        leave: () => {
          queue.splice(queue.indexOf(waiter), 1)
          resolve(fail('aborted'))
        },
      }
      queue.push(waiter)
      signal.addEventListener('abort', waiter.leave, { once: true })
    })
  }

  return {
    acquire,
    waiting: () => queues.values().reduce((sum, queue) => sum + queue.length, 0),
  }
}
