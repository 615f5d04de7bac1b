/**
 * Retry: when a second try is safe, and how many the house can afford.
 *
 * Retries that feed on failures bring down what was only slow: at most a fifth of the calls, plus a small reserve, may
 * be tried again (the budgets of Linkerd and tower).
 *
 * Pure: time is an argument.
 */
import type { Fault, FaultKind } from '../core/fault.ts'
import type { Offer } from './capability.ts'

/** Nothing was sent, or nothing was begun: any call may be tried elsewhere. */
const NOTHING_TRIED: ReadonlySet<FaultKind> = new Set(['busy', 'offline'])
/** It may have been begun: only for calls that may happen twice. */
const PERHAPS_TRIED: ReadonlySet<FaultKind> = new Set(['timed-out', 'failed', 'internal'])

export function isNothingTried(fault: Fault): boolean {
  return NOTHING_TRIED.has(fault.kind)
}

export function isSafeToRetry(fault: Fault, offer: Offer): boolean {
  return isNothingTried(fault) || (offer.idempotent && PERHAPS_TRIED.has(fault.kind))
}

/** Every call brings 1, a retry costs 5: a fifth. */
const COST = 5
const RESERVE = 10 * COST
const MAX_BALANCE = 100 * COST
/** One retry per second comes back by itself, up to the reserve. */
const TRICKLE_PER_MS = COST / 1_000

export class RetryBudget {
  #balance = RESERVE
  #atMs = 0

  /** A call came in. */
  deposit(): void {
    if (this.#balance < MAX_BALANCE) this.#balance++
  }

  /** Whether one more try can be afforded; if so, it is paid for. */
  withdraw(nowMs: number): boolean {
    const trickle = Math.max(0, nowMs - this.#atMs) * TRICKLE_PER_MS
    if (this.#balance < RESERVE) this.#balance = Math.min(RESERVE, this.#balance + trickle)
    this.#atMs = nowMs
    if (this.#balance < COST) return false
    this.#balance -= COST
    return true
  }
}
