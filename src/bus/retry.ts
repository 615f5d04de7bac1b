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

/** Another provider may do better, or the same one later. All other kinds are about the call, wherever it goes. */
const PROVIDERS_TROUBLE: ReadonlySet<FaultKind> = new Set(['busy', 'offline', 'timed-out', 'failed', 'internal'])
/** What a node says that does not serve this call. Said by a handler that was entered, the same words are an answer. */
const REFUSED: ReadonlySet<FaultKind> = new Set(['not-found', 'not-permitted', 'unsupported'])

/** The node refused the call before a handler of it saw it. */
export function isRefusedUnbegun({ kind, begun }: Fault): boolean {
  return begun === false && REFUSED.has(kind)
}

/** Only what was not begun, which is for the provider to say, or may happen twice. */
export function isSafeToRetry(fault: Fault, { idempotent }: Pick<Offer, 'idempotent'>): boolean {
  if (isRefusedUnbegun(fault)) return true
  return PROVIDERS_TROUBLE.has(fault.kind) && (fault.begun === false || idempotent)
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
