/**
 * Routing bench: how well the router shares calls, by simulation. No clock but the simulated one, so the figures are
 * the same on every machine.
 *
 *   callers, each with its own view ─▶ strategy ─▶ providers with 4 workers each, 20 ms on average, one maybe slower
 *
 * `textbook` is power of two choices over peak EWMA as its inventors write it, without our slow start.
 */
import { pathToFileURL } from 'node:url'
import { DEFAULT_BUS_CONFIG } from '../src/bus/bus-config.ts'
import type { BusConfig } from '../src/bus/bus-config.ts'
import { CapabilityEntry } from '../src/bus/capability-entry.ts'
import { observeLatency } from '../src/bus/health.ts'
import { chooseProvider } from '../src/bus/routing-strategy.ts'
import { offered } from '../test/bus-village.ts'
import { seeded } from '../test/seeded-random.ts'

type Strategy = BusConfig['strategy'] | 'random' | 'textbook'

interface Scenario {
  readonly name: string
  readonly providers: number
  readonly callers: number
  readonly load: number
  /** How many times slower than the others the first provider is. */
  readonly slowness: number
}

const SCENARIOS: readonly Scenario[] = [
  { name: '3 equal, 20 callers, 70 %', providers: 3, callers: 20, load: 0.7, slowness: 1 },
  { name: '3, one 5 × slower', providers: 3, callers: 20, load: 0.7, slowness: 5 },
  { name: '10 equal, 50 callers, 60 %', providers: 10, callers: 50, load: 0.6, slowness: 1 },
  { name: '10, one 5 × slower', providers: 10, callers: 50, load: 0.6, slowness: 5 },
]
const STRATEGIES: readonly Strategy[] = ['peak-ewma', 'textbook', 'spec', 'random']
const WORKERS = 4
const SERVICE_MS = 20
const WARM_UP_MS = 5_000
const DURATION_MS = 60_000
const MAX_CONCURRENT = 16

export async function run(): Promise<void> {
  const rows = SCENARIOS.flatMap((scenario) => {
    const all = STRATEGIES.map((strategy) => simulate(scenario, strategy))
    const textbook = all[STRATEGIES.indexOf('textbook')]?.p99 ?? 1
    return all.map(({ p50, p95, p99 }, index) => ({
      scenario: scenario.name,
      strategy: STRATEGIES[index],
      'p50 ms': Math.round(p50),
      'p95 ms': Math.round(p95),
      'p99 ms': Math.round(p99),
      'p99 against textbook': `${(p99 / textbook).toFixed(2)} ×`,
    }))
  })
  console.table(rows)
}

/** What happens at a moment; kept in a binary heap by that moment. */
class Agenda {
  readonly #heap: { readonly atMs: number; readonly act: (nowMs: number) => void }[] = []

  add(atMs: number, act: (nowMs: number) => void): void {
    const heap = this.#heap
    let index = heap.push({ atMs, act }) - 1
    for (let up = (index - 1) >> 1; index > 0 && this.#at(up) > atMs; index = up, up = (index - 1) >> 1)
      this.#swap(index, up)
  }

  run(): void {
    for (let next = this.#take(); next !== undefined; next = this.#take()) next.act(next.atMs)
  }

  #take(): { readonly atMs: number; readonly act: (nowMs: number) => void } | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    heap[0] = last
    for (let index = 0; ;) {
      const left = 2 * index + 1
      const least = this.#at(left + 1) < this.#at(left) ? left + 1 : left
      if (this.#at(least) >= this.#at(index)) return first
      this.#swap(index, least)
      index = least
    }
  }

  #at(index: number): number {
    return this.#heap[index]?.atMs ?? Infinity
  }

  #swap(left: number, right: number): void {
    const [first, second] = [this.#heap[left], this.#heap[right]]
    if (first !== undefined && second !== undefined) [this.#heap[left], this.#heap[right]] = [second, first]
  }
}

interface Provider {
  readonly meanMs: number
  working: number
  readonly queue: ((nowMs: number) => void)[]
}

function simulate(scenario: Scenario, strategy: Strategy): { p50: number; p95: number; p99: number } {
  const random = seeded(42)
  const around = (meanMs: number): number => -meanMs * Math.log(1 - random())
  const agenda = new Agenda()
  const providers = Array.from({ length: scenario.providers }, (_, index): Provider => {
    return { meanMs: index === 0 ? SERVICE_MS * scenario.slowness : SERVICE_MS, working: 0, queue: [] }
  })
  const gapMs = 1 / (scenario.load * providers.reduce((sum, { meanMs }) => sum + WORKERS / meanMs, 0))
  const views = Array.from({ length: scenario.callers }, () => providers.map((_, index) => entryOf(index)))
  const latencies: number[] = []

  const work = (provider: Provider, done: (nowMs: number) => void, nowMs: number): void => {
    provider.working++
    agenda.add(nowMs + around(provider.meanMs), (endMs) => {
      provider.working--
      done(endMs)
      const next = provider.queue.shift()
      if (next !== undefined) work(provider, next, endMs)
    })
  }
  const arrive = (nowMs: number): void => {
    const view = views[Math.floor(random() * views.length)] ?? []
    const free = view.filter((entry) => entry.inFlight < MAX_CONCURRENT)
    const entry = pick(free.length > 0 ? free : view, { strategy, nowMs, random })
    const provider = providers[Number(entry.nodeId)]
    if (provider === undefined) throw new RangeError(`no provider ${entry.nodeId}`)
    entry.inFlight++
    const done = (endMs: number): void => {
      entry.inFlight--
      const latencyMs = endMs - nowMs
      observeLatency(entry.latency, latencyMs, endMs)
      entry.health.record({ success: true, latencyMs, nowMs: endMs, isProbe: false, mayEject: false })
      if (nowMs > WARM_UP_MS) latencies.push(latencyMs)
    }
    if (provider.working < WORKERS) work(provider, done, nowMs)
    else provider.queue.push(done)
    const nextMs = nowMs + around(gapMs)
    if (nextMs < DURATION_MS) agenda.add(nextMs, arrive)
  }
  agenda.add(0, arrive)
  agenda.run()
  const sorted = latencies.toSorted((left, right) => left - right)
  const quantile = (share: number): number => sorted[Math.floor(share * sorted.length)] ?? 0
  return { p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) }
}

function entryOf(index: number): CapabilityEntry {
  const offer = offered({ name: 'x', maxConcurrent: MAX_CONCURRENT })
  return new CapabilityEntry({
    nodeId: `${index}`,
    instanceId: 'default',
    isLocal: false,
    owner: '',
    offer,
    lastSeenMs: 0,
  })
}

function pick(
  candidates: readonly CapabilityEntry[],
  { strategy, nowMs, random }: { strategy: Strategy; nowMs: number; random: () => number },
): CapabilityEntry {
  const anybody = (): CapabilityEntry => candidates[Math.floor(random() * candidates.length)] ?? entryOf(0)
  if (strategy === 'random') return anybody()
  if (strategy !== 'textbook')
    return chooseProvider(candidates, { config: { ...DEFAULT_BUS_CONFIG, strategy }, nowMs, random }) ?? entryOf(0)
  const left = anybody()
  const others = candidates.filter((entry) => entry !== left)
  const right = others[Math.floor(random() * others.length)] ?? left
  const cost = ({ latency, inFlight }: CapabilityEntry): number =>
    latency.latencyMs * Math.exp((latency.atMs - nowMs) / 10_000) * (inFlight + 1)
  return cost(left) <= cost(right) ? left : right
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run()
