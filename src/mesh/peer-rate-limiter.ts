/**
 * Peer rate limiter: how often one peer may call, in all and per capability (X01 § 3: 100 and 10 a second).
 *
 * A call beyond it is answered, with when to come back. The specification would drop a real flood in silence; its
 * callers would then wait for their deadlines, and so would ours.
 */
import { createFullBucket, computeMsUntilToken, takeToken } from '../toolbox/token-bucket.ts'
import type { TokenBucket, TokenRate } from '../toolbox/token-bucket.ts'

export interface PeerRateLimits {
  readonly callsPerSecond: number
  readonly callsPerSecondPerCapability: number
}

/** The burst: so many seconds' worth of calls may come at once. */
const BURST_SECONDS = 5
const FULL_MS = BURST_SECONDS * 1_000
/**
 * Beyond this number, the buckets per capability are cleared; members choose the names, so the number must be limited.
 */
const MAX_BUCKETS = 20_000

interface PeerBuckets {
  all: TokenBucket
  readonly byCapability: Map<string, TokenBucket>
}

export class PeerRateLimiter {
  readonly #all: TokenRate
  readonly #each: TokenRate
  readonly #byPeer = new Map<string, PeerBuckets>()
  #count = 0
  #sweptMs = 0

  constructor({ callsPerSecond, callsPerSecondPerCapability }: PeerRateLimits) {
    this.#all = tokenRate(callsPerSecond)
    this.#each = tokenRate(callsPerSecondPerCapability)
  }

  /** How many peers are remembered. */
  get peers(): number {
    return this.#byPeer.size
  }

  /**
   * Takes one call. Returns 0 if it is allowed, otherwise after how many milliseconds it will be. Only allowed calls
   * are counted.
   */
  take(peer: string, capability: string, nowMs: number): number {
    const buckets = this.#buckets(peer, nowMs)
    const each = buckets.byCapability.get(capability) ?? createFullBucket(this.#each, nowMs)
    const allAfter = takeToken(buckets.all, this.#all, nowMs)
    const eachAfter = takeToken(each, this.#each, nowMs)
    if (allAfter === undefined || eachAfter === undefined)
      return Math.max(computeMsUntilToken(buckets.all, this.#all, nowMs), computeMsUntilToken(each, this.#each, nowMs))
    buckets.all = allAfter
    this.#store(buckets, capability, eachAfter)
    return 0
  }

  #buckets(peer: string, nowMs: number): PeerBuckets {
    let buckets = this.#byPeer.get(peer)
    if (buckets === undefined) {
      this.#sweep(nowMs)
      buckets = { all: createFullBucket(this.#all, nowMs), byCapability: new Map() }
      this.#byPeer.set(peer, buckets)
    }
    return buckets
  }

  #store({ byCapability }: PeerBuckets, capability: string, bucket: TokenBucket): void {
    if (!byCapability.has(capability)) {
      if (this.#count >= MAX_BUCKETS) this.#forget()
      this.#count++
    }
    byCapability.set(capability, bucket)
  }

  /** A peer that was silent for as long as its bucket takes to fill need not be remembered. */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < FULL_MS) return
    this.#sweptMs = nowMs
    for (const [peer, { all, byCapability }] of this.#byPeer) {
      if (nowMs - all.atMs < FULL_MS) continue
      this.#count -= byCapability.size
      this.#byPeer.delete(peer)
    }
  }

  #forget(): void {
    for (const { byCapability } of this.#byPeer.values()) byCapability.clear()
    this.#count = 0
  }
}

function tokenRate(perSecond: number): TokenRate {
  return { tokens: perSecond, perMs: 1_000, burst: perSecond * BURST_SECONDS }
}
