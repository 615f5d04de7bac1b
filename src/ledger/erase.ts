/**
 * Erase: forgets the words of one entry, and what other rooms have from them in their tables, for good.
 *
 *   look (in turns) ▸ transaction { refused? ▸ look at what came meanwhile ▸ rows blank ▸ entry says so } ▸ body
 *     overwritten ▸ the write-ahead log emptied ▸ where else the same words are (in turns)
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
import { BODY_ERASED } from './body.ts'
import { bodyIsGone } from './copies.ts'
import type { Copies, CopyName } from './copies.ts'
import { decodeEntry, isSequence } from './entry.ts'
import type { Appended, LedgerEvent, StoredEntry } from './entry.ts'
import { flushWriteAheadLog } from './ledger-store.ts'
import type { LogStore } from './log-store.ts'
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
  readonly log: LogStore
  readonly copies: readonly Copies[]
  /** Inside the transaction. */
  readonly appendIn: (event: LedgerEvent) => Appended
}

export async function eraseBody(
  { entry }: StoredEntry,
  told: ErasureNote,
  { database, log, copies, appendIn }: EraseParts,
): Promise<Result<Erased, EraseFault>> {
  const { seq } = entry
  const erasers = copies.flatMap((copy) => copy.eraser?.(entry, log) ?? [])
  // Most of it before the transaction, with turns for everybody else; in it, only what came meanwhile.
  for (const eraser of erasers) while (eraser.look?.() === true) await setImmediate()
  const phrases = phrasesIn(log.body(seq)?.body ?? new Uint8Array(0))
  const erased = await database.commit((): Result<Omit<Erased, 'also'>, EraseFault> => {
    const refusal = erasers.map((eraser) => eraser.refusal?.()).find((reason) => reason !== undefined)
    if (refusal !== undefined) return fail({ kind: 'words-in-use', reason: refusal })
    if (log.body(seq) === undefined) return fail({ kind: 'nothing-to-erase', seq, erased: bodyIsGone(log, seq) })
    for (const eraser of erasers) while (eraser.look?.() === true);
    const blanked = erasers.flatMap((eraser) => eraser.blank())
    return ok({ ...appendIn({ kind: BODY_ERASED, entry: seq, ...told }), blanked })
  })
  if (!erased.ok) return erased
  log.wipeBody(seq)
  await database.view(flushWriteAheadLog)
  const search = entriesWith(log, phrases)
  for (let step = search.next(); ; step = search.next()) {
    if (step.done === true) return ok({ ...erased.value, also: step.value })
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
