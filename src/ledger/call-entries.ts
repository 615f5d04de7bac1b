/**
 * Call entries: finds what the ledger says about one call.
 *
 *   time of the call ─▶ (binary search by `at`) ─▶ a window of entries ─▶ those with its trace id, and what closes them
 *
 * The ledger has no index by trace id: a call's entries stand within moments of it, and an id of ours begins with its
 * time. A trace id that a client brought along says nothing about time, so its call is found only while the ring of
 * recent calls remembers it.
 *
 * Reads through the ledger it is given.
 */
import { isUlid, ulidMs } from '../core/ids.ts'
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
/** Entries that are looked at, at most: the ledger of a busy house has many in ten minutes. */
const MAX_WINDOW = 20_000
/** No call takes longer. Of one that has left the ring only the beginning is known, by its trace id. */
const LONGEST_CALL_MS = 600_000
const BATCH = 512
const MAX_FOUND = 200

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
  if (seen.length > 0) {
    const begin = Math.min(...seen.map(({ ts, ms }) => Date.parse(ts) - ms))
    const end = Math.max(...seen.map(({ ts }) => Date.parse(ts)))
    return { fromMs: begin - SLACK_MS, untilMs: end + SLACK_MS }
  }
  if (!isUlid(traceId)) return undefined
  const minted = ulidMs(traceId)
  return { fromMs: minted - SLACK_MS, untilMs: minted + LONGEST_CALL_MS + SLACK_MS }
}
