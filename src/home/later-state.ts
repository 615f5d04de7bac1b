/**
 * Later state: every planned call, computed from the log. The entry that a call was begun is on the disk before the
 * call is made, so no call is made twice, even after a crash.
 *
 *   later.planned ─▶ later.begun ─▶ later.ended
 *         │               └─▶ later.asked ─▶ later.begun      a person was asked and approved: made once more, and then never again
 *         └─▶ later.ended      cancelled, missed
 *
 * The arguments and the reason are the body of the entry `plannedSeq`.
 */
import type { LedgerEntry } from '../ledger/entry.ts'
import { readEntryTime, readEntryTextField, readEntryTimeField } from '../ledger/entry.ts'
import type { EntryHandler, Projection } from '../ledger/projection.ts'
import { UndoableStateMap } from '../ledger/projection.ts'

export const PLANNED_CALL_RESULTS = [
  'done',
  'refused',
  'failed',
  'unknown',
  'missed',
  'cancelled',
  'denied',
  'expired',
] as const
export type LaterCallResult = (typeof PLANNED_CALL_RESULTS)[number]

export interface LaterCall {
  readonly id: string
  readonly principal: string
  /** The name that the requesting client gives itself. */
  readonly client: string | undefined
  readonly tool: string
  readonly plannedAtMs: number
  readonly dueAtMs: number
  readonly plannedSeq: number
  readonly state: 'planned' | 'begun' | 'asked' | 'ended'
  /** The approval request that it waits for. */
  readonly approval: string | undefined
  readonly wasAsked: boolean
  readonly traceId: string | undefined
  readonly end: LaterCallResult | undefined
  readonly endedAtMs: number | undefined
}

export interface LaterCallsState {
  readonly calls: UndoableStateMap<LaterCall>
}

export const MAX_LATER_CALLS_PER_PRINCIPAL = 20
export const MAX_LATER_CALLS = 100
export const MAX_LATER_DELAY_MS = 31 * 86_400_000
/** A call that could not be made in time, such as while the gateway was down, is made at most this late. */
export const LATER_CALL_GRACE_MS = 15 * 60_000
const MAX_KEPT = 300
/** The entry of a planned call has a time a moment after the planning, and clocks may be set. */
const CLOCK_SLACK_MS = 60_000

const apply: Readonly<Record<string, EntryHandler<LaterCallsState>>> = {
  'later.planned': ({ calls }, entry) => {
    const [id, principal, tool] = [
      readEntryTextField(entry, 'later'),
      readEntryTextField(entry, 'principal'),
      readEntryTextField(entry, 'capability'),
    ]
    const dueAtMs = readEntryTimeField(entry, 'due_at')
    if (id === undefined || principal === undefined || tool === undefined || dueAtMs === undefined)
      return 'a field that such an entry needs is missing or wrong'
    if (calls.has(id)) return `there was a call ${id} before`
    const plannedAtMs = readEntryTime(entry)
    if (dueAtMs > plannedAtMs + MAX_LATER_DELAY_MS + CLOCK_SLACK_MS) return `call ${id} is planned too far ahead`
    const open = [...calls.values()].filter(({ state }) => state !== 'ended')
    if (open.length >= MAX_LATER_CALLS) return `${MAX_LATER_CALLS} calls are planned already`
    if (open.filter((call) => call.principal === principal).length >= MAX_LATER_CALLS_PER_PRINCIPAL)
      return `${principal} has planned ${MAX_LATER_CALLS_PER_PRINCIPAL} calls already`
    calls.dropOldest(MAX_KEPT, ({ state }) => state === 'ended')
    calls.set(id, {
      id,
      principal,
      client: readEntryTextField(entry, 'client'),
      tool,
      plannedAtMs,
      dueAtMs,
      plannedSeq: entry.seq,
      state: 'planned',
      approval: undefined,
      wasAsked: false,
      traceId: undefined,
      end: undefined,
      endedAtMs: undefined,
    })
    return undefined
  },

  'later.begun': (state, entry) => {
    const call = openCall(state, entry)
    if (call === undefined) return NOT_OPEN
    if (call.state === 'begun') return `call ${call.id} was begun before`
    const traceId = readEntryTextField(entry, 'trace_id')
    if (traceId === undefined) return 'it does not say under which trace the call is made'
    const atMs = readEntryTime(entry)
    if (call.state === 'planned' && atMs < call.dueAtMs - CLOCK_SLACK_MS) return `call ${call.id} was not due`
    if (call.state === 'planned' && atMs > call.dueAtMs + LATER_CALL_GRACE_MS + CLOCK_SLACK_MS)
      return `call ${call.id} was missed`
    state.calls.set(call.id, { ...call, state: 'begun', traceId })
    return undefined
  },

  'later.asked': (state, entry) => {
    const call = openCall(state, entry)
    const approval = readEntryTextField(entry, 'approval')
    if (call?.state !== 'begun') return 'there is no such call under way'
    if (approval === undefined) return 'it does not say what a person was asked'
    if (call.wasAsked) return `a person was asked about call ${call.id} before`
    state.calls.set(call.id, { ...call, state: 'asked', approval, wasAsked: true })
    return undefined
  },

  'later.ended': (state, entry) => {
    const call = openCall(state, entry)
    if (call === undefined) return NOT_OPEN
    const end = PLANNED_CALL_RESULTS.find((known) => known === entry['outcome'])
    if (end === undefined) return 'it does not say how the call ended'
    state.calls.set(call.id, { ...call, state: 'ended', end, endedAtMs: readEntryTime(entry) })
    return undefined
  },
}

export const laterCallsProjection: Projection<LaterCallsState> = {
  name: 'later',
  initial: (journal) => ({ calls: new UndoableStateMap(journal) }),
  apply,
  holds: (state, entry) => {
    const call = entry.kind === 'later.planned' ? openCall(state, entry) : undefined
    return call === undefined
      ? undefined
      : `The call ${call.id} is planned and needs these; cancel it first (hearthbus later cancel ${call.id}).`
  },
}

function openCall({ calls }: LaterCallsState, entry: LedgerEntry): LaterCall | undefined {
  const call = calls.get(readEntryTextField(entry, 'later') ?? '')
  return call?.state === 'ended' ? undefined : call
}

const NOT_OPEN = 'there is no such call planned'
