import { describe, expect, it } from 'vitest'
import { createKeyedLock } from './fair-queue.ts'

const never = new AbortController().signal

describe('keyed lock', () => {
  it('serves waiters of one caller and key in order of arrival', async () => {
    const lock = createKeyedLock(10)
    const order: number[] = []
    const work = async (index: number): Promise<void> => {
      const acquired = await lock.acquire('a', 'agent', never)
      if (!acquired.ok) throw new Error(acquired.fault)
      order.push(index)
      await new Promise(setImmediate)
      order.push(index)
      acquired.value()
    }
    await Promise.all([0, 1, 2].map(work))
    expect(order).toEqual([0, 0, 1, 1, 2, 2])
  })

  it('allows different keys at the same time', async () => {
    const lock = createKeyedLock(10)
    await lock.acquire('a', 'agent', never)
    expect((await lock.acquire('b', 'agent', never)).ok).toBe(true)
  })

  it('refuses a waiter when the queue is full', async () => {
    const lock = createKeyedLock(1)
    await lock.acquire('a', 'agent', never)
    void lock.acquire('a', 'agent', never)
    expect(await lock.acquire('a', 'agent', never)).toEqual({ ok: false, fault: 'queue-full' })
    expect(lock.waiting()).toBe(1)
  })

  it('lets callers take turns, and the caller with the most waiting calls loses a place to one with fewer', async () => {
    const lock = createKeyedLock(3)
    const order: string[] = []
    const first = await lock.acquire('a', 'flood', never)
    const work = async (caller: string): Promise<void> => {
      const acquired = await lock.acquire('a', caller, never)
      order.push(acquired.ok ? caller : `${caller}: ${acquired.fault}`)
      if (acquired.ok) acquired.value()
    }
    const all = ['flood', 'flood', 'flood', 'owner'].map(work)
    await new Promise(setImmediate)
    if (first.ok) first.value()
    await Promise.all(all)
    expect(order).toEqual(['flood: queue-full', 'flood', 'owner', 'flood'])
    expect(lock.waiting()).toBe(0)
  })

  it('lets a waiter leave without losing the next one', async () => {
    const lock = createKeyedLock(10)
    const first = await lock.acquire('a', 'agent', never)
    const impatient = new AbortController()
    const second = lock.acquire('a', 'agent', impatient.signal)
    const third = lock.acquire('a', 'agent', never)
    impatient.abort()
    expect(await second).toEqual({ ok: false, fault: 'aborted' })
    if (first.ok) first.value()
    expect((await third).ok).toBe(true)
    expect(lock.waiting()).toBe(0)
  })

  it('ignores a second release by the same holder', async () => {
    const lock = createKeyedLock(10)
    const first = await lock.acquire('a', 'agent', never)
    const second = lock.acquire('a', 'agent', never)
    const third = lock.acquire('a', 'agent', never)
    if (first.ok) {
      first.value()
      first.value()
    }
    await second
    let thirdHolds = false
    void third.then(() => (thirdHolds = true))
    await new Promise(setImmediate)
    expect(thirdHolds).toBe(false)
  })

  it('refuses a caller that has already left', async () => {
    expect(await createKeyedLock(1).acquire('a', 'agent', AbortSignal.abort())).toEqual({ ok: false, fault: 'aborted' })
  })
})
