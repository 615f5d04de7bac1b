/** Calls API: calling a tool as an agent does, and reading about past calls. */
import { toCallRecordReferenceJson } from '../bus/call-ticket.ts'
import type { Caller } from '../bus/call.ts'
import type { CallTraceRecord } from '../bus/trace.ts'
import { findClosestNames, formatNameSuggestion } from '../core/closest-name.ts'
import type { Fault } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import { callRequestBodySchema } from './api-requests.ts'
import type { CallResultView } from './api-requests.ts'
import { toApprovalView, mayReadApproval } from './approval-view.ts'
import {
  readRequestBodyBySchema,
  createFaultResponse,
  parseCountOrDefault,
  createRefusalResponse,
} from './api-context.ts'
import type { HonoApi, ApiOptions } from './api-context.ts'
import { readTraceCallsAndEntries } from './trace-entries.ts'
import { extractMeasurements } from './measurements.ts'
import { toReplyOriginView, mayReadCallTrace, addNodeNamesToTrace } from './trace-view.ts'
import type { TraceDetailView } from './views.ts'

const MAX_TRACES = 10_000
const MAX_TRACE_ID = 64

export function addCallRoutes(api: HonoApi, { bus, guard, ledger, history }: ApiOptions): void {
  const visibleNames = (caller: Caller): readonly string[] =>
    bus
      .offers()
      .filter((offer) => guard.visible(caller, offer))
      .map(({ name }) => name)
  api.post('/call', async (context) => {
    const {
      tool,
      arguments: body,
      session,
      task_id: taskId,
      session_id: sessionId,
      node,
      timeoutMs,
    } = await readRequestBodyBySchema(context, callRequestBodySchema)
    const traceId = newUlid()
    const outcome = await bus.call(tool, undefined, body, {
      caller: context.var.caller,
      channel: 'api',
      traceId,
      signal: context.req.raw.signal,
      ...(session === undefined ? {} : { sessionId: session }),
      ...(node === undefined ? {} : { node }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      work: { ...(taskId && { taskId }), ...(sessionId && { sessionId }) },
    })
    const record = outcome.ok ? outcome.value.record : outcome.fault.record
    const recorded = record === undefined ? {} : { record: toCallRecordReferenceJson(record) }
    const offer = bus.offer(tool)
    if (offer === undefined)
      return outcome.ok
        ? Response.json(outcome.value.data)
        : createFaultResponse(withSuggestion(outcome.fault, tool, visibleNames(context.var.caller)))
    if (outcome.ok) {
      // Measurements in the answer are added to the history, except those of a second bus or of another node.
      const nowMs = Date.now()
      const measured =
        node === undefined && body['bus'] === undefined ? extractMeasurements(tool, outcome.value.data) : []
      for (const { id, value } of measured) history.record(id, value, nowMs)
      const view: CallResultView = {
        outcome: 'ok',
        traceId,
        structured: offer.family.success(outcome.value.data, offer, outcome.value.replayed),
        ...(outcome.value.content === undefined ? {} : { content: outcome.value.content }),
        from: toReplyOriginView(bus, outcome.value),
        ...recorded,
      }
      return Response.json(view)
    }
    const { fault } = outcome
    const { structured } = offer.family.failure(fault, offer)
    const denied = fault.kind === 'not-permitted' || fault.kind === 'approval-required'
    const view: CallResultView = {
      outcome: denied ? 'denied' : 'error',
      traceId,
      structured,
      // Families format their failures differently; a program that shows one needs a sentence without knowing the
      // family.
      fault: {
        kind: fault.kind,
        message: fault.message,
        reasons: (fault.reasons ?? []).map(({ rule, message }) => ({ rule, message })),
        ...(fault.details === undefined ? {} : { details: fault.details }),
      },
      ...recorded,
    }
    return Response.json(view)
  })
  api.get('/traces', (context) => {
    const limit = Math.min(parseCountOrDefault(context.req.query('limit'), 50), MAX_TRACES)
    const { caller } = context.var
    const mayRead = (trace: CallTraceRecord): boolean => mayReadCallTrace(caller, trace, { bus, guard })
    const ended = bus.recentTraces(MAX_TRACES).filter(mayRead).slice(0, limit)
    return context.json(
      [...bus.runningTraces().filter(mayRead), ...ended].map((trace) => addNodeNamesToTrace(bus, trace)),
    )
  })
  api.get('/calls/:traceId', (context) => {
    const traceId = context.req.param('traceId')
    if (traceId.length > MAX_TRACE_ID) return createRefusalResponse(404, 'No call has such an id.')
    const { caller } = context.var
    const mayReadCall = (principal: string, tool: string, target: string | undefined): boolean => {
      const offer = bus.offer(tool)
      return guard.mayRead(caller, { principal, effect: offer?.effect, target }, offer)
    }
    const record = readTraceCallsAndEntries(ledger, traceId, mayReadCall)
    // A trace has no target; its call in the ledger has.
    const isRecorded = (trace: CallTraceRecord): boolean =>
      record.calls.some(
        ({ enter: { entry } }) => entry['principal'] === trace.caller && entry['tool'] === trace.capability,
      )
    const traces = [...bus.runningTraces(), ...bus.recentTraces(MAX_TRACES)]
      .filter((trace) => trace.traceId === traceId)
      .filter((trace) => isRecorded(trace) || mayReadCallTrace(caller, trace, { bus, guard }))
      .map((trace) => addNodeNamesToTrace(bus, trace))
      .toReversed()
    if (traces.length === 0 && record.entries.length === 0)
      return createRefusalResponse(
        404,
        'Neither the ring of recent calls nor the ledger knows a call of this id that is shown to you.',
      )
    // Approvals that this call requested or used.
    const named = new Set(record.entries.map(({ entry }) => entry['approval']))
    const approvals = guard.approvals
      .list({ limit: 500 })
      .filter(({ id, shown }) => shown.traceId === traceId || named.has(id))
      .filter((approval) => mayReadApproval(caller, approval, { bus, guard }))
      .map((approval) => toApprovalView(bus, guard.approvals.shownTo(approval, caller)))
    const view: TraceDetailView = { traceId, traces, ...record, approvals }
    return context.json(view)
  })
}

/** Adds a suggestion, because most unknown names are misspellings. */
function withSuggestion(fault: Fault, tool: string, names: readonly string[]): Fault {
  if (fault.kind !== 'not-found') return fault
  return { ...fault, message: `${fault.message}${formatNameSuggestion(findClosestNames(tool, names))}` }
}
