/**
 * Cached entry: an entry with its words, as the tables that repeat the log are made from it. Words that are not those
 * that the entry commits to are none.
 *
 * Pure: it reads through what it is given.
 */
import { toHex } from '../core/bytes.ts'
import { BODY_ERASED, commitmentHash, decodeBody } from './group.ts'
import type { SaltedBody } from './group.ts'
import type { CachedEntry } from './entry-cache-store.ts'
import { decodeEntry, isSequence } from './entry.ts'
import type { LedgerEntry } from './entry.ts'
import { leafHash } from './tree.ts'

export interface EntryWords {
  readonly entry: (seq: number) => { readonly bytes: Uint8Array } | undefined
  readonly body: (seq: number) => SaltedBody | undefined
}

export function cachedEntry(entry: LedgerEntry, bytes: Uint8Array, words: EntryWords): CachedEntry {
  const row = entry['body_hash'] === undefined ? undefined : words.body(entry.seq)
  const isCommitted = row !== undefined && commitmentHash(row.salt, row.body) === entry['body_hash']
  return {
    entry,
    leafHash: toHex(leafHash(bytes)),
    body: isCommitted ? decodeBody(row.body) : undefined,
    erased: entry.kind === BODY_ERASED ? targetOf(entry, words) : undefined,
  }
}

function targetOf({ entry: seq }: LedgerEntry, words: EntryWords): LedgerEntry | undefined {
  const row = isSequence(seq) ? words.entry(seq) : undefined
  const target = row && decodeEntry(row.bytes)
  return target?.ok === true ? target.value : undefined
}
