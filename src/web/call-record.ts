/**
 * Call record: finds what the ledger says about one call.
 *
 *   time of the call ─▶ (binary search by `at`) ─▶ a window of entries ─▶ those with its trace id, and what closes them
 *
 * The ledger has no index by trace id and needs none: a call's entries stand within moments of it.
 *
 * Reads through the ledger it is given.
 */
import { isUlid } from '../core/ids.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { CallDetailView, EntryView, TraceView } from './views.ts'

type Records = Pick<Ledger, 'size' | 'entry' | 'entries' | 'body'>

/** Clocks are set, commits wait for their group: entries are looked for this much around the call. */
const SLACK_MS = 5_000
/** An approval is asked for under the trace of the call, which then ends; nothing about it comes later than this. */
const MAX_WINDOW = 20_000
const BATCH = 512
const MAX_FOUND = 200
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

export type CallRecord = Pick<CallDetailView, 'entries' | 'arguments' | 'result' | 'withheld'>

export function callRecord(ledger: Records, traceId: string, traces: readonly TraceView[]): CallRecord {
  const span = spanOf(traceId, traces)
  const entries = span === undefined ? [] : entriesOf(ledger, traceId, span)
  const enter = entries.find(({ kind }) => kind === 'call.enter')
  const exit = entries.find(({ kind, call }) => kind === 'call.exit' && call === enter?.seq)
  return {
    entries: entries.map(viewOf),
    arguments: enter === undefined ? null : kept(ledger, enter.seq, 'args').value,
    ...resultOf(ledger, exit),
  }
}

function resultOf(ledger: Records, exit: LedgerEntry | undefined): Pick<CallRecord, 'result' | 'withheld'> {
  if (exit === undefined) return { result: null, withheld: 'none' }
  const { value, state } = kept(ledger, exit.seq, 'result')
  if (state === 'kept') return { result: value, withheld: null }
  if (state === 'erased') return { result: null, withheld: 'erased' }
  return { result: null, withheld: exit['outcome'] === 'ok' ? 'reads-are-not-kept' : 'none' }
}

function entriesOf(ledger: Records, traceId: string, span: Span): readonly LedgerEntry[] {
  const found: LedgerEntry[] = []
  const calls = new Set<Json>()
  const first = firstAfter(ledger, span.fromMs)
  for (let from = first; from < first + MAX_WINDOW; from += BATCH) {
    const batch = ledger.entries(from, BATCH)
    for (const { entry } of batch) {
      if (Date.parse(entry.at) > span.untilMs || found.length >= MAX_FOUND) return found
      const isOurs = entry['trace_id'] === traceId || (entry['call'] !== undefined && calls.has(entry['call']))
      if (!isOurs) continue
      if (entry.kind === 'call.enter') calls.add(entry.seq)
      found.push(entry)
    }
    if (batch.length < BATCH) return found
  }
  return found
}

/** The first entry that is not older; times in a ledger grow with it, bar clocks that are set. */
function firstAfter(ledger: Records, ms: number): number {
  let [low, high] = [0, ledger.size()]
  while (low < high) {
    const middle = (low + high) >>> 1
    const stored = ledger.entry(middle)
    if (stored !== undefined && Date.parse(stored.entry.at) < ms) low = middle + 1
    else high = middle
  }
  return low
}

interface Span {
  readonly fromMs: number
  readonly untilMs: number
}

function spanOf(traceId: string, traces: readonly TraceView[]): Span | undefined {
  const ends = traces.map(({ ts }) => Date.parse(ts))
  const begins = traces.map(({ ts, ms }) => Date.parse(ts) - ms)
  const minted = isUlid(traceId) ? ulidMs(traceId) : undefined
  const begin = Math.min(...begins, ...(minted === undefined || traces.length > 0 ? [] : [minted]))
  if (!Number.isFinite(begin)) return undefined
  // Of a call that is in no ring any more only the beginning is known; no call takes longer than ten minutes.
  const end = traces.length > 0 ? Math.max(...ends) : begin + 600_000
  return { fromMs: begin - SLACK_MS, untilMs: end + SLACK_MS }
}

function ulidMs(id: string): number {
  let ms = 0
  for (const character of id.slice(0, 10)) ms = ms * 32 + CROCKFORD.indexOf(character)
  return ms
}

function kept(
  ledger: Records,
  seq: number,
  field: string,
): { readonly state: 'kept' | 'erased' | 'none'; readonly value: Json } {
  const body = ledger.body(seq)
  if (body.kind !== 'kept') return { state: body.kind, value: null }
  const value = isJsonObject(body.body) ? body.body[field] : undefined
  return value === undefined ? { state: 'none', value: null } : { state: 'kept', value }
}

export function viewOf(entry: LedgerEntry): EntryView {
  return { seq: entry.seq, at: entry.at, kind: entry.kind, entry }
}
