/**
 * Clock: the two times a program knows. Wall time is for people; monotonic time is for waiting and ordering.
 *
 * Passed in as a dependency, so that a trace can be replayed and a test decides when a minute has passed.
 *
 * Reads the system's clocks.
 */
import { performance } from 'node:perf_hooks'

export interface Clock {
  /** Milliseconds since 1970, may jump. */
  readonly now: () => number
  /** Milliseconds since some moment, never goes back. */
  readonly monotonic: () => number
}

// Bound once: the global is a getter, and clocks are read a dozen times per call.
export const systemClock: Clock = { now: Date.now, monotonic: performance.now.bind(performance) }
