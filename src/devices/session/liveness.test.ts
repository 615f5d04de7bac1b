import { describe, expect, it } from 'vitest'
import { DEFAULT_LIVENESS_SETTINGS, isConnectionDead } from './liveness.ts'

const dead = (unanswered: number, silenceMs: number) =>
  isConnectionDead({ lastDataMs: 0, unanswered }, DEFAULT_LIVENESS_SETTINGS, silenceMs)

describe('liveness', () => {
  it('never gives a device up for missing pongs alone', () => {
    expect(dead(100, 120_000)).toBe(false)
  })

  it('never gives a device up for silence alone', () => {
    expect(dead(2, 10_000_000)).toBe(false)
  })

  it('gives a device up after both', () => {
    expect(dead(3, 120_001)).toBe(true)
  })
})
