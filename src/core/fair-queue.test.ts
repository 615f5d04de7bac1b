import { describe, expect, it } from 'vitest'
import { dequeueFairly, drainQueue, enqueueFairly, newFairQueue, withdrawFromQueue } from './fair-queue.ts'

describe('turns', () => {
  it('are taken by callers one after the other, by each in its own order', () => {
    const turns = newFairQueue<string>(10)
    for (const item of ['a1', 'a2', 'a3']) enqueueFairly(turns, 'a', item)
    enqueueFairly(turns, 'b', 'b1')
    expect([1, 2, 3, 4, 5].map(() => dequeueFairly(turns))).toEqual(['a1', 'b1', 'a2', 'a3', undefined])
  })

  it('are not given to more than there are places for', () => {
    const turns = newFairQueue<number>(2)
    expect([1, 2, 3].map((item) => enqueueFairly(turns, '', item))).toEqual([undefined, undefined, 3])
    dequeueFairly(turns)
    expect(enqueueFairly(turns, '', 3)).toBeUndefined()
  })

  it('are given up, the newest first, by whoever has most of them, until others have as many', () => {
    const turns = newFairQueue<string>(4)
    for (const item of ['a1', 'a2', 'a3', 'a4']) enqueueFairly(turns, 'a', item)
    expect(['b1', 'b2', 'b3', 'c1', 'd1'].map((item) => enqueueFairly(turns, item.charAt(0), item))).toEqual([
      'a4',
      'a3',
      'b3',
      'a2',
      'b2',
    ])
    expect(turns.size).toBe(4)
    expect(enqueueFairly(turns, 'e', 'e1')).toBe('e1')
    expect(drainQueue(turns)).toEqual(['a1', 'b1', 'c1', 'd1'])
  })

  it('are forgotten when they are withdrawn, once', () => {
    const turns = newFairQueue<string>(10)
    enqueueFairly(turns, 'a', 'a1')
    enqueueFairly(turns, 'b', 'b1')
    expect([withdrawFromQueue(turns, 'a1'), withdrawFromQueue(turns, 'a1')]).toEqual([true, false])
    expect(turns.size).toBe(1)
    expect(drainQueue(turns)).toEqual(['b1'])
    expect(turns.size).toBe(0)
  })
})
