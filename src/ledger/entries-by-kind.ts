/**
 * Entries by kind: reads the entries of some kinds, in order, from a log that consists mostly of others. The kind is
 * taken from the bytes, never from a column that somebody could edit, and entries of other kinds are not decoded.
 *
 * Pure: it reads through what it is given.
 */
import { decodeEntry } from './entry.ts'
import type { LedgerEntry } from './entry.ts'
import type { LedgerLeafRow } from './log-store.ts'

interface SearchableLog {
  readonly entriesMatching: (pattern: RegExp) => Iterable<LedgerLeafRow>
}

/** Bytes that are not an entry are left to `verify`. */
export function* readEntriesOfKinds(
  log: SearchableLog,
  kinds: ReadonlySet<string>,
): Generator<LedgerEntry, void, void> {
  if (kinds.size === 0) return
  for (const { bytes } of log.entriesMatching(kindPattern(kinds))) {
    const decoded = decodeEntry(bytes)
    // A nested object may have a field of that name as well.
    if (decoded.ok && kinds.has(decoded.value.kind)) yield decoded.value
  }
}

/** Canonical JSON has one spelling, and a kind has neither escapes nor, but for its dots, anything special in a pattern. */
function kindPattern(kinds: ReadonlySet<string>): RegExp {
  return new RegExp(`"kind":"(?:${[...kinds].map((kind) => kind.replaceAll('.', String.raw`\.`)).join('|')})"`)
}
