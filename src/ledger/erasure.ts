/**
 * Erasure: erases the body of one entry for good, with the rows that show it.
 *
 *   transaction { refused? ▸ entry about the erasure ▸ rows made from the body are blanked } ▸ body overwritten
 *     ▸ write-ahead log emptied ▸ search for the same texts elsewhere (in pieces)
 *
 * The entry about the erasure is durable before the body is overwritten. If a crash comes in between, the next start
 * overwrites the body.
 *
 * The entry itself stays, with the hash of what is gone: proofs stay valid.
 *
 * Reads and writes through the stores.
 */
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { EntryCacheDefinition } from './entry-cache-store.ts'
import { BODY_ERASED_KIND } from './entry-group.ts'
import type { TableRowReference } from './ledger-finding.ts'
import { decodeEntry, isSequenceNumber } from './entry.ts'
import type { AppendReceipt, LedgerEvent, StoredEntry } from './entry.ts'
import { flushWriteAheadLog, findTablesContainingText } from './ledger-tables-store.ts'
import type { LogStore } from './log-store.ts'
import type { EraseFault } from './ledger-operation-fault.ts'
import type { ProjectionSet } from './projection.ts'
import { findTextsInLedger, createAnyWordPredicate, listHumanTextsInBody } from './word-search.ts'

/** What the entry of an erasure says besides which body was erased. These fields stay for good. */
export interface ErasureStatement {
  readonly reason?: string
  readonly by?: string
}

export interface ErasureResult extends AppendReceipt {
  /** Rows that showed the text, and no longer do. */
  readonly blanked: readonly TableRowReference[]
  /** Entries whose bodies still contain one of the texts. */
  readonly also: readonly number[]
  /** Entries that contain one of the texts themselves; they can never be erased. */
  readonly stays: readonly number[]
  /** Tables beside the log that contain one. */
  readonly tables: readonly string[]
}

export interface ErasureDependencies {
  readonly database: Database
  readonly clock: Clock
  readonly log: LogStore
  /** The states that may still need the body. */
  readonly projections: ProjectionSet
  /** Tables that copy what entries say. */
  readonly caches?: readonly EntryCacheDefinition[]
  /** Call inside the transaction. */
  readonly appendIn: (event: LedgerEvent) => AppendReceipt
}

export async function eraseEntryBody(
  { entry }: StoredEntry,
  told: ErasureStatement,
  { database, clock, log, projections, caches = [], appendIn }: ErasureDependencies,
): Promise<Result<ErasureResult, EraseFault>> {
  const { seq } = entry
  const blanked = caches.flatMap((cache) => cache.showing(entry))
  const words = listHumanTextsInBody(log.body(seq)?.body ?? new Uint8Array(0))
  const erased = await database.commit((): Result<Omit<ErasureResult, 'also' | 'stays' | 'tables'>, EraseFault> => {
    const refusal = projections.holds(entry, clock.now())
    if (refusal !== undefined) return fail({ kind: 'words-in-use', reason: refusal })
    if (log.body(seq) === undefined) return fail({ kind: 'nothing-to-erase', seq, erased: isBodyErased(log, seq) })
    return ok({ ...appendIn({ kind: BODY_ERASED_KIND, entry: seq, ...told }), blanked })
  })
  if (!erased.ok) return erased
  log.wipeBody(seq)
  await database.view(flushWriteAheadLog)
  const tables = words.length === 0 ? [] : findTablesContainingText(database.sql, createAnyWordPredicate(words))
  const search = findTextsInLedger(log, words)
  for (let step = search.next(); ; step = search.next()) {
    if (step.done === true) return ok({ ...erased.value, also: step.value.bodies, stays: step.value.entries, tables })
    await setImmediate()
  }
}

/** Overwrites the bodies whose erasure is recorded in the tail and that a crash left in place. */
export function finishInterruptedErasures(log: LogStore): void {
  for (const { bytes } of log.entries(log.tailFirst, log.size - log.tailFirst)) {
    if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(ERASURE)) continue
    const decoded = decodeEntry(bytes)
    const entry = decoded.ok && decoded.value.kind === BODY_ERASED_KIND ? decoded.value['entry'] : undefined
    if (isSequenceNumber(entry) && log.body(entry) !== undefined) log.wipeBody(entry)
  }
}

const ERASURE = `"kind":"${BODY_ERASED_KIND}"`

/** Whether the entry commits to a body that is no longer stored. */
export function isBodyErased(log: Pick<LogStore, 'entry' | 'body'>, seq: number): boolean {
  const entry = log.entry(seq)
  const decoded = entry && decodeEntry(entry.bytes)
  return decoded?.ok === true && decoded.value['body_hash'] !== undefined && log.body(seq) === undefined
}
