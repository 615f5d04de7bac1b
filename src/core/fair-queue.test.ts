import { describe, expect, it } from 'vitest'
import {
  dequeueFromFairQueue,
  drainFairQueue,
  enqueueInFairQueue,
  createFairQueue,
  removeFromFairQueue,
} from './fair-queue.ts'

describe('fair queue', () => {
  it('returns items of callers in turn, and of each caller in order', () => {
    const turns = createFairQueue<string>(10)
    for (const item of ['a1', 'a2', 'a3']) enqueueInFairQueue(turns, 'a', item)
    enqueueInFairQueue(turns, 'b', 'b1')
    expect([1, 2, 3, 4, 5].map(() => dequeueFromFairQueue(turns))).toEqual(['a1', 'b1', 'a2', 'a3', undefined])
  })

  it('refuses an item when it is full', () => {
    const turns = createFairQueue<number>(2)
    expect([1, 2, 3].map((item) => enqueueInFairQueue(turns, '', item))).toEqual([undefined, undefined, 3])
    dequeueFromFairQueue(turns)
    expect(enqueueInFairQueue(turns, '', 3)).toBeUndefined()
  })

  it('drops the newest item of the caller with the most items when it is full', () => {
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

  it('removes a withdrawn item once', () => {
    const turns = createFairQueue<string>(10)
    enqueueInFairQueue(turns, 'a', 'a1')
    enqueueInFairQueue(turns, 'b', 'b1')
    expect([removeFromFairQueue(turns, 'a1'), removeFromFairQueue(turns, 'a1')]).toEqual([true, false])
    expect(turns.size).toBe(1)
    expect(drainFairQueue(turns)).toEqual(['b1'])
    expect(turns.size).toBe(0)
  })
})
