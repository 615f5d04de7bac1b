import { describe, expect, it } from 'vitest'

import { BoundedQueue } from './bounded-queue.ts'
import { dequeue, drain, enqueue, newSendQueue, withdraw } from './send-queue.ts'

describe('send queue', () => {
  it('lets callers take turns, each in its own order', () => {
    const queue = newSendQueue<string>(10)
    for (const item of ['a1', 'a2', 'a3']) enqueue(queue, 'a', item)
    enqueue(queue, 'b', 'b1')
    expect([1, 2, 3, 4, 5].map(() => dequeue(queue))).toEqual(['a1', 'b1', 'a2', 'a3', undefined])
  })

  it('refuses what is more than it holds', () => {
    const queue = newSendQueue<number>(2)
    expect([1, 2, 3].map((item) => enqueue(queue, '', item))).toEqual([true, true, false])
    dequeue(queue)
    expect(enqueue(queue, '', 3)).toBe(true)
  })

  it('forgets what is withdrawn, once', () => {
    const queue = newSendQueue<string>(10)
    enqueue(queue, 'a', 'a1')
    enqueue(queue, 'b', 'b1')
    expect([withdraw(queue, 'a1'), withdraw(queue, 'a1')]).toEqual([true, false])
    expect(queue.size).toBe(1)
    expect(drain(queue)).toEqual(['b1'])
    expect(queue.size).toBe(0)
  })
})

describe('bounded queue', () => {
  it('hands over in order, to one who waits and to one who comes late', async () => {
    const queue = new BoundedQueue<number>(10)
    const first = queue.next()
    queue.push(1)
    queue.push(2)
    expect([await first, await queue.next()]).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
    ])
  })

  it('lets the oldest give way and counts them', async () => {
    const queue = new BoundedQueue<number>(2)
    for (const value of [1, 2, 3, 4]) queue.push(value)
    expect([queue.takeDropped(), queue.takeDropped()]).toEqual([2, 0])
    expect(await queue.next()).toEqual({ done: false, value: 3 })
  })

  it('ends after what it still holds, and wakes who waits', async () => {
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
