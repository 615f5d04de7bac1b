import { describe, expect, it } from 'vitest'
import { estimateProviderCost, observeLatency, FAILED_CALL_LATENCY_MS, createLatencyEstimate } from './health.ts'

function answeredOften(latencyMs: number, nowMs = 0) {
  const estimate = createLatencyEstimate()
  for (let count = 0; count < 10; count++) observeLatency(estimate, latencyMs, nowMs)
  return estimate
}

describe('peak EWMA latency estimate', () => {
  it('adopts a slower response time at once', () => {
    const estimate = answeredOften(10)
    observeLatency(estimate, 200, 1)
    expect(estimateProviderCost(estimate, 0, 1)).toBe(200)
  })

  it('adopts faster response times gradually', () => {
    const estimate = answeredOften(200)
    observeLatency(estimate, 10, 1_000)
    expect(estimateProviderCost(estimate, 0, 1_000)).toBeCloseTo(10 + 190 * Math.exp(-0.1), 6)
  })

  it('multiplies the cost by the calls in flight', () => {
    expect(estimateProviderCost(answeredOften(10), 3, 0)).toBe(40)
  })

  it('ranks a provider without samples before a known one', () => {
    expect(estimateProviderCost(createLatencyEstimate(), 0, 0)).toBeLessThan(
      estimateProviderCost(answeredOften(1), 0, 0),
    )
  })

  it('gives a provider without samples one call at a time until it has answered', () => {
    expect(estimateProviderCost(createLatencyEstimate(), 1, 0)).toBe(2 * FAILED_CALL_LATENCY_MS)
    const once = createLatencyEstimate()
    observeLatency(once, 5, 0)
    expect(estimateProviderCost(once, 1, 0)).toBe(10)
    expect(estimateProviderCost(once, 2, 0)).toBe(3 * FAILED_CALL_LATENCY_MS)
  })

  it('decays a high latency over time without new samples', () => {
    expect(estimateProviderCost(answeredOften(FAILED_CALL_LATENCY_MS), 0, 60_000)).toBeLessThan(15)
  })
})
