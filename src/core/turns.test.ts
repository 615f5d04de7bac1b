import { describe, expect, it } from 'vitest'
import { dequeue, drain, enqueue, newTurns, withdraw } from './turns.ts'

describe('turns', () => {
  it('are taken by callers one after the other, by each in its own order', () => {
    const turns = newTurns<string>(10)
    for (const item of ['a1', 'a2', 'a3']) enqueue(turns, 'a', item)
    enqueue(turns, 'b', 'b1')
    expect([1, 2, 3, 4, 5].map(() => dequeue(turns))).toEqual(['a1', 'b1', 'a2', 'a3', undefined])
  })

  it('are not given to more than there are places for', () => {
    const turns = newTurns<number>(2)
    expect([1, 2, 3].map((item) => enqueue(turns, '', item))).toEqual([undefined, undefined, 3])
    dequeue(turns)
    expect(enqueue(turns, '', 3)).toBeUndefined()
  })

  it('are given up, the newest first, by whoever has most of them, until others have as many', () => {
    const turns = newTurns<string>(4)
    for (const item of ['a1', 'a2', 'a3', 'a4']) enqueue(turns, 'a', item)
    expect(['b1', 'b2', 'b3', 'c1', 'd1'].map((item) => enqueue(turns, item.charAt(0), item))).toEqual([
      'a4',
      'a3',
      'b3',
      'a2',
      'b2',
    ])
    expect(turns.size).toBe(4)
    expect(enqueue(turns, 'e', 'e1')).toBe('e1')
    expect(drain(turns)).toEqual(['a1', 'b1', 'c1', 'd1'])
  })

  it('are forgotten when they are withdrawn, once', () => {
    const turns = newTurns<string>(10)
    enqueue(turns, 'a', 'a1')
    enqueue(turns, 'b', 'b1')
    expect([withdraw(turns, 'a1'), withdraw(turns, 'a1')]).toEqual([true, false])
    expect(turns.size).toBe(1)
    expect(drain(turns)).toEqual(['b1'])
    expect(turns.size).toBe(0)
  })
})
