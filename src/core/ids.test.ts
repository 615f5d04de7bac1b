import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isUlid, traceIdToUlid, newUlid, ulidToTraceId } from './ids.ts'

describe('ulid', () => {
  it('sorts in order of creation, also within one millisecond', () => {
    const minted = Array.from({ length: 5_000 }, () => newUlid(1_800_000_000_000))
    expect(minted.toSorted()).toEqual(minted)
    expect(new Set(minted).size).toBe(5_000)
  })

  it('never sorts before an earlier one when the clock is set back', () => {
    const first = newUlid(1_900_000_000_000)
    expect(newUlid(1_000_000_000_000) > first).toBe(true)
  })

  it('converts to a W3C trace id of 128 bits and back', () => {
    expect(ulidToTraceId('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')).toBe('f'.repeat(32))
    expect(traceIdToUlid('0'.repeat(31) + '1')).toBe('00000000000000000000000001')
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), (value) => {
        const traceId = value.toString(16).padStart(32, '0')
        const id = traceIdToUlid(traceId)
        expect(isUlid(id)).toBe(true)
        expect(ulidToTraceId(id)).toBe(traceId)
      }),
    )
  })

  it("is invalid with letters outside Crockford's base 32 or above 128 bits", () => {
    expect(isUlid('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe(true)
    expect(isUlid('01ARZ3NDEKTSV4RRFFQ69G5FAI')).toBe(false)
    expect(isUlid('81ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe(false)
  })
})
