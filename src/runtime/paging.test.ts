import { describe, expect, it } from 'vitest'
import { cutPage, readCursor } from './paging.ts'

describe('page', () => {
  it('has a next cursor only if there are more rows', () => {
    expect(cutPage([1, 2, 3], 2, String)).toEqual({ rows: [1, 2], next_cursor: '2' })
    expect(cutPage([1, 2], 2, String)).toEqual({ rows: [1, 2] })
    expect(cutPage([], 2, String)).toEqual({ rows: [] })
  })
})

describe('cursor argument', () => {
  it('is refused as an invalid argument when it does not belong to this list', () => {
    expect(readCursor('nonsense', 'tasks:1', 1)).toMatchObject({ ok: false, fault: { kind: 'invalid-arguments' } })
    expect(readCursor(undefined, 'tasks:1', 1)).toEqual({ ok: true, value: undefined })
  })
})
