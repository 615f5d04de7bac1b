/**
 * Erase: forgets the words of one entry, and what other rooms have from them in their tables, for good.
 *
 *   look (in turns) ▸ transaction { refused? ▸ look at what came meanwhile ▸ body gone ▸ rows blank ▸ entry says so }
 *     ▸ the write-ahead log emptied ▸ where else the same sentences are (in turns)
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
import type { Copies, CopyName } from './copies.ts'
import type { Appended, LedgerEvent, StoredEntry } from './entry.ts'
import type { LedgerStore } from './ledger-store.ts'
import type { EraseFault } from './refusal.ts'
import { entriesWith, phrasesIn } from './same-words.ts'

/** What the entry of an erasure says beside which words are gone. It stays for good. */
export interface ErasureNote {
  readonly reason?: string
  readonly by?: string
}

export interface Erased extends Appended {
  /** Rows of other rooms that had the words as well. */
  readonly blanked: readonly CopyName[]
  /** Entries whose bodies still have one of the sentences. */
  readonly also: readonly number[]
}

export interface EraseParts {
  readonly database: Database
  readonly store: LedgerStore
  readonly copies: readonly Copies[]
  /** Why the words have to stay for now, in a sentence. */
  readonly holds: () => string | undefined
  /** Inside the transaction. */
  readonly appendIn: (event: LedgerEvent) => Appended
}

export async function eraseBody(
  { entry }: StoredEntry,
  told: ErasureNote,
  { database, store, copies, holds, appendIn }: EraseParts,
): Promise<Result<Erased, EraseFault>> {
  const { seq } = entry
  const erasers = copies.flatMap((copy) => copy.eraser?.(entry, store) ?? [])
  // Most of it before the transaction, with turns for everybody else; in it, only what came meanwhile.
  for (const eraser of erasers) while (eraser.look?.() === true) await setImmediate()
  const phrases = phrasesIn(store.body(seq)?.body ?? new Uint8Array(0))
  const erased = await database.commit((): Result<Omit<Erased, 'also'>, EraseFault> => {
    const refusal = holds()
    if (refusal !== undefined) return fail({ kind: 'words-in-use', reason: refusal })
    if (store.body(seq) === undefined) return fail({ kind: 'nothing-to-erase', seq, erased: store.bodyIsGone(seq) })
    for (const eraser of erasers) while (eraser.look?.() === true);
    store.deleteBody(seq)
    const blanked = erasers.flatMap((eraser) => eraser.blank())
    return ok({ ...appendIn({ kind: BODY_ERASED, entry: seq, ...told }), blanked })
  })
  if (!erased.ok) return erased
  store.flushLog()
  const search = entriesWith(store, phrases)
  for (let step = search.next(); ; step = search.next()) {
    if (step.done === true) return ok({ ...erased.value, also: step.value })
    await setImmediate()
  }
}
