/**
 * Rate budget: how often one peer may call, in all and per capability (X01 § 3: 100 and 10 a second).
 *
 * A call beyond it is answered, with when to come back. The specification would drop a real flood in silence; its
 * callers would then wait for their deadlines, and so would ours.
 *
 * Pure: time is an argument.
 */
export interface RateLimits {
  readonly callsPerSecond: number
  readonly callsPerSecondPerCapability: number
}

/** So many seconds' worth may come at once. */
const BURST_SECONDS = 5
/** Beyond it buckets that are full again are forgotten; peers are members and capabilities are ours, so it is rare. */
const MAX_BUCKETS = 20_000

interface Bucket {
  tokens: number
  atMs: number
}

export class RateBudget {
  readonly #limits: RateLimits
  readonly #buckets = new Map<string, Bucket>()

  constructor(limits: RateLimits) {
    this.#limits = limits
  }

  /** 0 when the call may come in; otherwise in how many milliseconds it may. Only a call that may is counted. */
  take(peer: string, capability: string, nowMs: number): number {
    const { callsPerSecond, callsPerSecondPerCapability } = this.#limits
    const all = this.#bucket(peer, callsPerSecond, nowMs)
    const one = this.#bucket(`${peer} ${capability}`, callsPerSecondPerCapability, nowMs)
    const waitMs = Math.max(wait(all, callsPerSecond), wait(one, callsPerSecondPerCapability))
    if (waitMs > 0) return waitMs
    all.tokens--
    one.tokens--
    return 0
  }

  #bucket(key: string, perSecond: number, nowMs: number): Bucket {
    const full = perSecond * BURST_SECONDS
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      if (this.#buckets.size >= MAX_BUCKETS) this.#buckets.clear()
      bucket = { tokens: full, atMs: nowMs }
      this.#buckets.set(key, bucket)
    }
    bucket.tokens = Math.min(full, bucket.tokens + ((nowMs - bucket.atMs) / 1_000) * perSecond)
    bucket.atMs = nowMs
    return bucket
  }
}

function wait({ tokens }: Bucket, perSecond: number): number {
  return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1_000)
}
