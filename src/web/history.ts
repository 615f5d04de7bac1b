/**
 * History: the last 24 hours of numbers, one point a minute at most, in memory and bounded.
 *
 *   record(id, value, atMs) ▸ a ring per series, the minute's last value wins ▸ read(ids)
 *
 * Pure: time comes from outside.
 */
import type { SeriesView } from './views.ts'

export interface History {
  readonly record: (id: string, value: number, atMs: number) => void
  /** Those asked for, as far as they are known; all of them when none is named. */
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

export function createHistory({ maxSeries = MAX_SERIES, points = POINTS } = {}): History {
  const series = new Map<string, Series>()

  return {
    record: (id, value, atMs) => {
      if (!Number.isFinite(value)) return
      const known = series.get(id) ?? { atMs: [], values: [] }
      // Set again, so that the order of the map is the order of the last words.
      series.delete(id)
      series.set(id, known)
      for (const oldest of series.keys()) {
        if (series.size <= maxSeries) break
        series.delete(oldest)
      }
      const last = known.atMs.length - 1
      const lastMs = known.atMs[last] ?? -Infinity
      if (atMs <= lastMs) return
      if (Math.floor(atMs / MINUTE_MS) === Math.floor(lastMs / MINUTE_MS)) {
        known.atMs[last] = atMs
        known.values[last] = value
        return
      }
      known.atMs.push(atMs)
      known.values.push(value)
      const tooOldMs = atMs - points * MINUTE_MS
      while (known.atMs.length > points || (known.atMs[0] ?? atMs) <= tooOldMs) {
        known.atMs.shift()
        known.values.shift()
      }
    },
    read: (ids = [...series.keys()]) =>
      ids.flatMap((id) => {
        const known = series.get(id)
        return known === undefined ? [] : [{ id, atMs: [...known.atMs], values: [...known.values] }]
      }),
    ids: () => [...series.keys()],
  }
}
