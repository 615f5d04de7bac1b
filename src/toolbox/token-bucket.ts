/**
 * Token bucket: how often something may happen. It fills steadily up to its burst, and each act takes one token.
 *
 * Times are monotonic milliseconds, and arguments. Pure.
 */
export interface TokenRate {
  /** The number of tokens that are added in `perMs`. */
  readonly tokens: number
  readonly perMs: number
  /** How many acts may come at once after a quiet period. */
  readonly burst: number
}

export interface TokenBucket {
  readonly tokens: number
  readonly atMs: number
}

export function createFullBucket(rate: TokenRate, nowMs: number): TokenBucket {
  return { tokens: rate.burst, atMs: nowMs }
}

/** A clock that goes backwards adds nothing. */
export function refillBucket(bucket: TokenBucket, rate: TokenRate, nowMs: number): TokenBucket {
  const gained = (Math.max(0, nowMs - bucket.atMs) * rate.tokens) / rate.perMs
  return { tokens: Math.min(rate.burst, bucket.tokens + gained), atMs: Math.max(nowMs, bucket.atMs) }
}

/**
 * Takes one token. Returns `undefined`, and leaves the bucket as it was, when there is no token left. `undefined` as
 * the bucket stands for a full one.
 */
export function takeToken(bucket: TokenBucket | undefined, rate: TokenRate, nowMs: number): TokenBucket | undefined {
  const { tokens, atMs } = bucket === undefined ? createFullBucket(rate, nowMs) : refillBucket(bucket, rate, nowMs)
  return tokens < 1 ? undefined : { tokens: tokens - 1, atMs }
}

/** 0 when a token can be taken now; `Infinity` for a rate that never adds a token. */
export function computeMsUntilToken(bucket: TokenBucket, rate: TokenRate, nowMs: number): number {
  const { tokens } = refillBucket(bucket, rate, nowMs)
  if (tokens >= 1) return 0
  if (rate.burst < 1 || rate.tokens <= 0) return Infinity
  return Math.ceil(((1 - tokens) * rate.perMs) / rate.tokens)
}

/** The bucket, or `undefined` where it is full: a full one need not be remembered. */
export function omitFullBucket(
  bucket: TokenBucket | undefined,
  rate: TokenRate,
  nowMs: number,
): TokenBucket | undefined {
  return bucket === undefined || isBucketFull(bucket, rate, nowMs) ? undefined : bucket
}

export function isBucketFull(bucket: TokenBucket, rate: TokenRate, nowMs: number): boolean {
  return refillBucket(bucket, rate, nowMs).tokens >= rate.burst
}
