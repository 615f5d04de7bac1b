import { describe, expect, it } from 'vitest'
import { ulid } from '../core/ids.ts'
import { callEntries } from './call-entries.ts'
import type { LedgerEntry } from './entry.ts'

const BEGIN = Date.UTC(2026, 0, 1, 12)

function logOf(rows: readonly (readonly [afterMs: number, kind: string, fields: Readonly<Record<string, unknown>>])[]) {
  const stored = rows.map(([afterMs, kind, fields], seq) => {
    const entry = { v: 1, seq, at: new Date(BEGIN + afterMs).toISOString(), kind, ...fields } as LedgerEntry
    return { entry, bytes: new Uint8Array() }
  })
  let read = 0
  return {
    read: () => read,
    size: () => stored.length,
    entry: (seq: number) => stored[seq],
    entries: (from: number, limit: number) => {
      const batch = stored.slice(from, from + limit)
      read += batch.length
      return batch
    },
  }
}

describe('the entries of a call', () => {
  const ours = ulid(BEGIN)
  const theirs = ulid(BEGIN)
  const log = logOf([
    [-60_000, 'call.enter', { trace_id: theirs, tool: 'long.before' }],
    [0, 'call.enter', { trace_id: ours, tool: 'a' }],
    [1, 'call.enter', { trace_id: theirs, tool: 'b' }],
    [2, 'approval.used', { trace_id: ours }],
    [3, 'call.exit', { call: 2, outcome: 'ok' }],
    [4, 'call.exit', { call: 1, outcome: 'ok' }],
    [900_000, 'call.exit', { call: 1, outcome: 'never' }],
  ])

  it('are those with its trace id, and what closes them', () => {
    expect(callEntries(log, ours, []).map(({ seq }) => seq)).toEqual([1, 3, 5])
  })

  it('are found by when the call was seen, whatever its id looks like', () => {
    const foreign = logOf([[0, 'call.enter', { trace_id: 'not-ours', tool: 'a' }]])
    const seen = { ts: new Date(BEGIN + 40).toISOString(), ms: 40 }
    expect(callEntries(foreign, 'not-ours', [seen]).map(({ seq }) => seq)).toEqual([0])
    expect(callEntries(foreign, 'not-ours', [])).toEqual([])
  })

  it('are looked for around the call and not in the whole ledger', () => {
    const long = logOf(
      Array.from({ length: 50_000 }, (_, index) => [
        index * 1_000,
        'call.enter',
        { trace_id: index === 30_000 ? ours : theirs },
      ]),
    )
    const seen = { ts: new Date(BEGIN + 30_000_000).toISOString(), ms: 1 }
    expect(callEntries(long, ours, [seen]).map(({ seq }) => seq)).toEqual([30_000])
    expect(long.read()).toBeLessThan(1_000)
  })
})
