import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeCursor, encodeCursor, formatCursorScope } from './cursor.ts'

const scope = formatCursorScope('tasks', { status: 'INIT' })

describe('cursor', () => {
  it('decodes to the key that it was encoded from', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (rank, seq) => {
        expect(decodeCursor(encodeCursor(scope, [rank, seq]), scope, 2)).toEqual({ ok: true, value: [rank, seq] })
      }),
    )
  })

  it('is valid for one list with one set of filters, in any order of keys', () => {
    expect(formatCursorScope('tasks', { b: 1, a: 2 })).toBe(formatCursorScope('tasks', { a: 2, b: 1 }))
    expect(decodeCursor(encodeCursor(scope, [1]), formatCursorScope('tasks', {}), 1)).toMatchObject({ ok: false })
    expect(decodeCursor(encodeCursor(scope, [1]), scope, 2)).toMatchObject({ ok: false })
  })

  it('is refused without an exception if it is arbitrary text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(decodeCursor(text, scope, 1)).toMatchObject({ ok: false, fault: 'is not a cursor of this server' })
      }),
    )
  })
})
