import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Notice } from './notice.ts'

describe('notice', () => {
  let told = 0
  let notice: Notice
  beforeEach(() => {
    vi.useFakeTimers()
    told = 0
    notice = new Notice(() => told++)
  })
  afterEach(() => {
    notice.close()
    vi.useRealTimers()
  })

  it('tells of the first change at once', () => {
    notice.changed()
    expect(told).toBe(1)
  })

  it('tells of a thousand changes during its rest once, after it', () => {
    for (let each = 0; each < 1_000; each++) notice.changed()
    expect(told).toBe(1)
    vi.advanceTimersByTime(200)
    expect(told).toBe(2)
    vi.advanceTimersByTime(1_000)
    expect(told).toBe(2)
  })

  it('rests again after a change it owed', () => {
    notice.changed()
    notice.changed()
    vi.advanceTimersByTime(200)
    notice.changed()
    expect(told).toBe(2)
    vi.advanceTimersByTime(200)
    expect(told).toBe(3)
  })

  it('tells nothing after it is closed', () => {
    notice.changed()
    notice.changed()
    notice.close()
    vi.advanceTimersByTime(1_000)
    notice.changed()
    expect(told).toBe(1)
  })
})
