/**
 * Lookup recovery: brings the cache of lookups up to the log when the ledger is opened. The log decides: a cache that
 * contradicts it is built again.
 */
import { CALL_ENTER_KIND, readEndedCallSeq } from './call-entry.ts'
import { decodeEntry } from './entry.ts'
import { readLogEntry } from './ledger-reader.ts'
import type { LogStore } from './log-store.ts'
import type { LookupStore } from './lookup-store.ts'

/**
 * A lost cache is built again from the whole log, which is read in pieces of this size so that memory stays bounded.
 */
const ENTRIES_AT_ONCE = 4_096

/** Updates the cache, and returns the calls that have entered and not ended. */
export function recoverLookupAndListOpenCalls(lookup: LookupStore, log: LogStore): readonly number[] {
  if (lookup.size > log.size) lookup.cut(log.size)
  fillLookup(lookup, log)
  const open = lookup.openCalls()
  if (areOpenCalls(open, log)) return open
  // Another program wrote into the cache, so none of its rows is trusted.
  lookup.clear()
  fillLookup(lookup, log)
  return lookup.openCalls()
}

function fillLookup(lookup: LookupStore, log: LogStore): void {
  for (let from = lookup.size; from < log.size; from = lookup.size) {
    for (const { seq, bytes } of log.entries(from, ENTRIES_AT_ONCE)) {
      const decoded = decodeEntry(bytes)
      // An unreadable entry cannot be looked up; `verify` reports it.
      lookup.add(seq, decoded.ok ? decoded.value.at : '', decoded.ok ? decoded.value : { kind: 'unreadable' })
    }
    if (lookup.size === from) break
  }
}

/** Whether each of these calls has entered, and none has ended. */
function areOpenCalls(calls: readonly number[], log: LogStore): boolean {
  const open = new Set(calls)
  if (!calls.every((call) => readLogEntry(log, call)?.kind === CALL_ENTER_KIND)) return false
  for (let seq = calls[0] ?? log.size; seq < log.size; seq++) {
    const entry = readLogEntry(log, seq)
    if (entry !== undefined && open.has(readEndedCallSeq(entry) ?? -1)) return false
  }
  return true
}
