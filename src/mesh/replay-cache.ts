/**
 * Replay cache: request ids that were seen. A message is refused as too old long before it is forgotten here.
 *
 *   [ this window ] [ the one before ]      an id lives for one to two windows, each as long as twice the skew
 *
 * A full cache refuses new ids and never drops old ones: a flood must not remove the id that it wants to replay.
 *
 * Pure: time is an argument.
 */
import { MAX_CLOCK_SKEW_MS } from './identity/mesh-time.ts'

const WINDOW_MS = 2 * MAX_CLOCK_SKEW_MS
const MAX_PER_WINDOW = 500_000
/** The limit for join requests and the like, which are rare. */
export const MAX_NON_MEMBER_REQUESTS_PER_WINDOW = 5_000

export type ReplayCheckResult = 'new' | 'replayed' | 'full'

export class ReplayCache {
  readonly #limit: number
  #current = new Set<string>()
  #before = new Set<string>()
  #startedMs: number

  constructor(nowMs: number, limit = MAX_PER_WINDOW) {
    this.#startedMs = nowMs
    this.#limit = limit
  }

  see(from: string, requestId: string, nowMs: number): ReplayCheckResult {
    if (nowMs - this.#startedMs >= WINDOW_MS) {
      this.#before = nowMs - this.#startedMs >= 2 * WINDOW_MS ? new Set() : this.#current
      this.#current = new Set()
      this.#startedMs = nowMs
    }
    const key = `${from} ${requestId}`
    if (this.#current.has(key) || this.#before.has(key)) return 'replayed'
    if (this.#current.size >= this.#limit) return 'full'
    this.#current.add(key)
    return 'new'
  }
}
