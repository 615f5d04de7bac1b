/** Trace view: a call as people see it, with the names of the nodes involved. */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Caller, Reply } from '../bus/call.ts'
import { resolveReplyOrigin } from '../bus/call-ticket.ts'
import type { CallTraceRecord } from '../bus/trace.ts'
import type { Guard } from '../guard/guard.ts'
import type { CallResultView, CallTraceView } from './views.ts'

/** The latest calls, newest first. */
export function listRecentCallTraces(
  bus: Pick<CapabilityBus, 'nodeName' | 'recentTraces'>,
  count: number,
): readonly CallTraceView[] {
  return bus.recentTraces(count).map((trace) => addNodeNamesToTrace(bus, trace))
}

/** Whether a caller may read about a call. A trace has no target: it is in the ledger. */
export function mayReadCallTrace(
  caller: Caller,
  { caller: principal, capability }: Pick<CallTraceRecord, 'caller' | 'capability'>,
  { bus, guard }: { readonly bus: Pick<CapabilityBus, 'offer'>; readonly guard: Pick<Guard, 'mayRead'> },
): boolean {
  const offer = bus.offer(capability)
  return guard.mayRead(caller, { principal, effect: offer?.effect, target: undefined }, offer)
}

export function toReplyOriginView(
  bus: Pick<CapabilityBus, 'nodeId' | 'nodeName'>,
  reply: Reply,
): NonNullable<CallResultView['from']> {
  const origin = resolveReplyOrigin(reply, reply.from?.node ?? bus.nodeId)
  const nodeName = bus.nodeName(origin.node)
  return nodeName === undefined ? origin : { ...origin, nodeName }
}

/** The node's present name: the call may be older, and the node may have left. */
export function addNodeNamesToTrace(bus: Pick<CapabilityBus, 'nodeName'>, trace: CallTraceRecord): CallTraceView {
  const fromName = bus.nodeName(trace.fromNode)
  const toName = trace.toNode === undefined ? undefined : bus.nodeName(trace.toNode)
  return {
    ...trace,
    ...(fromName === undefined ? {} : { fromName }),
    ...(toName === undefined ? {} : { toName }),
  }
}
