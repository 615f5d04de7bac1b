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
const FULL_MS = BURST_SECONDS * 1_000
/** Beyond it those per capability begin anew; names are whatever a member says, so there has to be an end. */
const MAX_BUCKETS = 20_000

interface Bucket {
  tokens: number
  atMs: number
}

interface Budget {
  readonly all: Bucket
  readonly byCapability: Map<string, Bucket>
}

export class RateBudget {
  readonly #limits: RateLimits
  readonly #byPeer = new Map<string, Budget>()
  #count = 0
  #sweptMs = 0

  constructor(limits: RateLimits) {
    this.#limits = limits
  }

  /** How many are remembered. */
  get peers(): number {
    return this.#byPeer.size
  }

  /** 0 when the call may come in; otherwise in how many milliseconds it may. Only a call that may is counted. */
  take(peer: string, capability: string, nowMs: number): number {
    const { callsPerSecond, callsPerSecondPerCapability } = this.#limits
    const budget = this.#budget(peer, nowMs)
    const all = refilled(budget.all, callsPerSecond, nowMs)
    const one = refilled(this.#bucket(budget, capability, nowMs), callsPerSecondPerCapability, nowMs)
    const waitMs = Math.max(wait(all, callsPerSecond), wait(one, callsPerSecondPerCapability))
    if (waitMs > 0) return waitMs
    all.tokens--
    one.tokens--
    return 0
  }

  #budget(peer: string, nowMs: number): Budget {
    let budget = this.#byPeer.get(peer)
    if (budget === undefined) {
      this.#sweep(nowMs)
      budget = { all: { tokens: this.#limits.callsPerSecond * BURST_SECONDS, atMs: nowMs }, byCapability: new Map() }
      this.#byPeer.set(peer, budget)
    }
    return budget
  }

  #bucket({ byCapability }: Budget, capability: string, nowMs: number): Bucket {
    let bucket = byCapability.get(capability)
    if (bucket === undefined) {
      if (this.#count >= MAX_BUCKETS) this.#forget()
      bucket = { tokens: this.#limits.callsPerSecondPerCapability * BURST_SECONDS, atMs: nowMs }
      byCapability.set(capability, bucket)
      this.#count++
    }
    return bucket
  }

  /** Whoever has not called for as long as a budget takes to fill has all of it again: nothing has to be remembered. */
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

function refilled(bucket: Bucket, perSecond: number, nowMs: number): Bucket {
  bucket.tokens = Math.min(perSecond * BURST_SECONDS, bucket.tokens + ((nowMs - bucket.atMs) / 1_000) * perSecond)
  bucket.atMs = nowMs
  return bucket
}

function wait({ tokens }: Bucket, perSecond: number): number {
  return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1_000)
}
