/** A clock that stands still until told otherwise: a test decides when a minute has passed. */
import type { Clock } from '../src/core/clock.ts'

export interface ManualClock extends Clock {
  readonly advance: (ms: number) => void
  /** Somebody sets the wall clock, by so much; no time passes. */
  readonly set: (ms: number) => void
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsed = 0
  let setMs = 0
  return {
    now: () => startMs + setMs + elapsed,
    monotonic: () => elapsed,
    advance: (ms) => {
      elapsed += ms
    },
    set: (ms) => {
      setMs += ms
    },
  }
}
