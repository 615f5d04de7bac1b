/**
 * Trace view: a finished call as people see it, with the names of the nodes that it was between.
 *
 * Pure.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { CallTraceEvent } from '../bus/trace.ts'
import type { TraceView } from './views.ts'

/** The latest ones, newest first. */
export function recentCalls(
  bus: Pick<CapabilityBus, 'nodeName' | 'recentTraces'>,
  count: number,
): readonly TraceView[] {
  return bus.recentTraces(count).map((trace) => traceView(bus, trace))
}

/** A name is what a node is called now: a call may be older, and its node gone. */
export function traceView(bus: Pick<CapabilityBus, 'nodeName'>, trace: CallTraceEvent): TraceView {
  const fromName = bus.nodeName(trace.fromNode)
  const toName = trace.toNode === undefined ? undefined : bus.nodeName(trace.toNode)
  return {
    ...trace,
    ...(fromName === undefined ? {} : { fromName }),
    ...(toName === undefined ? {} : { toName }),
  }
}
