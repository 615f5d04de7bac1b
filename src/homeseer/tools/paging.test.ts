import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutPageByItemNumber } from './paging.ts'

const numbers = (items: readonly number[], limit: number, cursor?: string, filters: object = {}) =>
  cutPageByItemNumber(items, (item) => item, { list: 'test', filters, limit, offset: 0, cursor })

describe('list paging', () => {
  it('returns every item once, whatever the page size', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(10_000)), fc.integer({ min: 1, max: 50 }), (unordered, limit) => {
        const items = unordered.toSorted((left, right) => left - right)
        const seen: number[] = []
        let cursor: string | undefined
        do {
          const page = numbers(items, limit, cursor)
          if (!page.ok) throw new Error(page.fault.message)
          seen.push(...page.value.items)
          cursor = page.value.nextCursor ?? undefined
        } while (cursor !== undefined)
        expect(seen).toEqual(items)
      }),
    )
  })

  it('neither repeats nor skips items that are removed between pages', () => {
    const first = numbers([1, 2, 3, 4, 5], 2)
    const cursor = first.ok ? (first.value.nextCursor ?? '') : ''
    expect(numbers([1, 4, 5], 2, cursor)).toMatchObject({ ok: true, value: { items: [4, 5], nextCursor: null } })
  })

  it('refuses a cursor made for other filters, and invalid cursors', () => {
    const first = numbers([1, 2, 3], 1)
    const cursor = first.ok ? (first.value.nextCursor ?? '') : ''
    expect(numbers([1, 2, 3], 1, cursor, { other: true }).ok).toBe(false)
    for (const text of ['', 'x', 'W10', '____', Buffer.from('["a","b"]').toString('base64url')])
      expect(numbers([1, 2, 3], 1, text).ok).toBe(false)
  })
})
