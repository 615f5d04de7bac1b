/**
 * Health: success rate and latency of a provider over its last hundred calls, and when it is in quarantine.
 *
 *            rate < 0.5 (of ≥ 10) or 5 failures in a row
 *   trusted ────────────────────────────────────────────▶ quarantined (60 s × ejections, at most 300 s)
 *      ▲                                                       │ time is up
 *      └──────── one probe succeeds: history forgotten ──── half open ── the probe fails ──▶ quarantined
 *
 * Spec 2 § 5.7, with a minimum number of samples so that one failure of a newcomer ejects nobody, and with at most half
 * of a capability's providers ejected: when everybody fails, the fault is more likely ours than theirs. It follows that
 * an only provider is never ejected; no other provider could serve its calls.
 *
 * What an outcome says of its provider (spec 2 § 3.3):
 *
 *   answered             success, with its latency
 *   the provider's fault failure, and for routing as slow as PENALTY_MS: a fast failer never looks fast
 *   busy                 no failure, but costs more for a while, and is left alone as long as it asked; except what is
 *                        bound to this node: one busy device must not keep calls from all others behind it
 *   refused, not begun   no failure either, but as slow as PENALTY_MS: a node that refuses must not look fast
 *   our own connection   this node's doing: tells nothing
 *   anything else        the caller's doing: tells nothing
 */
import type { FaultKind, Fault } from '../core/fault.ts'
import type { Outcome } from './call.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import { canServeSameParams } from './route-request-matching.ts'
import type { CapabilityRegistry } from './registry.ts'

const HEALTH_WINDOW_CALLS = 100
const QUARANTINE_THRESHOLD = 0.5
const QUARANTINE_MS = 60_000
const MAX_QUARANTINE_MS = 300_000
const MIN_SAMPLES = 10
const CONSECUTIVE_FAILURES = 5
/** After this long without an ejection, the next one counts as the first again. */
const FORGIVEN_AFTER_MS = 600_000

/** Fault kinds that say something about the provider. All others are caused by the caller or by load. */
const PROVIDER_FAULTS: ReadonlySet<FaultKind> = new Set([
  'offline',
  'timed-out',
  'failed',
  'unknown-outcome',
  'internal',
])

export function isProviderFailure(kind: FaultKind): boolean {
  return PROVIDER_FAULTS.has(kind)
}

/**
 * Fault kinds with which a node refuses to serve a call. Returned by a handler that was entered, they are an answer.
 */
const REFUSED: ReadonlySet<FaultKind> = new Set(['not-found', 'not-permitted', 'unsupported'])

/** The node refused the call before one of its handlers was entered. */
export function isRefusedBeforeStart({ kind, begun }: Fault): boolean {
  return begun === false && REFUSED.has(kind)
}

export type QuarantineChange = 'quarantined' | 'recovered' | undefined

export interface HealthSample {
  readonly success: boolean
  readonly latencyMs: number
  readonly nowMs: number
  readonly isProbe: boolean
  /** Whether enough other providers of the capability would be left. */
  readonly mayEject: boolean
}

export class ProviderHealth {
  /** Ring buffers, allocated with the first sample: most entries of a large mesh are never called from here. */
  #succeeded: Uint8Array | undefined
  #latencyMs: Float32Array | undefined
  #next = 0
  #samples = 0
  #successes = 0
  #failuresInARow = 0
  #sorted: Float32Array | undefined
  #quarantinedUntilMs = 0
  #ejections = 0
  #ejectedAtMs = -Infinity
  #open = true
  #probing = false

  get samples(): number {
    return this.#samples
  }

  get successRate(): number {
    return this.#samples === 0 ? 1 : this.#successes / this.#samples
  }

  /** Over successes; 0 while there are none. */
  get p50Ms(): number {
    return this.#quantile(0.5)
  }

  get p95Ms(): number {
    return this.#quantile(0.95)
  }

  get p99Ms(): number {
    return this.#quantile(0.99)
  }

  get quarantinedUntilMs(): number {
    return this.#quarantinedUntilMs
  }

  get ejections(): number {
    return this.#ejections
  }

  /** Neither routed to nor probed at this moment. */
  isQuarantined(nowMs: number): boolean {
    return !this.#open && (this.#probing || nowMs < this.#quarantinedUntilMs)
  }

  /** Ejected, whether or not its probe is due. */
  isEjected(): boolean {
    return !this.#open
  }

