/**
 * Measurement history: the last 24 hours of measurements, at most one point a minute, in memory and bounded.
 *
 *   record(id, value, nowMs) ▸ a ring per series, the minute's last value wins ▸ read(ids)
 */
import type { MeasurementSeriesView } from './views.ts'

export interface MeasurementHistory {
  /** Records a present value. */
  readonly record: (id: string, value: number, nowMs: number) => void
  /** The requested series as far as they are known, each once; all of them without a list. */
  readonly read: (ids?: readonly string[]) => readonly MeasurementSeriesView[]
  readonly ids: () => readonly string[]
}

const MINUTE_MS = 60_000
const POINTS = 1_440
/** 512 series of 1,440 points are 12 MB at most; with more, the least recently updated are dropped. */
const MAX_SERIES = 512

interface Series {
  readonly atMs: number[]
  readonly values: number[]
}

export function createMeasurementHistory({ maxSeries = MAX_SERIES, points = POINTS } = {}): MeasurementHistory {
  const series = new Map<string, Series>()

  return {
    record: (id, value, nowMs) => {
      if (!Number.isFinite(value)) return
      const known = series.get(id) ?? { atMs: [], values: [] }
      // Set again, so that the order of the map is the order of the last update.
      series.delete(id)
      series.set(id, known)
      for (const oldest of series.keys()) {
        if (series.size <= maxSeries) break
        series.delete(oldest)
      }
      // The clock was set back, so points in the future were recorded with a wrong clock, and are removed.
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
