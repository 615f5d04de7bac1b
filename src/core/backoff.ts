/** Backoff: how long to wait before trying again. The schedule lives here, the waiting in the transport. */
export interface BackoffSchedule {
  readonly firstMs: number
  readonly maxMs: number
  readonly factor: number
}

export const RECONNECT_BACKOFF: BackoffSchedule = { firstMs: 500, maxMs: 30_000, factor: 2 }

/**
 * Equal jitter: at least half the step, so that an unstable peer is not flooded with attempts; `attempt` counts from 0.
 */
export function computeBackoffMs(
  schedule: BackoffSchedule,
  attempt: number,
  random: () => number = Math.random,
): number {
  const step = Math.min(schedule.maxMs, schedule.firstMs * schedule.factor ** attempt)
  return Math.round(step / 2 + (step / 2) * random())
}
