/**
 * Day count: acts of the last 24 hours, counted per hour: a handful of numbers however much happens.
 *
 * Times are monotonic milliseconds. Pure.
 */
export const HOUR_MS = 3_600_000
export const DAY_HOURS = 24

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
