import { describe, expect, it } from 'vitest'
import { createMeasurementHistory } from './measurement-history.ts'

const NOON = Date.UTC(2026, 0, 1, 12)
const MINUTE = 60_000

describe('measurement history', () => {
  it('keeps one point per minute, the last one', () => {
    const history = createMeasurementHistory()
    history.record('room', 20, NOON)
    history.record('room', 21, NOON + 30_000)
    history.record('room', 22, NOON + MINUTE)
    expect(history.read(['room'])).toEqual([{ id: 'room', atMs: [NOON + 30_000, NOON + MINUTE], values: [21, 22] }])
  })

  it('discards points older than its span and more points than its limit', () => {
    const history = createMeasurementHistory({ points: 3 })
    for (let minute = 0; minute < 5; minute++) history.record('room', minute, NOON + minute * MINUTE)
    expect(history.read(['room'])[0]?.values).toEqual([2, 3, 4])
    history.record('room', 9, NOON + 60 * MINUTE)
    expect(history.read(['room'])[0]?.values).toEqual([9])
  })

  it('discards the series with the oldest last value when there are too many', () => {
    const history = createMeasurementHistory({ maxSeries: 2 })
    history.record('a', 1, NOON)
    history.record('b', 1, NOON)
    history.record('a', 2, NOON + MINUTE)
    history.record('c', 1, NOON + MINUTE)
    expect(history.ids()).toEqual(['a', 'c'])
  })

  it('returns a series once, even if it is requested twice', () => {
    const history = createMeasurementHistory()
    history.record('room', 20, NOON)
    expect(history.read(['room', 'hall', 'room'])).toEqual([{ id: 'room', atMs: [NOON], values: [20] }])
  })

  it('ignores a value that is not a number', () => {
    const history = createMeasurementHistory()
    history.record('room', NaN, NOON)
    expect(history.read()).toEqual([])
  })

  it('continues when the clock is set back, without the points dated in the future', () => {
    const history = createMeasurementHistory()
    history.record('room', 18, NOON - 5 * MINUTE)
    history.record('room', 20, NOON + 600 * MINUTE)
    history.record('room', 19, NOON)
    expect(history.read()).toEqual([{ id: 'room', atMs: [NOON - 5 * MINUTE, NOON], values: [18, 19] }])
  })
})
