import { describe, expect, it } from 'vitest'
import { reply } from '../../test/bus-village.ts'
import { DURATION_BUCKETS_MS, CallCounters, UNKNOWN_CAPABILITY_LABEL } from './trace.ts'

describe('call tally', () => {
  it('counts a duration in the first bucket whose bound it does not exceed', () => {
    const counted = new CallCounters().of('x.y')
    for (const ms of [0, ...DURATION_BUCKETS_MS, 5_000.1, 1e9]) counted.count(reply(null), ms)
    expect([...counted.durations]).toEqual([2, ...DURATION_BUCKETS_MS.slice(1).map(() => 1), 2])
  })

  it('tracks at most 5,000 capability names and 1,000 models', () => {
    const tally = new CallCounters()
    for (let count = 0; count < 6_000; count++) {
      tally.of(`x.n${count}`).count(reply(null), 1)
      tally.countTokens({ model: `m${count}` }, 1)
    }
    expect(tally.byCapability.size).toBe(5_001)
    expect(tally.of(UNKNOWN_CAPABILITY_LABEL).calls).toBe(1_000)
    expect(tally.tokens.size).toBe(1_000)
  })
})
