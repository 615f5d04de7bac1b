import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Throttle } from './throttle.ts'

describe('throttle', () => {
  let runs = 0
  let throttle: Throttle
  beforeEach(() => {
    vi.useFakeTimers()
    runs = 0
    throttle = new Throttle(() => runs++, 200)
  })
  afterEach(() => {
    throttle.close()
    vi.useRealTimers()
  })

  it('runs at the first trigger', () => {
    throttle.trigger()
    expect(runs).toBe(1)
  })

  it('runs once after its pause, however often it was triggered meanwhile', () => {
    for (let each = 0; each < 1_000; each++) throttle.trigger()
    expect(runs).toBe(1)
    vi.advanceTimersByTime(200)
    expect(runs).toBe(2)
    vi.advanceTimersByTime(1_000)
    expect(runs).toBe(2)
  })

  it('pauses again after a delayed run', () => {
    throttle.trigger()
    throttle.trigger()
    vi.advanceTimersByTime(200)
    throttle.trigger()
    expect(runs).toBe(2)
    vi.advanceTimersByTime(200)
    expect(runs).toBe(3)
  })

  it('never runs after it is closed', () => {
    throttle.trigger()
    throttle.trigger()
    throttle.close()
    vi.advanceTimersByTime(1_000)
    throttle.trigger()
    expect(runs).toBe(1)
  })
})
