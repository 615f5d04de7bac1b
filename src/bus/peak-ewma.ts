/**
 * Peak EWMA: how long a provider takes, as pessimistically as it was last seen.
 *
 * A slower answer counts at once and in full; faster ones are believed gradually, with time constant DECAY_MS. The
 * load balancers of Finagle, Linkerd and tower use the same estimate: cost = latency × (in flight + 1).
 *
 * Pure: time is an argument.
 */

const DECAY_MS = 10_000

/** What a failed or refused call counts as (Linkerd's load biaser): failing fast must never look like being fast. */
export const PENALTY_MS = 5_000

/** Until a provider has answered this often, it gets at most one call more in flight than it has answered. */
const SLOW_START_ANSWERS = 8

export interface PeakEwma {
  latencyMs: number
  atMs: number
  answers: number
}

export function unknownLatency(): PeakEwma {
  return { latencyMs: 0, atMs: 0, answers: 0 }
}

export function forget(estimate: PeakEwma): void {
  Object.assign(estimate, unknownLatency())
}

export function observe(estimate: PeakEwma, latencyMs: number, nowMs: number): void {
  const believed = estimate.answers === 0 ? latencyMs : decayTowards(estimate, latencyMs, nowMs)
  estimate.latencyMs = Math.max(latencyMs, believed)
  estimate.atMs = nowMs
  estimate.answers++
}

/** Lower is better. A provider nobody knows is tried at once, and then waited for before it gets more. */
export function cost(estimate: PeakEwma, inFlight: number, nowMs: number): number {
  if (estimate.answers < SLOW_START_ANSWERS && inFlight > estimate.answers) return PENALTY_MS * (inFlight + 1)
  // Without news a bad opinion fades, so that a provider which was slow once gets another chance.
  return decayTowards(estimate, 0, nowMs) * (inFlight + 1)
}

function decayTowards(estimate: PeakEwma, targetMs: number, nowMs: number): number {
  const weight = Math.exp(-Math.max(0, nowMs - estimate.atMs) / DECAY_MS)
  return targetMs + (estimate.latencyMs - targetMs) * weight
}
