/**
 * Health tracker: turns how a call ended into what is known about its provider (spec 2 § 3.3).
 *
 *   answered             success, with its latency
 *   the provider's fault failure, and for routing as slow as PENALTY_MS: a fast failer never looks fast
 *   busy                 no failure, but costs more for a while, and is left alone as long as it asked; except what is
 *                        bound to this node: one busy device must not keep calls from all others behind it
 *   refused, not begun   no failure either, but as slow as PENALTY_MS: a node that refuses must not look fast
 *   our own connection   this node's doing: tells nothing
 *   anything else        the caller's doing: tells nothing
 *
 * Pure: time is an argument.
 */
import type { Fault } from '../core/fault.ts'
import type { Outcome } from './call.ts'
import type { CapabilityEntry } from './entry.ts'
import { countsAgainstProvider } from './health.ts'
import type { HealthChange } from './health.ts'
import { coversParams } from './params.ts'
import { forget, observe, PENALTY_MS } from './peak-ewma.ts'
import type { Registry } from './registry.ts'
import { isRefusedUnbegun } from './retry.ts'

/** No provider is believed to be busy for longer than this, whatever it says. */
const MAX_BUSY_MS = 30_000

export interface Ending {
  readonly outcome: Outcome
  /** The provider's own time, without what its consumer took. */
  readonly latencyMs: number
  readonly nowMs: number
  readonly isProbe: boolean
  /** Ended by the caller or by the caller's own hurry: how far it got is not the provider's doing. */
  readonly isCallersDoing: boolean
}

export class HealthTracker {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  record(entry: CapabilityEntry, ending: Ending): HealthChange {
    const change = this.#record(entry, ending)
    if (change === 'quarantined') entry.contract?.ejected.add(entry)
    if (change === 'recovered') entry.contract?.ejected.delete(entry)
    return change
  }

  #record(entry: CapabilityEntry, ending: Ending): HealthChange {
    const { outcome, latencyMs, nowMs, isProbe } = ending
    if (outcome.ok) {
      // A probe that succeeds makes a newcomer of the provider: nothing known, and a slow start.
      if (isProbe) forget(entry.latency)
      observe(entry.latency, latencyMs, nowMs)
      if (!entry.isLocal) entry.lastSeenMs = nowMs
      return entry.health.record({ success: true, latencyMs, nowMs, isProbe, mayEject: false })
    }
    const { kind, retryAfterMs = 0, ownSide } = outcome.fault
    if (!ending.isCallersDoing && ownSide !== true && countsAgainstProvider(kind)) {
      observe(entry.latency, Math.max(latencyMs, PENALTY_MS), nowMs)
      return entry.health.record({ success: false, latencyMs, nowMs, isProbe, mayEject: this.#mayEject(entry) })
    }
    if (isProbe) entry.health.probeEndedOpenly()
    if (kind === 'busy' && (!entry.isLocal || entry.offer.anywhere === true)) {
      observe(entry.latency, PENALTY_MS, nowMs)
      entry.busyUntilMs = nowMs + Math.min(retryAfterMs, MAX_BUSY_MS)
    }
    // Refusing is quick: without this, whoever refuses everything would look like the best.
    else if (isRefusedUnbegun(outcome.fault) && !entry.isLocal && !isAboutParams(outcome.fault))
      observe(entry.latency, PENALTY_MS, nowMs)
    // It took at least this long, which is worth knowing even if nobody waited for the end.
    else if (ending.isCallersDoing && latencyMs > entry.latency.latencyMs) observe(entry.latency, latencyMs, nowMs)
    return undefined
  }

  isQuarantined(entry: CapabilityEntry, nowMs: number): boolean {
    return entry.health.isQuarantined(nowMs)
  }

  reset(entry: CapabilityEntry): void {
    entry.health.reset()
  }

  /** At most half of those that can replace each other; what nothing can replace is never ejected. */
  #mayEject(entry: CapabilityEntry): boolean {
    if (entry.offer.anywhere !== true) return false
    // Providers may have come or gone since the call was resolved.
    this.#registry.regroup(entry.offer.name)
    const others = (entry.contract?.entries ?? []).filter(
      (other) => other !== entry && coversParams(other.offer, entry.offer),
    )
    const ejected = others.filter((other) => other.health.isEjected()).length
    return ejected + 1 <= Math.floor((others.length + 1) / 2)
  }
}

/** That is remembered by itself (refused-params.ts), and says nothing about other calls. */
function isAboutParams({ details }: Fault): boolean {
  return details?.['reason'] === 'params'
}
