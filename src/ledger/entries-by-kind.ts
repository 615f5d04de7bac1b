/**
 * Entries by kind: reads the entries of some kinds, in order, from a log that consists mostly of others. The kind is
 * taken from the bytes, never from a column that somebody could edit, and entries of other kinds are not decoded.
 *
 * Pure: it reads through what it is given.
 */
import { decodeEntry } from './entry.ts'
import type { LedgerEntry, StoredEntryBytes } from './entry.ts'

export interface KindSearchableLog {
  readonly entriesMatching: (pattern: RegExp) => Iterable<StoredEntryBytes>
}

/** Yields the entries of these kinds. Bytes that are not a valid entry are skipped; `verify` reports them. */
export function* readEntriesOfKinds(
  log: KindSearchableLog,
  kinds: ReadonlySet<string>,
): Generator<LedgerEntry, void, void> {
  if (kinds.size === 0) return
  for (const { bytes } of log.entriesMatching(kindPattern(kinds))) {
    const decoded = decodeEntry(bytes)
    // The pattern may also have matched a field of a nested object, so the decoded kind is compared.
    if (decoded.ok && kinds.has(decoded.value.kind)) yield decoded.value
  }
}

/**
 * A pattern for the text of entries of these kinds. Canonical JSON spells a kind in one way, and the dot is the only
 * character in it that is special in a pattern.
 */
function kindPattern(kinds: ReadonlySet<string>): RegExp {
  return new RegExp(`"kind":"(?:${[...kinds].map((kind) => kind.replaceAll('.', String.raw`\.`)).join('|')})"`)
}
