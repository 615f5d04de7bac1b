/**
 * Rate: how much may happen in a time. Two counters, both a handful of numbers however much happens:
 *
 *   bucket   fills steadily up to its burst, each act takes one
 *   day      acts of the last 24 hours, counted per hour
 *
 * Times are monotonic milliseconds. Pure.
 */
export interface Rate {
  readonly perMinute: number
  /** How many at once after a quiet while. */
  readonly burst: number
}

export interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_HOURS = 24

export function fullBucket(rate: Rate, nowMs: number): Bucket {
  return { tokens: rate.burst, atMs: nowMs }
}

export function refill(bucket: Bucket, rate: Rate, nowMs: number): Bucket {
  const gained = (Math.max(0, nowMs - bucket.atMs) * rate.perMinute) / MINUTE_MS
  return { tokens: Math.min(rate.burst, bucket.tokens + gained), atMs: Math.max(nowMs, bucket.atMs) }
}

/** 0 when one can be taken now; `Infinity` for a rate that never lets anything through. */
export function waitForOneMs(bucket: Bucket, rate: Rate, nowMs: number): number {
  const { tokens } = refill(bucket, rate, nowMs)
  if (tokens >= 1) return 0
  if (rate.burst < 1 || rate.perMinute <= 0) return Infinity
  return Math.ceil(((1 - tokens) * MINUTE_MS) / rate.perMinute)
}

export function takeOne(bucket: Bucket, rate: Rate, nowMs: number): Bucket {
  const filled = refill(bucket, rate, nowMs)
  return { tokens: filled.tokens - 1, atMs: filled.atMs }
}

/** Hour since the monotonic clock began → acts in it; never more than 25 entries. */
export type DayCount = readonly (readonly [hour: number, acts: number])[]

/** Counts the hour that is 24 hours ago as a whole: at most an hour too strict, never too lax. */
export function actsOfDay(day: DayCount, nowMs: number): number {
  return recent(day, nowMs).reduce((sum, [, acts]) => sum + acts, 0)
}

export function countAct(day: DayCount, nowMs: number): DayCount {
  const hour = Math.floor(nowMs / HOUR_MS)
  const kept = recent(day, nowMs)
  const last = kept.at(-1)
  return last?.[0] === hour ? [...kept.slice(0, -1), [hour, last[1] + 1]] : [...kept, [hour, 1]]
}

/** Acts that happened at these times, as one count. */
export function joinedActs(acts: readonly (readonly [atMs: number, acts: number])[]): DayCount {
  const hours = new Map<number, number>()
  for (const [atMs, number] of acts) {
    const hour = Math.floor(atMs / HOUR_MS)
    hours.set(hour, (hours.get(hour) ?? 0) + number)
  }
  return [...hours].toSorted(([left], [right]) => left - right)
}

/** When the oldest counted hour stops counting. */
export function dayReliefMs(day: DayCount, nowMs: number): number {
  const oldest = recent(day, nowMs)[0]
  return oldest === undefined ? 0 : (oldest[0] + DAY_HOURS + 1) * HOUR_MS - nowMs
}

function recent(day: DayCount, nowMs: number): DayCount {
  const hour = Math.floor(nowMs / HOUR_MS)
  return day.filter(([then]) => then >= hour - DAY_HOURS)
}
