import { describe, expect, it } from 'vitest'
import { DEFAULT_LIVENESS_SETTINGS, isConnectionDead } from './liveness.ts'

const dead = (unanswered: number, silenceMs: number) =>
  isConnectionDead({ lastDataMs: 0, unanswered }, DEFAULT_LIVENESS_SETTINGS, silenceMs)

describe('liveness check', () => {
  it('keeps a device that misses pongs but sends messages', () => {
    expect(dead(100, 120_000)).toBe(false)
  })

  it('keeps a device that sends no messages but answers pings', () => {
    expect(dead(2, 10_000_000)).toBe(false)
  })

  it('gives a device up that neither answers pings nor sends messages', () => {
    expect(dead(3, 120_001)).toBe(true)
  })
})
