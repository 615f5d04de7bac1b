/**
 * Erase: forgets the words of one entry for good, with the rows that show them.
 *
 *   transaction { refused? ▸ entry says so ▸ rows that are made from it say so } ▸ body overwritten
 *     ▸ the write-ahead log emptied ▸ where else the same words are (in turns)
 *
 * The entry that says so is durable before the body is overwritten; a start finishes what a crash interrupted there.
 *
 * The entry itself stays, with the hash of what is gone: proofs stay valid.
 *
 * Reads and writes through the stores.
 */
import { setImmediate } from 'node:timers/promises'
import type { Database } from '../core/database-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { BODY_ERASED } from './group.ts'
import type { CachedRow } from './finding.ts'
import { decodeEntry, isSequence } from './entry.ts'
import type { AppendReceipt, LedgerEvent, StoredEntry } from './entry.ts'
import { flushWriteAheadLog, findTablesWith } from './ledger-store.ts'
import type { LogStore } from './log-store.ts'
import type { EraseFault } from './refusal.ts'
import { findWords, createWordFinder, listBodyWords } from './word-search.ts'

/** What the entry of an erasure says beside which words are gone. It stays for good. */
export interface ErasureNote {
  readonly reason?: string
  readonly by?: string
}

export interface ErasureResult extends AppendReceipt {
  /** Rows that showed the words, and show none any more. */
  readonly blanked: readonly CachedRow[]
  /** Entries whose bodies still have one of the words. */
  readonly also: readonly number[]
  /** Entries that have one themselves, where it stays for good. */
  readonly stays: readonly number[]
  /** Tables beside the log that have one. */
  readonly tables: readonly string[]
}

export interface EraseParts {
  readonly database: Database
  readonly log: LogStore
  readonly showing: readonly CachedRow[]
  /** Why the words have to stay for now, in a sentence. */
  readonly holds: () => string | undefined
  /** Inside the transaction. */
  readonly appendIn: (event: LedgerEvent) => AppendReceipt
}

export async function eraseBody(
  { entry }: StoredEntry,
  told: ErasureNote,
  { database, log, showing, holds, appendIn }: EraseParts,
): Promise<Result<ErasureResult, EraseFault>> {
  const { seq } = entry
  const words = listBodyWords(log.body(seq)?.body ?? new Uint8Array(0))
  const erased = await database.commit((): Result<Omit<ErasureResult, 'also' | 'stays' | 'tables'>, EraseFault> => {
    const refusal = holds()
    if (refusal !== undefined) return fail({ kind: 'words-in-use', reason: refusal })
    if (log.body(seq) === undefined) return fail({ kind: 'nothing-to-erase', seq, erased: isBodyGone(log, seq) })
    return ok({ ...appendIn({ kind: BODY_ERASED, entry: seq, ...told }), blanked: showing })
  })
  if (!erased.ok) return erased
  log.wipeBody(seq)
  await database.view(flushWriteAheadLog)
  const tables = words.length === 0 ? [] : findTablesWith(database.sql, createWordFinder(words))
  const search = findWords(log, words)
  for (let step = search.next(); ; step = search.next()) {
    if (step.done === true) return ok({ ...erased.value, also: step.value.bodies, stays: step.value.entries, tables })
    await setImmediate()
  }
}

/** Overwrites the bodies that an entry of the tail says were erased, where a crash came between the two. */
export function finishErasures(log: LogStore): void {
  for (const { bytes } of log.entries(log.tailFirst, log.size - log.tailFirst)) {
    if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(ERASURE)) continue
    const decoded = decodeEntry(bytes)
    const entry = decoded.ok && decoded.value.kind === BODY_ERASED ? decoded.value['entry'] : undefined
    if (isSequence(entry) && log.body(entry) !== undefined) log.wipeBody(entry)
  }
}

const ERASURE = `"kind":"${BODY_ERASED}"`

/** Whether the entry commits to a body that is not there any more. */
export function isBodyGone(log: Pick<LogStore, 'entry' | 'body'>, seq: number): boolean {
  const entry = log.entry(seq)
  const decoded = entry && decodeEntry(entry.bytes)
  return decoded?.ok === true && decoded.value['body_hash'] !== undefined && log.body(seq) === undefined
}
