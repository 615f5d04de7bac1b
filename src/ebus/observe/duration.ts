/**
 * Duration: a length of time as the contract writes it, `250ms`, `30s`, `1m30.5s`, `2h0m0s`.
 */
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

export function formatDuration(exactMs: number): string {
  const ms = rounded(exactMs)
  if (ms < SECOND_MS) return `${ms}ms`
  const hours = Math.floor(ms / HOUR_MS)
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS)
  const seconds = `${(ms % MINUTE_MS) / SECOND_MS}s`
  if (hours > 0) return `${hours}h${minutes}m${seconds}`
  return minutes > 0 ? `${minutes}m${seconds}` : seconds
}

/** Rounded before it is split: almost two minutes are `2m0s`, and not `1m60s`. Nothing is measured more precisely. */
function rounded(ms: number): number {
  return ms < SECOND_MS ? Number(ms.toFixed(3)) : Math.round(ms)
}