  /** A probe is under way. */
  get isProbing(): boolean {
    return this.#probing
  }

  /** The quarantine is over and nobody is trying it yet: the next call should. */
  isProbeDue(nowMs: number): boolean {
    return !this.#open && !this.#probing && nowMs >= this.#quarantinedUntilMs
  }

  /** The one call that decides whether the provider is back. It ends in `record` or in `probeEndedOpenly`. */
  startProbe(): void {
    this.#probing = true
  }

  /**
   * The probe told nothing about the provider (the caller's fault, or cancelled), so the next call becomes the probe.
   */
  probeEndedOpenly(): void {
    this.#probing = false
  }

  record(sample: HealthSample): QuarantineChange {
    const { success, latencyMs, nowMs, isProbe, mayEject } = sample
    if (isProbe) this.#probing = false
    if (isProbe && success) {
      this.reset()
      this.#push(true, latencyMs)
      return 'recovered'
    }
    this.#push(success, latencyMs)
    if (isProbe) return this.#eject(nowMs)
    // Calls that were running when it was ejected do not count, whether they succeed or fail: only the probe decides.
    if (success || !this.#open || !mayEject) return undefined
    const failing = this.#samples >= MIN_SAMPLES && this.successRate < QUARANTINE_THRESHOLD
    return failing || this.#failuresInARow >= CONSECUTIVE_FAILURES ? this.#eject(nowMs) : undefined
  }

  /** Forgets the history and ends the quarantine, but keeps the number of ejections. */
  reset(): void {
    this.#next = 0
    this.#samples = 0
    this.#successes = 0
    this.#failuresInARow = 0
    this.#sorted = undefined
    this.#open = true
    this.#quarantinedUntilMs = 0
  }

  #eject(nowMs: number): 'quarantined' {
    if (nowMs - this.#ejectedAtMs > FORGIVEN_AFTER_MS) this.#ejections = 0
    this.#ejections++
    this.#ejectedAtMs = nowMs
    this.#open = false
    this.#quarantinedUntilMs = nowMs + Math.min(QUARANTINE_MS * this.#ejections, MAX_QUARANTINE_MS)
    return 'quarantined'
  }

