import { describe, expect, it } from 'vitest'
import { isProviderFailure, ProviderHealth } from './health.ts'
import type { QuarantineChange } from './health.ts'

function play(
  health: ProviderHealth,
  outcomes: string,
  at: { nowMs: number; mayEject?: boolean } = { nowMs: 0 },
): QuarantineChange {
  let change: QuarantineChange
  for (const outcome of outcomes)
    change = health.record({
      success: outcome === '+',
      latencyMs: outcome === '+' ? 20 : 1,
      nowMs: at.nowMs,
      isProbe: false,
      mayEject: at.mayEject ?? true,
    })
  return change
}

function probe(health: ProviderHealth, success: boolean, nowMs: number): QuarantineChange {
  health.startProbe()
  return health.record({ success, latencyMs: 20, nowMs, isProbe: true, mayEject: true })
}

describe('provider health', () => {
  // test_health_quarantines_at_threshold
  it('health quarantines at threshold', () => {
    const health = new ProviderHealth()
    expect(play(health, '+-+-+-+-+-')).toBeUndefined()
    expect(health.successRate).toBe(0.5)
    expect(play(health, '-')).toBe('quarantined')
    expect(health.isQuarantined(59_999)).toBe(true)
    expect(health.isQuarantined(60_000)).toBe(false)
  })

  it('does not quarantine a provider for its first four failed calls', () => {
    const health = new ProviderHealth()
    expect(play(health, '-')).toBeUndefined()
    expect(play(health, '---')).toBeUndefined()
    expect(health.isQuarantined(0)).toBe(false)
  })

  it('quarantines after five failures in a row, however good the earlier results', () => {
    const health = new ProviderHealth()
    expect(play(health, `${'+'.repeat(95)}----`)).toBeUndefined()
    expect(play(health, '-')).toBe('quarantined')
  })

  it('quarantines no provider when too few others would remain', () => {
    expect(play(new ProviderHealth(), '-'.repeat(100), { nowMs: 0, mayEject: false })).toBeUndefined()
  })

  // test_health_resets_after_quarantine_window
  it('health resets after quarantine window', () => {
    const health = new ProviderHealth()
    play(health, '-----')
    expect(health.isProbeDue(59_999)).toBe(false)
    expect(health.isProbeDue(60_000)).toBe(true)
    expect(probe(health, true, 60_000)).toBe('recovered')
    expect(health.successRate).toBe(1)
    expect(health.isEjected()).toBe(false)
  })

  it('allows exactly one probe after the quarantine', () => {
    const health = new ProviderHealth()
    play(health, '-----')
    health.startProbe()
    expect(health.isProbeDue(60_000)).toBe(false)
    expect(health.isQuarantined(60_000)).toBe(true)
    health.probeEndedOpenly()
    expect(health.isProbeDue(60_000)).toBe(true)
  })

  it('is decided by the probe only, not by other calls during it', () => {
    const health = new ProviderHealth()
    play(health, '-----')
    health.startProbe()
    play(health, '+-', { nowMs: 60_000 })
    expect([health.isProbing, health.isProbeDue(60_000)]).toEqual([true, false])
  })

  it('is cleared completely by a reset', () => {
    const health = new ProviderHealth()
    play(health, '++')
    expect(health.p50Ms).toBe(20)
    health.reset()
    expect([health.samples, health.p50Ms, health.successRate, health.quarantinedUntilMs]).toEqual([0, 0, 1, 0])
    play(health, '-----')
    expect(health.quarantinedUntilMs).toBe(60_000)
    health.startProbe()
    health.reset()
    expect([health.isEjected(), health.isQuarantined(0), health.quarantinedUntilMs]).toEqual([false, false, 0])
  })

  it('quarantines again after a failed probe, each time longer, up to five minutes', () => {
    const health = new ProviderHealth()
    play(health, '-----')
    let nowMs = 0
    const lengths = [1, 2, 3, 4, 5, 6, 7].map(() => {
      const length = health.quarantinedUntilMs - nowMs
      nowMs = health.quarantinedUntilMs
      expect(probe(health, false, nowMs)).toBe('quarantined')
      return length
    })
    expect(lengths).toEqual([60_000, 120_000, 180_000, 240_000, 300_000, 300_000, 300_000])
  })

  it('shortens the next quarantine again when earlier ones are long ago', () => {
    const health = new ProviderHealth()
    play(health, '-----')
    probe(health, true, 60_000)
    play(health, '-----', { nowMs: 700_000 })
    expect(health.quarantinedUntilMs).toBe(760_000)
  })

  it('ignores results of calls that began before the quarantine', () => {
    const health = new ProviderHealth()
    play(health, '-----')
    expect(play(health, '+', { nowMs: 10 })).toBeUndefined()
    expect(health.isQuarantined(20)).toBe(true)
    expect(play(health, '-----', { nowMs: 20 })).toBeUndefined()
    expect(health.quarantinedUntilMs).toBe(60_000)
  })

  it('covers the last hundred calls', () => {
    const health = new ProviderHealth()
    play(health, '-'.repeat(60), { nowMs: 0, mayEject: false })
    play(health, '+'.repeat(50))
    expect([health.samples, health.successRate]).toEqual([100, 0.5])
    play(health, '+'.repeat(60))
    expect(health.successRate).toBe(1)
  })

  it('takes latency percentiles of successful calls only', () => {
    const health = new ProviderHealth()
    for (let ms = 1; ms <= 100; ms++)
      health.record({ success: true, latencyMs: ms, nowMs: 0, isProbe: false, mayEject: false })
    expect([health.p50Ms, health.p95Ms, health.p99Ms]).toEqual([50, 95, 99])
    play(health, '-'.repeat(50), { nowMs: 0, mayEject: false })
    expect(health.p50Ms).toBe(75)
    play(health, '-'.repeat(50), { nowMs: 0, mayEject: false })
    expect(health.p50Ms).toBe(0)
  })

  it('counts faults of the provider and no faults of the caller', () => {
    const kinds = ['offline', 'timed-out', 'failed', 'unknown-outcome', 'internal'] as const
    expect(kinds.every(isProviderFailure)).toBe(true)
    const callers = [
      'invalid-arguments',
      'not-found',
      'not-permitted',
      'approval-required',
      'conflict',
      'busy',
      'cancelled',
      'unsupported',
    ] as const
    expect(callers.some(isProviderFailure)).toBe(false)
  })
})
