/**
 * Measurement sampling: reads the measurements of the house periodically, like any other caller, and keeps them for a
 * day. It calls as a service of this node and leaves two entries in the ledger each time, so it calls seldom: every
 * three minutes is enough for a chart of one day.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Logger } from '../core/logger.ts'
import { startPeriodicJob } from '../toolbox/periodic-job.ts'
import type { EventFeed } from './event-feed.ts'
import type { MeasurementHistory } from './measurement-history.ts'
import { MEASUREMENT_CALLS } from './measurements.ts'
import type { MeasurementCall } from './measurements.ts'

export interface MeasurementSamplingOptions {
  readonly bus: CapabilityBus
  readonly history: MeasurementHistory
  readonly feed: EventFeed
  readonly logger: Logger
  readonly everyMs?: number
}

const EVERY_MS = 180_000
/** Families need a moment after their start to learn about their house. */
const FIRST_MS = 5_000
const TIMEOUT_MS = 15_000
const CALLER = { kind: 'service', id: 'console-history' } as const

export function startMeasurementSampling(options: MeasurementSamplingOptions): () => void {
  const { logger, everyMs = EVERY_MS } = options
  return startPeriodicJob(everyMs, () => sampleOnce(options), logger, Math.min(FIRST_MS, everyMs))
}

async function sampleOnce({ bus, history, feed }: Omit<MeasurementSamplingOptions, 'logger'>): Promise<void> {
  const series: string[] = []
  for (const probe of MEASUREMENT_CALLS) series.push(...(await ask(bus, history, probe)))
  if (series.length > 0) feed.publish('history', { series })
}

async function ask(
  bus: CapabilityBus,
  history: MeasurementHistory,
  probe: MeasurementCall,
): Promise<readonly string[]> {
  // Only this node is asked: another node's measurements belong to another house, and it may be hostile.
  if (!bus.registry.named(probe.tool).some(({ isLocal }) => isLocal)) return []
  const outcome = await bus.call(probe.tool, undefined, probe.arguments, {
    caller: CALLER,
    channel: 'service',
    node: bus.nodeId,
    timeoutMs: TIMEOUT_MS,
  })
  // A house that does not answer leaves a gap in the chart.
  if (!outcome.ok) return []
  const nowMs = Date.now()
  const measurements = probe.measurements(outcome.value.data)
  for (const { id, value } of measurements) history.record(id, value, nowMs)
  return measurements.map(({ id }) => id)
}
