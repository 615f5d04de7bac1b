/**
 * Health: what the last hundred calls say about one provider, and when it is left alone for a while.
 *
 *            rate < 0.5 (of ≥ 10) or 5 failures in a row
 *   trusted ────────────────────────────────────────────▶ quarantined (60 s × ejections, at most 300 s)
 *      ▲                                                       │ time is up
 *      └──────── one probe succeeds: history forgotten ──── half open ── the probe fails ──▶ quarantined
 *
 * Spec 2 § 5.7, with a minimum number of samples so that one failure of a newcomer ejects nobody, and with at most half
 * of a capability's providers ejected: when everybody fails, the fault is more likely ours than theirs. It follows that
 * an only provider is never ejected; there is nobody to go to instead.
 *
 * Pure: time is an argument.
 */
import type { FaultKind } from '../core/fault.ts'

const HEALTH_WINDOW_CALLS = 100
const QUARANTINE_THRESHOLD = 0.5
const QUARANTINE_MS = 60_000
const MAX_QUARANTINE_MS = 300_000
const MIN_SAMPLES = 10
const CONSECUTIVE_FAILURES = 5
/** After this long without an ejection, the next one counts as the first again. */
const FORGIVEN_AFTER_MS = 600_000

/** Kinds that say something about the provider. All others are the caller's doing, or mere load. */
const PROVIDER_FAULTS: ReadonlySet<FaultKind> = new Set([
  'offline',
  'timed-out',
  'failed',
  'unknown-outcome',
  'internal',
])

export function countsAgainstProvider(kind: FaultKind): boolean {
  return PROVIDER_FAULTS.has(kind)
}

export type HealthChange = 'quarantined' | 'recovered' | undefined

export interface Sample {
  readonly success: boolean
  readonly latencyMs: number
  readonly nowMs: number
  readonly isProbe: boolean
  /** Whether enough other providers of the capability would be left. */
  readonly mayEject: boolean
}

export class Health {
  /** Rings, made with the first sample: most entries of a large mesh are never called from here. */
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

  /** The probe told nothing about the provider (the caller's fault, or cancelled): the next call is one again. */
  probeEndedOpenly(): void {
    this.#probing = false
  }

  record(sample: Sample): HealthChange {
    const { success, latencyMs, nowMs, isProbe, mayEject } = sample
    if (isProbe) this.#probing = false
    if (isProbe && success) {
      this.reset()
      this.#push(true, latencyMs)
      return 'recovered'
    }
    this.#push(success, latencyMs)
    if (isProbe) return this.#eject(nowMs)
    // Calls that were under way when it was ejected tell nothing new, good or bad: only the probe decides.
    if (success || !this.#open || !mayEject) return undefined
    const failing = this.#samples >= MIN_SAMPLES && this.successRate < QUARANTINE_THRESHOLD
    return failing || this.#failuresInARow >= CONSECUTIVE_FAILURES ? this.#eject(nowMs) : undefined
  }

  /** Forgets the history and ends the quarantine; how often it was ejected is kept. */
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

  /** Sorted when somebody asks, not at every call: routing by default does not need it. */
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
