/**
 * Mesh routing: the bus's own strategies in a simulated city, event by event. Providers have four servers each and
 * exponential service times; every caller only knows what it has seen itself.
 *
 *   ideal   power of two choices on true cost: every caller sees every queue
 */
import { CapabilityEntry } from '../src/bus/capability-entry.ts'
import { DEFAULT_BUS_CONFIG } from '../src/bus/bus-config.ts'
import { observeLatency } from '../src/bus/health.ts'
import { chooseProvider } from '../src/bus/routing-strategy.ts'
import { offered } from '../test/bus-village.ts'
import { seeded } from '../test/seeded-random.ts'

export type Strategy = 'ideal' | 'peak-ewma' | 'spec' | 'random'

const PROVIDERS = 10
const CALLERS = 50
const SERVERS = 4
const MEAN_MS = 20
const SLOWNESS = 5
const LOAD = 0.6
const CALLS = 60_000

interface Provider {
  readonly meanMs: number
  /** When each server is free. */
  readonly freeMs: number[]
}

export function simulate(strategy: Strategy): { p50Ms: number; p99Ms: number; slowShare: number } {
  const random = seeded(11)
  const providers: Provider[] = Array.from({ length: PROVIDERS }, (_, index) => ({
    meanMs: index === 0 ? MEAN_MS * SLOWNESS : MEAN_MS,
    freeMs: Array.from({ length: SERVERS }, () => 0),
  }))
  const capacityPerMs = providers.reduce((sum, { meanMs }) => sum + SERVERS / meanMs, 0)
  const views = Array.from({ length: CALLERS }, () => providers.map((_, index) => entryOf(index)))
  const ends: { readonly atMs: number; readonly entry: CapabilityEntry; readonly tookMs: number }[] = []
  const took: number[] = []
  let [nowMs, slow] = [0, 0]
  for (let count = 0; count < CALLS; count++) {
    nowMs += -Math.log(1 - random()) / (capacityPerMs * LOAD)
    settle(ends, nowMs)
    const view = views[Math.floor(random() * CALLERS)] ?? []
    const at = pick(strategy, { view, providers, nowMs, random })
    const [provider, entry] = [providers[at], view[at]]
    if (provider === undefined || entry === undefined) continue
    if (at === 0) slow++
    const server = provider.freeMs.indexOf(Math.min(...provider.freeMs))
    const startMs = Math.max(nowMs, provider.freeMs[server] ?? 0)
    const endMs = startMs - Math.log(1 - random()) * provider.meanMs
    provider.freeMs[server] = endMs
    entry.inFlight++
    const end = { atMs: endMs, entry, tookMs: endMs - nowMs }
    const place = ends.findIndex(({ atMs }) => atMs > endMs)
    ends.splice(place < 0 ? ends.length : place, 0, end)
    // The first tenth is warming up.
    if (count > CALLS / 10) took.push(end.tookMs)
  }
  const sorted = Float64Array.from(took).sort()
  const share = (part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0
  return { p50Ms: share(0.5), p99Ms: share(0.99), slowShare: slow / CALLS }
}

interface Moment {
  readonly view: readonly CapabilityEntry[]
  readonly providers: readonly Provider[]
  readonly nowMs: number
  readonly random: () => number
}

function pick(strategy: Strategy, { view, providers, nowMs, random }: Moment): number {
  const any = (): number => Math.floor(random() * PROVIDERS)
  if (strategy === 'random') return any()
  if (strategy === 'ideal') {
    const [one, other] = [any(), any()]
    const waitMs = (at: number): number => {
      const { meanMs, freeMs } = providers[at] ?? { meanMs: 0, freeMs: [] }
      return Math.max(0, Math.min(...freeMs) - nowMs) + meanMs
    }
    return waitMs(one) <= waitMs(other) ? one : other
  }
  const chosen = chooseProvider(view, { config: { ...DEFAULT_BUS_CONFIG, strategy }, nowMs, random })
  return chosen === undefined ? any() : view.indexOf(chosen)
}

function settle(
  ends: { readonly atMs: number; readonly entry: CapabilityEntry; readonly tookMs: number }[],
  nowMs: number,
): void {
  while (ends[0] !== undefined && ends[0].atMs <= nowMs) {
    const { entry, tookMs, atMs } = ends[0]
    ends.shift()
    entry.inFlight--
    entry.health.record({ success: true, latencyMs: tookMs, nowMs: atMs, isProbe: false, mayEject: false })
    observeLatency(entry.latency, tookMs, atMs)
  }
}

function entryOf(index: number): CapabilityEntry {
  return new CapabilityEntry({
    nodeId: `n${index}`,
    instanceId: 'default',
    isLocal: false,
    owner: `n${index}`,
    offer: offered({ name: 'bench.work', maxConcurrent: 64 }),
    lastSeenMs: 0,
  })
}
