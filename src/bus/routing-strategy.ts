/**
 * Routing strategy: which of several viable providers gets the call.
 *
 *   peak-ewma   the cheaper of two drawn at random: callers do not all choose the same one, and none is starved
 *   spec        spec 2 § 5.4 to the letter: the lowest score of all
 */
import type { BusConfig } from './bus-config.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import { estimateProviderCost } from './health.ts'

export interface ProviderChoiceConditions {
  readonly config: BusConfig
  readonly nowMs: number
  readonly random: () => number
}

export function chooseProvider(
  candidates: readonly CapabilityEntry[],
  draw: ProviderChoiceConditions,
): CapabilityEntry | undefined {
  if (candidates.length < 2) return candidates[0]
  return draw.config.strategy === 'spec' ? chooseBySpec(candidates, draw) : chooseByPeakEwma(candidates, draw)
}

/** The local provider is preferred unless its cost is this many times that of the best remote one. */
const LOCAL_COST_FACTOR = 5
/** Differences below this are ignored. */
const UNNOTICEABLE_MS = 5
const HEALTHY_RATE = 0.5

function chooseByPeakEwma(
  candidates: readonly CapabilityEntry[],
  draw: ProviderChoiceConditions,
): CapabilityEntry | undefined {
  if (!draw.config.preferLocal) return betterOfTwo(candidates, draw)
  const local = candidates.filter((entry) => entry.isLocal)
  if (local.length === 0 || local.length === candidates.length) return betterOfTwo(candidates, draw)
  const best = betterOfTwo(local, draw)
  return best !== undefined && isPreferable(best, candidates, draw) ? best : betterOfTwo(candidates, draw)
}

function isPreferable(
  local: CapabilityEntry,
  candidates: readonly CapabilityEntry[],
  draw: ProviderChoiceConditions,
): boolean {
  if (load(local) >= draw.config.localLoadThreshold || local.health.successRate < HEALTHY_RATE) return false
  const localMs = estimateProviderCost(local.latency, local.inFlight, draw.nowMs)
  if (localMs <= UNNOTICEABLE_MS) return true
  // Estimates of remote providers are not decayed here: decay is for choosing among equals.
  const remoteMs = candidates
    .filter((entry) => !entry.isLocal && entry.latency.answers > 0)
    .map((entry) => entry.latency.latencyMs * (entry.inFlight + 1))
  return remoteMs.every((ms) => localMs <= LOCAL_COST_FACTOR * ms)
}

function betterOfTwo(
  candidates: readonly CapabilityEntry[],
  { nowMs, random }: ProviderChoiceConditions,
): CapabilityEntry | undefined {
  const count = candidates.length
  const at = Math.floor(random() * count)
  const first = candidates[at]
  if (first === undefined || count === 1) return first
  const second = candidates[(at + 1 + Math.floor(random() * (count - 1))) % count]
  if (second === undefined) return first
  const firstCost = estimateProviderCost(first.latency, first.inFlight, nowMs)
  return estimateProviderCost(second.latency, second.inFlight, nowMs) < firstCost ? second : first
}

function chooseBySpec(
  candidates: readonly CapabilityEntry[],
  { config }: ProviderChoiceConditions,
): CapabilityEntry | undefined {
  const local = candidates.find((entry) => entry.isLocal)
  if (config.preferLocal && local !== undefined && load(local) < config.localLoadThreshold) return local
  return candidates.reduce((best, entry) => (isBetterBySpec(entry, best) ? entry : best))
}

/** The lowest score; ties go to the lower latency, then to the more reliable. */
function isBetterBySpec(entry: CapabilityEntry, than: CapabilityEntry): boolean {
  const byScore = scoreProviderByLatencyAndLoad(entry) - scoreProviderByLatencyAndLoad(than)
  if (byScore !== 0) return byScore < 0
  const byLatency = entry.health.p50Ms - than.health.p50Ms
  if (byLatency !== 0) return byLatency < 0
  return entry.health.successRate > than.health.successRate
}

const UNKNOWN_LATENCY_MS = 500
const RELIABILITY_PENALTY = 1_000
const LOCALITY_BONUS = 50

export function scoreProviderByLatencyAndLoad(entry: CapabilityEntry): number {
  const latency = entry.health.p50Ms > 0 ? entry.health.p50Ms : UNKNOWN_LATENCY_MS
  const penalty = (1 - entry.health.successRate) * RELIABILITY_PENALTY
  return latency * (1 + load(entry)) + penalty - (entry.isLocal ? LOCALITY_BONUS : 0)
}

function load(entry: CapabilityEntry): number {
  return entry.inFlight / Math.max(entry.offer.maxConcurrent, 1)
}
