import { describe, expect, it } from 'vitest'
import {
  dequeueFromFairQueue,
  drainFairQueue,
  enqueueInFairQueue,
  createFairQueue,
  removeFromFairQueue,
} from './fair-queue.ts'

describe('turns', () => {
  it('are taken by callers one after the other, by each in its own order', () => {
    const turns = createFairQueue<string>(10)
    for (const item of ['a1', 'a2', 'a3']) enqueueInFairQueue(turns, 'a', item)
    enqueueInFairQueue(turns, 'b', 'b1')
    expect([1, 2, 3, 4, 5].map(() => dequeueFromFairQueue(turns))).toEqual(['a1', 'b1', 'a2', 'a3', undefined])
  })

  it('are not given to more than there are places for', () => {
    const turns = createFairQueue<number>(2)
    expect([1, 2, 3].map((item) => enqueueInFairQueue(turns, '', item))).toEqual([undefined, undefined, 3])
    dequeueFromFairQueue(turns)
    expect(enqueueInFairQueue(turns, '', 3)).toBeUndefined()
  })

  it('are taken, newest first, from the caller with the most, until others have as many', () => {
    const turns = createFairQueue<string>(4)
    for (const item of ['a1', 'a2', 'a3', 'a4']) enqueueInFairQueue(turns, 'a', item)
    expect(['b1', 'b2', 'b3', 'c1', 'd1'].map((item) => enqueueInFairQueue(turns, item.charAt(0), item))).toEqual([
      'a4',
      'a3',
      'b3',
      'a2',
      'b2',
    ])
    expect(turns.size).toBe(4)
    expect(enqueueInFairQueue(turns, 'e', 'e1')).toBe('e1')
    expect(drainFairQueue(turns)).toEqual(['a1', 'b1', 'c1', 'd1'])
  })

  it('are forgotten when they are withdrawn, once', () => {
    const turns = createFairQueue<string>(10)
    enqueueInFairQueue(turns, 'a', 'a1')
    enqueueInFairQueue(turns, 'b', 'b1')
    expect([removeFromFairQueue(turns, 'a1'), removeFromFairQueue(turns, 'a1')]).toEqual([true, false])
    expect(turns.size).toBe(1)
    expect(drainFairQueue(turns)).toEqual(['b1'])
    expect(turns.size).toBe(0)
  })
})
