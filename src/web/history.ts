/**
 * History: the last 24 hours of numbers, one point a minute at most, in memory and bounded.
 *
 *   record(id, value, nowMs) ▸ a ring per series, the minute's last value wins ▸ read(ids)
 *
 * Pure: time comes from outside.
 */
import type { SeriesView } from './views.ts'

export interface MeasurementHistory {
  /** What is measured now. */
  readonly record: (id: string, value: number, nowMs: number) => void
  /** Those asked for, as far as they are known, each once however often it is named; all of them when none is. */
  readonly read: (ids?: readonly string[]) => readonly SeriesView[]
  readonly ids: () => readonly string[]
}

const MINUTE_MS = 60_000
const POINTS = 1_440
/** 512 series of 1,440 points are 12 MB at most; a house that measures more keeps what it heard of lately. */
const MAX_SERIES = 512

interface Series {
  readonly atMs: number[]
  readonly values: number[]
}

export function createHistory({ maxSeries = MAX_SERIES, points = POINTS } = {}): MeasurementHistory {
  const series = new Map<string, Series>()

  return {
    record: (id, value, nowMs) => {
      if (!Number.isFinite(value)) return
      const known = series.get(id) ?? { atMs: [], values: [] }
      // Set again, so that the order of the map is the order of the last words.
      series.delete(id)
      series.set(id, known)
      for (const oldest of series.keys()) {
        if (series.size <= maxSeries) break
        series.delete(oldest)
      }
      // A clock that was set back: what stands at times that are yet to come was noted by a wrong one.
      while ((known.atMs.at(-1) ?? nowMs) > nowMs) {
        known.atMs.pop()
        known.values.pop()
      }
      const last = known.atMs.length - 1
      const lastMs = known.atMs[last] ?? -Infinity
      if (Math.floor(nowMs / MINUTE_MS) === Math.floor(lastMs / MINUTE_MS)) {
        known.atMs[last] = nowMs
        known.values[last] = value
        return
      }
      known.atMs.push(nowMs)
      known.values.push(value)
      const tooOldMs = nowMs - points * MINUTE_MS
      while (known.atMs.length > points || (known.atMs[0] ?? nowMs) <= tooOldMs) {
        known.atMs.shift()
        known.values.shift()
      }
    },
    read: (ids = [...series.keys()]) =>
      [...new Set(ids)].flatMap((id) => {
        const known = series.get(id)
        return known === undefined ? [] : [{ id, atMs: [...known.atMs], values: [...known.values] }]
      }),
    ids: () => [...series.keys()],
  }
}
