import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { PendingCallTable } from './pending-call-table.ts'

describe('pending call table', () => {
  it('finds the numbers it holds, and no others', () => {
    const calls = new PendingCallTable<string>()
    calls.set(1, 'one')
    calls.set(2, 'two')
    expect(calls.get(1)).toBe('one')
    expect(calls.has(2)).toBe(true)
    for (const number of [0, -1, 1.5, 3, 1_025, Number.NaN, 2 ** 33 + 1]) expect(calls.get(number)).toBeUndefined()
    calls.delete(0)
    expect(calls.size).toBe(2)
  })

  it('keeps a long-lived entry while thousands are added and removed', () => {
    const calls = new PendingCallTable<number>()
    calls.set(7, 7)
    for (let number = 8; number < 10_000; number++) {
      calls.set(number, number)
      calls.delete(number)
    }
    expect(calls.get(7)).toBe(7)
    expect(calls.values()).toEqual([7])
  })

  it('allows entries to be deleted while they are iterated', () => {
    const calls = new PendingCallTable<number>()
    for (let number = 1; number <= 3_000; number++) calls.set(number, number)
    for (const number of calls.values()) calls.delete(number)
    expect(calls.size).toBe(0)
    expect(calls.values()).toEqual([])
  })

  it('behaves like a Map for any sequence of set and delete', () => {
    const step = fc.record({ isSet: fc.boolean(), number: fc.integer({ min: 1, max: 5_000 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 2_000, size: 'max' }), (steps) => {
        const [calls, map] = [new PendingCallTable<object>(), new Map<number, object>()]
        for (const { isSet, number } of steps) {
          const value = { number }
          if (isSet) calls.set(number, value)
          else calls.delete(number)
          if (isSet) map.set(number, value)
          else map.delete(number)
          expect(calls.get(number)).toBe(map.get(number))
        }
        expect(calls.size).toBe(map.size)
        expect(new Set(calls.values())).toEqual(new Set(map.values()))
      }),
      { numRuns: 50 },
    )
  })
})
