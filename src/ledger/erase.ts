/**
 * Erase: forgets the words of one entry for good, with the rows that show them.
 *
 *   transaction { refused? ▸ body gone ▸ entry says so ▸ rows that are made from it say so }
 *     ▸ the write-ahead log emptied ▸ where else the same words are (in turns)
 *
 * The entry itself stays, with the hash of what is gone: proofs stay valid.
 *
 * Reads and writes through the stores.
 */
import { setImmediate } from 'node:timers/promises'
import type { Database } from '../core/database-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { BODY_ERASED } from './body.ts'
import type { CachedThing } from './finding.ts'
import type { Appended, LedgerEvent, StoredEntry } from './entry.ts'
import type { LedgerStore } from './ledger-store.ts'
import type { EraseFault } from './refusal.ts'
import { findWords, wordFinder, wordsIn } from './same-words.ts'

/** What the entry of an erasure says beside which words are gone. It stays for good. */
export interface ErasureNote {
  readonly reason?: string
  readonly by?: string
}

export interface Erased extends Appended {
  /** Rows that showed the words, and show none any more. */
  readonly blanked: readonly CachedThing[]
  /** Entries whose bodies still have one of the words. */
  readonly also: readonly number[]
  /** Entries that have one themselves, where it stays for good. */
  readonly stays: readonly number[]
  /** Tables beside the log that have one. */
  readonly tables: readonly string[]
}

export interface EraseParts {
  readonly database: Database
  readonly store: LedgerStore
  readonly showing: readonly CachedThing[]
  /** Why the words have to stay for now, in a sentence. */
  readonly holds: () => string | undefined
  /** Inside the transaction. */
  readonly appendIn: (event: LedgerEvent) => Appended
}

export async function eraseBody(
  { entry }: StoredEntry,
  told: ErasureNote,
  { database, store, showing, holds, appendIn }: EraseParts,
): Promise<Result<Erased, EraseFault>> {
  const { seq } = entry
  const words = wordsIn(store.body(seq)?.body ?? new Uint8Array(0))
  const erased = await database.commit((): Result<Omit<Erased, 'also' | 'stays' | 'tables'>, EraseFault> => {
    const refusal = holds()
    if (refusal !== undefined) return fail({ kind: 'words-in-use', reason: refusal })
    if (store.body(seq) === undefined) return fail({ kind: 'nothing-to-erase', seq, erased: store.bodyIsGone(seq) })
    store.deleteBody(seq)
    return ok({ ...appendIn({ kind: BODY_ERASED, entry: seq, ...told }), blanked: showing })
  })
  if (!erased.ok) return erased
  store.flushLog()
  const tables = words.length === 0 ? [] : store.tablesWith(wordFinder(words))
  const search = findWords(store, words)
  for (let step = search.next(); ; step = search.next()) {
    if (step.done === true) return ok({ ...erased.value, also: step.value.bodies, stays: step.value.entries, tables })
    await setImmediate()
  }
}
