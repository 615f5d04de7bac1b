/**
 * Periodicity: how often each kind of telegram is sent. One tuple per source, target and service.
 *
 *   seen ▸ seen ▸ seen ▸ …   intervals between two sightings of one epoch; a gap that we slept through is no interval
 *
 * Bounded: the tuple that was not seen for longest is dropped, and this is counted. A tuple that was not seen for an
 * hour is dropped, too.
 *
 * Pure, but for the table it is given.
 */
import type { BusObservation, CommandFamily } from './observation.ts'

export interface MessageIntervalRecord {
  readonly source: number
  readonly target: number
  readonly primary: number
  readonly secondary: number
  family: CommandFamily
  lastSeenMs: number
  epoch: number
  /** Intervals, one fewer than sightings within each epoch. */
  samples: number
  lastMs: number | undefined
  minMs: number
  maxMs: number
  sumMs: number
  /** The newest intervals, in no order; `samples` says how many there are. */
  readonly recentMs: Float64Array
}

export const PERIODICITY_CAPACITY = 256
/** The number of intervals from which on a tuple's figures mean something. */
export const MIN_PERIODICITY_SAMPLES = 3
/** Enough for a median that one late telegram does not change. */
const RECENT = 15
const FORGET_MS = 3_600_000
const CLOCK_SLACK_MS = 60_000

/** Updated with telegrams of others only; our own requests say nothing about the bus. */
export class PeriodicityTable {
  readonly capacity: number
  readonly #tuples = new Map<number, MessageIntervalRecord>()
  #evictions = 0

  constructor(capacity = PERIODICITY_CAPACITY) {
    this.capacity = capacity
  }

  get size(): number {
    return this.#tuples.size
  }

  /** The number of dropped tuples. */
  get evictions(): number {
    return this.#evictions
  }

  see(observation: BusObservation, epoch: number): void {
    const { source, target, primary, secondary, atMs, family } = observation
    if (source === undefined || target === undefined || primary === undefined || secondary === undefined) return
    // Signed, because V8 finds signed 32-bit keys faster.
    const key = (source << 24) | (target << 16) | (primary << 8) | secondary
    const known = this.#tuples.get(key)
    if (known === undefined) {
      this.#evict(atMs)
      this.#tuples.set(key, firstSeen({ source, target, primary, secondary, family }, atMs, epoch))
      return
    }
    const intervalMs = atMs - known.lastSeenMs
    if (known.epoch === epoch && intervalMs > 0) addInterval(known, intervalMs)
    known.family = family
    known.epoch = epoch
    // A small step back is a matter of order; a large one means that the clock was set, and counting begins again.
    known.lastSeenMs = intervalMs < -CLOCK_SLACK_MS ? atMs : Math.max(known.lastSeenMs, atMs)
  }

  /** Forgets what has not been seen for an hour. */
  sweep(nowMs: number): void {
    for (const [key, tuple] of this.#tuples) if (nowMs - tuple.lastSeenMs > FORGET_MS) this.#tuples.delete(key)
  }

  /** The least recently seen tuple first. */
  tuples(): readonly MessageIntervalRecord[] {
    return [...this.#tuples.values()].toSorted(
      (left, right) => left.lastSeenMs - right.lastSeenMs || orderOf(left) - orderOf(right),
    )
  }

  #evict(nowMs: number): void {
    if (this.#tuples.size < this.capacity) return
    this.sweep(nowMs)
    if (this.#tuples.size < this.capacity) return
    // Searched when it is needed, which is rare; keeping an order would cost time for every telegram.
    let oldest: readonly [key: number, seenMs: number] = [0, Infinity]
    for (const [key, { lastSeenMs }] of this.#tuples) if (lastSeenMs < oldest[1]) oldest = [key, lastSeenMs]
    this.#tuples.delete(oldest[0])
    this.#evictions++
  }
}

function firstSeen(
  tuple: Pick<MessageIntervalRecord, 'source' | 'target' | 'primary' | 'secondary' | 'family'>,
  lastSeenMs: number,
  epoch: number,
): MessageIntervalRecord {
  const recentMs = new Float64Array(RECENT)
  return { ...tuple, lastSeenMs, epoch, samples: 0, lastMs: undefined, minMs: Infinity, maxMs: 0, sumMs: 0, recentMs }
}

function addInterval(tuple: MessageIntervalRecord, intervalMs: number): void {
  tuple.recentMs[tuple.samples % RECENT] = intervalMs
  tuple.samples++
  tuple.lastMs = intervalMs
  tuple.minMs = Math.min(tuple.minMs, intervalMs)
  tuple.maxMs = Math.max(tuple.maxMs, intervalMs)
  tuple.sumMs += intervalMs
}

/**
 * The median of the newest intervals, and their mean deviation from it: the present regularity, where a mean over all
 * time would still contain every old disturbance. `undefined` before the first interval.
 */
export function computeMedianIntervalAndJitter({
  samples,
  recentMs,
}: MessageIntervalRecord): { readonly medianMs: number; readonly jitterMs: number } | undefined {
  const sorted = recentMs.slice(0, Math.min(samples, RECENT)).toSorted()
  const upper = sorted[sorted.length >> 1]
  const lower = sorted[(sorted.length - 1) >> 1]
  if (upper === undefined || lower === undefined) return undefined
  const medianMs = (lower + upper) / 2
  const jitterMs = sorted.reduce((sum, intervalMs) => sum + Math.abs(intervalMs - medianMs), 0) / sorted.length
  return { medianMs, jitterMs }
}

function orderOf({ source, target, primary, secondary }: MessageIntervalRecord): number {
  return ((source << 24) | (target << 16) | (primary << 8) | secondary) >>> 0
}
