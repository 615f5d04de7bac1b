import { describe, expect, it } from 'vitest'
import { cost, observe, PENALTY_MS, unknownLatency } from './health.ts'

function answeredOften(latencyMs: number, nowMs = 0) {
  const estimate = unknownLatency()
  for (let count = 0; count < 10; count++) observe(estimate, latencyMs, nowMs)
  return estimate
}

describe('peak ewma', () => {
  it('believes a slower answer at once', () => {
    const estimate = answeredOften(10)
    observe(estimate, 200, 1)
    expect(cost(estimate, 0, 1)).toBe(200)
  })

  it('believes faster answers gradually', () => {
    const estimate = answeredOften(200)
    observe(estimate, 10, 1_000)
    expect(cost(estimate, 0, 1_000)).toBeCloseTo(10 + 190 * Math.exp(-0.1), 6)
  })

  it('counts what is in flight', () => {
    expect(cost(answeredOften(10), 3, 0)).toBe(40)
  })

  it('tries a provider nobody knows before any known one', () => {
    expect(cost(unknownLatency(), 0, 0)).toBeLessThan(cost(answeredOften(1), 0, 0))
  })

  it('gives a newcomer one call at a time until it has answered', () => {
    expect(cost(unknownLatency(), 1, 0)).toBe(2 * PENALTY_MS)
    const once = unknownLatency()
    observe(once, 5, 0)
    expect(cost(once, 1, 0)).toBe(10)
    expect(cost(once, 2, 0)).toBe(3 * PENALTY_MS)
  })

  it('lets a bad opinion fade without news', () => {
    expect(cost(answeredOften(PENALTY_MS), 0, 60_000)).toBeLessThan(15)
  })
})