  #push(success: boolean, latencyMs: number): void {
    const succeeded = (this.#succeeded ??= new Uint8Array(HEALTH_WINDOW_CALLS))
    const latencies = (this.#latencyMs ??= new Float32Array(HEALTH_WINDOW_CALLS))
    if (this.#samples === HEALTH_WINDOW_CALLS) this.#successes -= succeeded[this.#next] ?? 0
    else this.#samples++
    succeeded[this.#next] = success ? 1 : 0
    latencies[this.#next] = latencyMs
    this.#next = (this.#next + 1) % HEALTH_WINDOW_CALLS
    this.#sorted = undefined
    if (success) {
      this.#successes++
      this.#failuresInARow = 0
    } else this.#failuresInARow++
  }

  /** Sorted on request rather than at every call: the default routing strategy does not need it. */
  #quantile(share: number): number {
    const [succeeded, latencies] = [this.#succeeded, this.#latencyMs]
    if (succeeded === undefined || latencies === undefined) return 0
    this.#sorted ??= latencies
      .slice(0, this.#samples)
      .filter((_, index) => succeeded[index] === 1)
      .sort()
    return this.#sorted[Math.max(0, Math.ceil(share * this.#sorted.length) - 1)] ?? 0
  }
}

/** Upper limit for how long a provider counts as busy, whatever it asks for. */
const MAX_BUSY_MS = 30_000

export interface EndedCallMeasurement {
  readonly outcome: Outcome
  /** The provider's own time, without what its consumer took. */
  readonly latencyMs: number
  readonly nowMs: number
  readonly isProbe: boolean
  /** Ended by the caller or by the caller's short deadline: the provider is not to blame. */
  readonly isCallersDoing: boolean
}

export class HealthTracker {
  readonly #registry: CapabilityRegistry

  constructor(registry: CapabilityRegistry) {
    this.#registry = registry
  }

  record(entry: CapabilityEntry, ending: EndedCallMeasurement): QuarantineChange {
    const change = this.#record(entry, ending)
    if (change === 'quarantined') entry.contract?.ejected.add(entry)
    if (change === 'recovered') entry.contract?.ejected.delete(entry)
    return change
  }

  #record(entry: CapabilityEntry, ending: EndedCallMeasurement): QuarantineChange {
    const { outcome, latencyMs, nowMs, isProbe } = ending
    if (outcome.ok) {
      // A probe that succeeds resets the provider: no history, and a slow start.
      if (isProbe) resetLatency(entry.latency)
      observeLatency(entry.latency, latencyMs, nowMs)
      if (!entry.isLocal) entry.lastSeenMs = nowMs
      return entry.health.record({ success: true, latencyMs, nowMs, isProbe, mayEject: false })
    }
    const { kind, retryAfterMs = 0, ownSide } = outcome.fault
    if (!ending.isCallersDoing && ownSide !== true && isProviderFailure(kind)) {
      observeLatency(entry.latency, Math.max(latencyMs, FAILED_CALL_LATENCY_MS), nowMs)
      return entry.health.record({ success: false, latencyMs, nowMs, isProbe, mayEject: this.#mayEject(entry) })
    }
    if (isProbe) entry.health.probeEndedOpenly()
    if (kind === 'busy' && (!entry.isLocal || entry.offer.anywhere === true)) {
      observeLatency(entry.latency, FAILED_CALL_LATENCY_MS, nowMs)
      entry.busyUntilMs = nowMs + Math.min(retryAfterMs, MAX_BUSY_MS)
    }
    // A refusal is fast: without this penalty, a provider that refuses everything would look like the best.
    else if (isRefusedBeforeStart(outcome.fault) && !entry.isLocal && !isAboutParams(outcome.fault))
      observeLatency(entry.latency, FAILED_CALL_LATENCY_MS, nowMs)
    // It took at least this long, which is worth recording even though the caller did not wait for the end.
    else if (ending.isCallersDoing && latencyMs > entry.latency.latencyMs)
      observeLatency(entry.latency, latencyMs, nowMs)
    return undefined
  }

  isQuarantined(entry: CapabilityEntry, nowMs: number): boolean {
    return entry.health.isQuarantined(nowMs)
  }

  reset(entry: CapabilityEntry): void {
    entry.health.reset()
  }

  /** At most half of the providers that can replace each other are ejected; one that nothing can replace never is. */
  #mayEject(entry: CapabilityEntry): boolean {
    if (entry.offer.anywhere !== true) return false
    // Providers may have come or gone since the call was resolved.
    this.#registry.regroup(entry.offer.name)
    const others = (entry.contract?.entries ?? []).filter(
      (other) => other !== entry && canServeSameParams(other.offer, entry.offer),
    )
    const ejected = others.filter((other) => other.health.isEjected()).length
    return ejected + 1 <= Math.floor((others.length + 1) / 2)
  }
}

/** Refused params are remembered separately (refused-params.ts) and say nothing about other calls. */
function isAboutParams({ details }: Fault): boolean {
  return details?.['reason'] === 'params'
}

const DECAY_MS = 10_000

/**
 * The latency that a failed or refused call counts as (Linkerd's load biaser), so that failing fast does not look fast.
 */
export const FAILED_CALL_LATENCY_MS = 5_000

/** Until a provider has answered this often, it gets at most one call more in flight than it has answered. */
const SLOW_START_ANSWERS = 8

export interface PeakEwma {
  latencyMs: number
  atMs: number
  answers: number
}

export function createLatencyEstimate(): PeakEwma {
  return { latencyMs: 0, atMs: 0, answers: 0 }
}

export function resetLatency(estimate: PeakEwma): void {
  Object.assign(estimate, createLatencyEstimate())
}

export function observeLatency(estimate: PeakEwma, latencyMs: number, nowMs: number): void {
  estimate.latencyMs = Math.max(latencyMs, decayTowards(estimate, latencyMs, nowMs))
  estimate.atMs = nowMs
  estimate.answers++
}

/** Lower is better. An unknown provider is tried at once and gets more calls only after it has answered. */
export function estimateProviderCost(estimate: PeakEwma, inFlight: number, nowMs: number): number {
  if (estimate.answers < SLOW_START_ANSWERS && inFlight > estimate.answers)
    return FAILED_CALL_LATENCY_MS * (inFlight + 1)
  // Without new samples the estimate decays, so that a provider that was slow once gets another chance.
  return decayTowards(estimate, 0, nowMs) * (inFlight + 1)
}

function decayTowards(estimate: PeakEwma, targetMs: number, nowMs: number): number {
  const weight = Math.exp(-Math.max(0, nowMs - estimate.atMs) / DECAY_MS)
  return targetMs + (estimate.latencyMs - targetMs) * weight
}
