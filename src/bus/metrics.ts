/**
 * Metrics: the call counters in Prometheus' format. Nothing is counted here: the bus's counters are read when metrics
 * are scraped, so that metrics cost a call only a few additions.
 *
 * Names are spec 2's (X03) with our own prefix. Durations are a plain histogram; quantiles are the reader's to compute.
 */
import { Counter, Gauge, Registry } from 'prom-client'
import type { Histogram } from 'prom-client'
import type { CapabilityRegistry } from './registry.ts'
import { DURATION_BUCKETS_MS } from './trace.ts'
import type { CapabilityTally, CallCounters } from './trace.ts'
import { countInFlight } from './topology.ts'

/** What the metrics are read from. */
export interface BusMetricsSource {
  readonly communityId: string | undefined
  readonly registry: CapabilityRegistry
  readonly tally: CallCounters
  readonly stats: () => { readonly peers: number }
}

/**
 * Uses its own prom-client registry, so that two buses in one process, or a library that uses the global one, do not
 * interfere.
 */
export function createBusMetrics(bus: BusMetricsSource): Registry {
  const registry = new Registry()
  const registers = [registry]
  const { tally } = bus
  counters(tally, registers)
  gauges(bus, registers)
  registry.registerMetric(durations(tally))
  return registry
}

function counters(tally: CallCounters, registers: Registry[]): void {
  perCapability(tally, registers, {
    name: 'hearthbus_requests_total',
    help: 'Calls, by capability and how they ended.',
    label: 'result',
    rows: ({ ok, errors }) => [['ok', ok], ...errors],
  })
  perCapability(tally, registers, {
    name: 'hearthbus_rate_limited_total',
    help: 'Calls refused for load, by capability and reason.',
    label: 'reason',
    rows: ({ errors }) => [...errors].filter(([code]) => code === 'rate_limited' || code === 'capacity_exceeded'),
  })
  const refusals = new Counter({
    name: 'hearthbus_refusals_total',
    help: 'Calls that a rule refused, or put before a person, by rule.',
    labelNames: ['rule'],
    registers,
    collect: () => {
      refusals.reset()
      for (const [rule, count] of tally.refusals) refusals.inc({ rule }, count)
    },
  })
  const models = new Counter({
    name: 'hearthbus_llm_tokens_generated_total',
    help: 'Tokens generated, by model and backend.',
    labelNames: ['model', 'backend'],
    registers,
    collect: () => {
      models.reset()
      for (const { model, backend, tokens } of tally.tokens.values()) models.inc({ model, backend }, tokens)
    },
  })
  single(registers, {
    name: 'hearthbus_quarantines_total',
    help: 'Providers put into quarantine.',
    value: () => tally.quarantines,
  })
  single(registers, {
    name: 'hearthbus_retries_total',
    help: 'Calls tried again at another provider.',
    value: () => tally.retries,
  })
  single(registers, {
    name: 'hearthbus_hedges_total',
    help: 'Calls that were also sent to a second provider.',
    value: () => tally.hedges,
  })
  single(registers, {
    name: 'hearthbus_cut_off_total',
    help: 'Providers that kept running after their call had ended.',
    value: () => tally.cutOff,
  })
}

function gauges(bus: BusMetricsSource, registers: Registry[]): void {
  const streams = new Gauge({
    name: 'hearthbus_active_streams',
    help: 'Streamed answers under way, by capability.',
    labelNames: ['capability'],
    registers,
    collect: () => {
      for (const [capability, { activeStreams }] of bus.tally.byCapability) streams.set({ capability }, activeStreams)
    },
  })
  const nodes = new Gauge({
    name: 'hearthbus_nodes_online',
    help: 'Nodes known, this one included.',
    labelNames: ['community'],
    registers,
    collect: () => {
      nodes.set({ community: bus.communityId ?? '' }, bus.stats().peers + 1)
    },
  })
  const inFlight = new Gauge({
    name: 'hearthbus_in_flight',
    help: 'Calls that providers work on at the moment.',
    registers,
    collect: () => {
      inFlight.set(countInFlight(bus.registry))
    },
  })
  const waiting = new Gauge({
    name: 'hearthbus_waiting',
    help: 'Calls that wait for a provider of their capability to have room.',
    registers,
    collect: () => {
      waiting.set(bus.registry.all().reduce((sum, entry) => sum + entry.waiting.size, 0))
    },
  })
  const health = new Gauge({
    name: 'hearthbus_capability_health_success_rate',
    help: 'Share of the last hundred calls that a provider answered, by capability and node.',
    labelNames: ['capability', 'node'],
    registers,
    collect: () => {
      health.reset()
      for (const entry of bus.registry.all())
        if (entry.health.samples > 0)
          health.set({ capability: entry.offer.name, node: entry.nodeId }, entry.health.successRate)
    },
  })
}

interface Single {
  readonly name: string
  readonly help: string
  readonly value: () => number
}

function single(registers: Registry[], { name, help, value }: Single): void {
  const counter = new Counter({
    name,
    help,
    registers,
    collect: () => {
      counter.reset()
      counter.inc(value())
    },
  })
}

function perCapability(
  tally: CallCounters,
  registers: Registry[],
  metric: {
    readonly name: string
    readonly help: string
    readonly label: string
    readonly rows: (counted: CapabilityTally) => readonly (readonly [string, number])[]
  },
): void {
  const { label } = metric
  const counter = new Counter({
    name: metric.name,
    help: metric.help,
    labelNames: ['capability', label],
    registers,
    collect: () => {
      counter.reset()
      for (const [capability, counted] of tally.byCapability)
        for (const [value, count] of metric.rows(counted))
          if (count > 0) counter.inc({ capability, [label]: value }, count)
    },
  })
}

/** prom-client's histogram takes one value at a time; this one is given all counts when it is read. */
function durations(tally: CallCounters): Histogram {
  const name = 'hearthbus_request_duration_ms'
  const help = 'Duration of calls, from the first check to the end of the answer, in milliseconds.'
  const get = (): Promise<object> => {
    const values = [...tally.byCapability].flatMap(([capability, counted]) => durationRows(name, capability, counted))
    return Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values })
  }
  return { name, help, get } as unknown as Histogram
}

function durationRows(name: string, capability: string, counted: CapabilityTally): readonly object[] {
  let below = 0
  const buckets = [...counted.durations].map((count, index) => {
    below += count
    return {
      metricName: `${name}_bucket`,
      labels: { capability, le: DURATION_BUCKETS_MS[index] ?? '+Inf' },
      value: below,
    }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: { capability }, value: counted.durationSumMs },
    { metricName: `${name}_count`, labels: { capability }, value: below },
  ]
}
