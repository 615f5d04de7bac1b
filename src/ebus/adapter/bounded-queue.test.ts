import { describe, expect, it } from 'vitest'

import { BoundedQueue } from './bounded-queue.ts'

describe('bounded queue', () => {
  it('delivers values in order, to a waiting consumer and to a later one', async () => {
    const queue = new BoundedQueue<number>(10)
    const first = queue.next()
    queue.push(1)
    queue.push(2)
    expect([await first, await queue.next()]).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
    ])
  })

  it('drops the oldest values beyond its capacity, and counts them', async () => {
    const queue = new BoundedQueue<number>(2)
    for (const value of [1, 2, 3, 4]) queue.push(value)
    expect([queue.takeDropped(), queue.takeDropped()]).toEqual([2, 0])
    expect(await queue.next()).toEqual({ done: false, value: 3 })
  })

  it('delivers its queued values before it ends, and wakes a waiting consumer', async () => {
    const queue = new BoundedQueue<number>(2)
    queue.push(1)
    queue.end()
    queue.push(2)
    expect([await queue.next(), await queue.next()]).toEqual([
      { done: false, value: 1 },
      { done: true, value: undefined },
    ])
    const other = new BoundedQueue<number>(2)
    const waiting = other.next()
    other[Symbol.dispose]()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })
})
