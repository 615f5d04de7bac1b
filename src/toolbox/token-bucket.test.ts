import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFullBucket, isBucketFull, computeMsUntilToken, takeToken } from './token-bucket.ts'
import type { TokenBucket } from './token-bucket.ts'

const RATE = { tokens: 10, perMs: 1_000, burst: 3 }

describe('token bucket', () => {
  it('allows a burst, and then tokens at the refill rate', () => {
    let bucket: TokenBucket | undefined = createFullBucket(RATE, 0)
    for (let each = 0; each < 3; each++) bucket = bucket && takeToken(bucket, RATE, 0)
    expect(bucket).toEqual({ tokens: 0, atMs: 0 })
    expect(takeToken({ tokens: 0, atMs: 0 }, RATE, 99)).toBeUndefined()
    expect(takeToken({ tokens: 0, atMs: 0 }, RATE, 100)).toEqual({ tokens: 0, atMs: 100 })
  })

  it('holds at most a burst, and gains nothing when the clock goes back', () => {
    expect(takeToken({ tokens: 0, atMs: 0 }, RATE, 60_000)).toEqual({ tokens: 2, atMs: 60_000 })
    expect(takeToken({ tokens: 0.5, atMs: 1_000 }, RATE, 0)).toBeUndefined()
    expect(isBucketFull({ tokens: 0, atMs: 0 }, RATE, 299)).toBe(false)
    expect(isBucketFull({ tokens: 0, atMs: 0 }, RATE, 300)).toBe(true)
  })

  it('never allows more than the burst plus the refill', () => {
    const gaps = fc.array(fc.nat({ max: 20_000 }), { maxLength: 60 })
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 20 }), (waits, tokens, burst) => {
        const rate = { tokens, perMs: 60_000, burst }
        let bucket = createFullBucket(rate, 0)
        let nowMs = 0
        let taken = 0
        for (const waitMs of waits) {
          nowMs += waitMs
          const after = takeToken(bucket, rate, nowMs)
          expect(after === undefined).toBe(computeMsUntilToken(bucket, rate, nowMs) > 0)
          if (after === undefined) continue
          bucket = after
          taken += 1
        }
        expect(taken).toBeLessThanOrEqual(burst + (nowMs * tokens) / 60_000 + 1e-6)
      }),
    )
  })

  it('allows a token after exactly the computed wait', () => {
    const rate = { tokens: 6, perMs: 60_000, burst: 1 }
    const empty = { tokens: 0, atMs: 0 }
    expect(computeMsUntilToken(empty, rate, 0)).toBe(10_000)
    expect(computeMsUntilToken(empty, rate, 9_999)).toBe(1)
    expect(computeMsUntilToken(empty, rate, 10_000)).toBe(0)
  })

  it('never allows a token at a rate or burst of zero', () => {
    expect(computeMsUntilToken({ tokens: 0, atMs: 0 }, { tokens: 0, perMs: 60_000, burst: 1 }, 1e9)).toBe(Infinity)
    const nothing = { tokens: 5, perMs: 60_000, burst: 0 }
    expect(computeMsUntilToken(createFullBucket(nothing, 0), nothing, 1e9)).toBe(Infinity)
  })
})
