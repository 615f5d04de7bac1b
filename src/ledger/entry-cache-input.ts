/**
 * Entry cache input: an entry with its body, from which the tables that copy the log are made. A body that the entry
 * does not commit to counts as missing.
 *
 * Pure: it reads through what it is given.
 */
import { toHex } from '../core/bytes.ts'
import { BODY_ERASED_KIND, computeCommitmentHash, decodeEntryBody } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'
import { readEntriesOfKinds } from './entries-by-kind.ts'
import type { KindSearchableLog } from './entries-by-kind.ts'
import type { EntryCacheInput } from './entry-cache-store.ts'
import { decodeEntry, isSequenceNumber } from './entry.ts'
import type { LedgerEntry } from './entry.ts'
import { computeLeafHash } from './tree.ts'

export interface EntryAndBodyReader {
  readonly entry: (seq: number) => { readonly bytes: Uint8Array } | undefined
  readonly body: (seq: number) => SaltedBody | undefined
}

export type RecordedEntries = EntryAndBodyReader & KindSearchableLog

export function createEntryCacheInput(
  entry: LedgerEntry,
  bytes: Uint8Array,
  words: EntryAndBodyReader,
): EntryCacheInput {
  const row = entry['body_hash'] === undefined ? undefined : words.body(entry.seq)
  const isCommitted = row !== undefined && computeCommitmentHash(row.salt, row.body) === entry['body_hash']
  return {
    entry,
    leafHash: toHex(computeLeafHash(bytes)),
    body: isCommitted ? decodeEntryBody(row.body) : undefined,
    erased: entry.kind === BODY_ERASED_KIND ? targetOf(entry, words) : undefined,
  }
}

/** Reads the entries of these kinds, in order. */
export function* readEntryCacheInputs(
  log: RecordedEntries,
  kinds: ReadonlySet<string>,
): Generator<EntryCacheInput, void, void> {
  for (const entry of readEntriesOfKinds(log, kinds)) {
    const row = log.entry(entry.seq)
    if (row !== undefined) yield createEntryCacheInput(entry, row.bytes, log)
  }
}

function targetOf({ entry: seq }: LedgerEntry, words: EntryAndBodyReader): LedgerEntry | undefined {
  const row = isSequenceNumber(seq) ? words.entry(seq) : undefined
  const target = row && decodeEntry(row.bytes)
  return target?.ok === true ? target.value : undefined
}
