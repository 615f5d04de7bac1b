/**
 * Call entries: finds what the ledger says about one call.
 *
 *   time of the call ─▶ (binary search by `at`) ─▶ a window of entries ─▶ those with its trace id, and what closes them
 *
 * The ledger has no index by trace id and needs none: a call's entries stand within moments of it.
 *
 * Reads through the ledger it is given.
 */
import { isUlid } from '../core/ids.ts'
import type { Json } from '../core/json.ts'
import type { LedgerEntry } from './entry.ts'
import type { Ledger } from './ledger.ts'

type Entries = Pick<Ledger, 'size' | 'entry' | 'entries'>

/** When a call ended and how long it took, as the ring of traces remembers it. */
export interface Seen {
  readonly ts: string
  readonly ms: number
}

/** Clocks are set, commits wait for their group: entries are looked for this much around the call. */
const SLACK_MS = 5_000
/** An approval is asked for under the trace of the call, which then ends; nothing about it comes later than this. */
const MAX_WINDOW = 20_000
/** No call takes longer; of one that is in no ring any more only the beginning is known. */
const LONGEST_CALL_MS = 600_000
const BATCH = 512
const MAX_FOUND = 200
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

export function callEntries(ledger: Entries, traceId: string, seen: readonly Seen[]): readonly LedgerEntry[] {
  const span = spanOf(traceId, seen)
  if (span === undefined) return []
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
function firstAfter(ledger: Entries, ms: number): number {
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

function spanOf(traceId: string, seen: readonly Seen[]): Span | undefined {
  const begin = Math.min(...seen.map(({ ts, ms }) => Date.parse(ts) - ms), seen.length > 0 ? Infinity : minted(traceId))
  if (!Number.isFinite(begin)) return undefined
  const end = seen.length > 0 ? Math.max(...seen.map(({ ts }) => Date.parse(ts))) : begin + LONGEST_CALL_MS
  return { fromMs: begin - SLACK_MS, untilMs: end + SLACK_MS }
}

/** A ULID begins with the time at which it was made. */
function minted(id: string): number {
  if (!isUlid(id)) return Infinity
  let ms = 0
  for (const character of id.slice(0, 10)) ms = ms * 32 + CROCKFORD.indexOf(character)
  return ms
}
