/**
 * Node metrics: metrics of this process in Prometheus' format: memory, event-loop lag, open files, what waits, which
 * services work, and what the listener refused before it became a call.
 *
 * Names of the process are those that prom-client gives them in every Node program, so that ready-made dashboards fit.
 *
 * Pure, given what it reads; prom-client observes the event loop.
 */
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import type { RequestRefusalCounter } from './request-refusal-counter.ts'

export interface NodeMetricsSource {
  /** Lengths of this node's queues, by name. */
  readonly queues: () => Readonly<Record<string, number>>
  readonly refused: RequestRefusalCounter
  readonly ledgerSize: () => number
  readonly services: () => readonly { readonly name: string; readonly status: string; readonly details: JsonObject }[]
}

export function createNodeMetrics({ queues, refused, ledgerSize, services }: NodeMetricsSource): Registry {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const lengths = new Gauge({
    name: 'hearthbus_queue_length',
    help: 'What waits, by queue.',
    labelNames: ['queue'],
    registers,
    collect: () => {
      for (const [queue, length] of Object.entries(queues())) lengths.set({ queue }, length)
    },
  })
  const refusals = new Counter({
    name: 'hearthbus_requests_refused_total',
    help: 'Requests turned away before they became calls, by cause.',
    labelNames: ['cause'],
    registers,
    collect: () => {
      refusals.reset()
      for (const [cause, count] of refused.counts) refusals.inc({ cause }, count)
    },
  })
  const size = new Gauge({
    name: 'hearthbus_ledger_entries',
    help: 'Entries of the ledger.',
    registers,
    collect: () => {
      size.set(ledgerSize())
    },
  })
  const working = new Gauge({
    name: 'hearthbus_service_ok',
    help: 'Whether a service works without trouble.',
    labelNames: ['service'],
    registers,
    collect: () => {
      for (const { name, status } of services()) working.set({ service: name }, status === 'ok' ? 1 : 0)
    },
  })
  const connected = new Gauge({
    name: 'hearthbus_connection_up',
    help: 'Whether a connection of a service is established, such as that to an access point.',
    labelNames: ['service', 'connection'],
    registers,
    collect: () => {
      for (const { name: service, details } of services())
        for (const [connection, detail] of Object.entries(details))
          if (isJsonObject(detail) && typeof detail['state'] === 'string')
            connected.set({ service, connection }, detail['state'] === 'connected' ? 1 : 0)
    },
  })
  return registry
}
