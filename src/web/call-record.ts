/**
 * Call record: what is kept about one call: its entries in the ledger, its arguments, its result, and why it was refused.
 *
 * Reads through the ledger it is given.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { callEntries } from '../ledger/call-entries.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { CallDetailView, EntryView, TraceView } from './views.ts'

type Records = Pick<Ledger, 'size' | 'entry' | 'entries' | 'body'>

export type CallRecord = Pick<CallDetailView, 'entries' | 'arguments' | 'result' | 'withheld' | 'reasons'>

export function callRecord(ledger: Records, traceId: string, traces: readonly TraceView[]): CallRecord {
  const entries = callEntries(ledger, traceId, traces)
  const enter = entries.find(({ kind }) => kind === 'call.enter')
  const exit = entries.find(({ kind, call }) => kind === 'call.exit' && call === enter?.seq)
  return {
    entries: entries.map(viewOf),
    arguments: enter === undefined ? null : kept(ledger, enter.seq, 'args').value,
    reasons: exit === undefined ? [] : reasonsOf(ledger, exit),
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

/** The rules are in the entry, the sentences that the caller heard beside it, in the same order. */
function reasonsOf(ledger: Records, exit: LedgerEntry): CallRecord['reasons'] {
  const sentences = listOf(kept(ledger, exit.seq, 'reasons').value)
  return listOf(exit['reasons'] ?? null).flatMap((rule, index) => {
    const sentence = sentences[index]
    return typeof rule === 'string' ? [{ rule, sentence: typeof sentence === 'string' ? sentence : null }] : []
  })
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

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

export function viewOf(entry: LedgerEntry): EntryView {
  return { seq: entry.seq, at: entry.at, kind: entry.kind, entry }
}
