/**
 * Trace entries: what is recorded under one trace id: its entries in the ledger, and of each call its arguments, its
 * result, and why it was refused.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { isCallEnd, readLateOutcomeCallSeq } from '../ledger/call-entry.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { TraceDetailView, LedgerEntryView, LateOutcomeView, RecordedCallView } from './views.ts'

type Records = Pick<Ledger, 'entriesOfTrace' | 'body'>

/** Whether the reader may see a call by this principal of this tool, about this target. */
type MayReadCall = (principal: string, tool: string, target: string | undefined) => boolean

/**
 * Includes entries that belong to none of the trace's calls (an approval, a late outcome), if the reader may see all of
 * its calls.
 */
export function readTraceCallsAndEntries(
  ledger: Records,
  traceId: string,
  mayRead: MayReadCall,
): Pick<TraceDetailView, 'calls' | 'entries'> {
  const all = ledger.entriesOfTrace(traceId)
  const enters = all.filter(({ kind }) => kind === 'call.enter')
  const readable = enters.filter((enter) => {
    const [principal, tool] = [textOf(enter['principal']), textOf(enter['tool'])]
    return (
      principal !== undefined && tool !== undefined && mayRead(principal, tool, textOf(exitOf(enter, all)?.['target']))
    )
  })
  const shown = new Set(readable.map(({ seq }) => seq))
  const entries = all.filter(({ seq, kind, call }) => {
    if (kind === 'call.enter') return shown.has(seq)
    return typeof call === 'number' ? shown.has(call) : readable.length > 0 && readable.length === enters.length
  })
  const calls = readable.map((enter) => recordedCall(ledger, enter, entries))
  return { calls, entries: entries.map(toLedgerEntryView) }
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function exitOf(enter: LedgerEntry, entries: readonly LedgerEntry[]): LedgerEntry | undefined {
  return entries.find((entry) => isCallEnd(entry) && entry['call'] === enter.seq)
}

function recordedCall(ledger: Records, enter: LedgerEntry, entries: readonly LedgerEntry[]): RecordedCallView {
  const exit = exitOf(enter, entries)
  return {
    enter: toLedgerEntryView(enter),
    exit: exit === undefined ? null : toLedgerEntryView(exit),
    arguments: readBodyField(ledger, enter.seq, 'args').value,
    reasons: exit === undefined ? [] : reasonsOf(ledger, exit),
    later: entries
      .filter((entry) => readLateOutcomeCallSeq(entry) === enter.seq)
      .map((entry) => lateOutcomeView(ledger, entry)),
    ...resultOf(ledger, exit),
  }
}

function lateOutcomeView(ledger: Records, entry: LedgerEntry): LateOutcomeView {
  const message = textOf(readBodyField(ledger, entry.seq, 'message').value)
  return {
    entry: toLedgerEntryView(entry),
    observed: readBodyField(ledger, entry.seq, 'observed').value,
    message: message ?? null,
  }
}

function resultOf(ledger: Records, exit: LedgerEntry | undefined): Pick<RecordedCallView, 'result' | 'withheld'> {
  if (exit === undefined) return { result: null, withheld: 'none' }
  const { value, state } = readBodyField(ledger, exit.seq, 'result')
  if (state === 'kept') return { result: value, withheld: null }
  if (state === 'erased') return { result: null, withheld: 'erased' }
  return { result: null, withheld: exit['outcome'] === 'ok' ? 'reads-are-not-kept' : 'none' }
}

/** The ids of the rules are in the entry; their sentences for the caller are in its body, in the same order. */
function reasonsOf(ledger: Records, exit: LedgerEntry): RecordedCallView['reasons'] {
  const sentences = listOf(readBodyField(ledger, exit.seq, 'reasons').value)
  return listOf(exit['reasons'] ?? null).flatMap((rule, index) => {
    const sentence = sentences[index]
    return typeof rule === 'string' ? [{ rule, sentence: typeof sentence === 'string' ? sentence : null }] : []
  })
}

function readBodyField(
  ledger: Records,
  seq: number,
  field: string,
): { readonly state: 'kept' | 'erased' | 'none'; readonly value: Json } {
  const body = ledger.body(seq)
  // A body that was changed is not what was recorded, so it is not shown.
  if (body.kind !== 'kept') return { state: body.kind === 'altered' ? 'none' : body.kind, value: null }
  const value = isJsonObject(body.body) ? body.body[field] : undefined
  return value === undefined ? { state: 'none', value: null } : { state: 'kept', value }
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

export function toLedgerEntryView(entry: LedgerEntry): LedgerEntryView {
  return { seq: entry.seq, at: entry.at, kind: entry.kind, entry }
}
