/**
 * Erasure: erases the body of one entry for good, with the rows that show it.
 *
 *   transaction { refused? ▸ entry about the erasure ▸ rows made from the body are blanked } ▸ body overwritten
 *     ▸ write-ahead log emptied ▸ search for the same texts elsewhere (in pieces)
 *
 * The entry about the erasure is durable before the body is overwritten. If a crash comes in between, the next start
 * overwrites the body; so it does with a body that another program put back.
 *
 * Another program may have removed the body, or put another one in its place. The erasure is recorded all the same, says
 * so (`altered`), and holds for whatever stands there later; but the texts of the entry may then be elsewhere.
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
import { isSequenceNumber } from './entry.ts'
import type { AppendReceipt, LedgerEvent, StoredEntry } from './entry.ts'
import type { BodyState } from './ledger-reader.ts'
import { flushWriteAheadLog, findTablesContainingText } from './ledger-tables-store.ts'
import type { LogStore } from './log-store.ts'
import type { EraseFault } from './ledger-operation-fault.ts'
import { UndoableStateMap } from './projection.ts'
import type { Projection, ProjectionSet } from './projection.ts'
import { findTextsInLedger, createAnyWordPredicate, listHumanTextsInBody } from './word-search.ts'
import type { WordPlaces } from './word-search.ts'

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
  /** Entries, this one among them, whose stored body is not the committed one: what they say could not be searched. */
  readonly altered: readonly number[]
}

/** The entries whose bodies were erased, as the log says. */
export interface ErasureState {
  readonly erased: UndoableStateMap<number>
}

export const erasureProjection: Projection<ErasureState> = {
  name: 'erasures',
  initial: (journal) => ({ erased: new UndoableStateMap(journal) }),
  apply: {
    // Whether there was such a body is checked where bodies are read (entry-body-verification.ts).
    [BODY_ERASED_KIND]: ({ erased }, { entry }) => {
      if (isSequenceNumber(entry)) erased.set(String(entry), entry)
      return undefined
    },
  },
}

export interface ErasureDependencies {
  readonly database: Database
  readonly clock: Clock
  readonly log: LogStore
  readonly body: (seq: number) => BodyState
  /** The states that may still need the body. */
  readonly projections: ProjectionSet
  /** Tables that copy what entries say. */
  readonly caches?: readonly EntryCacheDefinition[]
  /** Call inside the transaction. */
  readonly appendIn: (event: LedgerEvent) => AppendReceipt
}

export async function eraseEntryBody(
  { entry }: StoredEntry,
  statement: ErasureStatement,
  { database, clock, log, body, projections, caches = [], appendIn }: ErasureDependencies,
): Promise<Result<ErasureResult, EraseFault>> {
  const { seq } = entry
  const blanked = caches.flatMap((cache) => cache.showing(entry))
  const words = listHumanTextsInBody(log.body(seq)?.body ?? new Uint8Array(0))
  type Recorded = Pick<ErasureResult, 'blanked' | 'seq' | 'at' | 'leafHash' | 'altered'>
  const erased = await database.commit((): Result<Recorded, EraseFault> => {
    const refusal = projections.holds(entry, clock.now())
    if (refusal !== undefined) return fail({ kind: 'words-in-use', reason: refusal })
    const { kind } = body(seq)
    if (kind === 'none' || kind === 'erased') return fail({ kind: 'nothing-to-erase', seq, erased: kind === 'erased' })
    const altered = kind === 'altered'
    const receipt = appendIn({ kind: BODY_ERASED_KIND, entry: seq, ...statement, ...(altered ? { altered } : {}) })
    return ok({ ...receipt, blanked, altered: altered ? [seq] : [] })
  })
  if (!erased.ok) {
    // Another program may have put it back.
    if (erased.fault.kind === 'nothing-to-erase' && erased.fault.erased) wipeIfStored(log, seq)
    return erased
  }
  log.wipeBody(seq)
  await database.view(flushWriteAheadLog)
  const tables = words.length === 0 ? [] : findTablesContainingText(database.sql, createAnyWordPredicate(words))
  const isAltered = (other: number): boolean => body(other).kind === 'altered'
  const search = findTextsInLedger({ ...placesOf(log), isAltered }, words)
  for (let step = search.next(); ; step = search.next()) {
    if (step.done === true) {
      const { bodies, entries, altered } = step.value
      return ok({
        ...erased.value,
        also: bodies,
        stays: entries,
        tables,
        altered: [...erased.value.altered, ...altered],
      })
    }
    await setImmediate()
  }
}

/** Overwrites the bodies whose erasure is on record and that a crash left in place, or another program put back. */
export function wipeErasedBodies(log: LogStore, { erased }: ErasureState): void {
  for (const seq of erased.values()) wipeIfStored(log, seq)
}

function wipeIfStored(log: LogStore, seq: number): void {
  if (log.body(seq) !== undefined) log.wipeBody(seq)
}

function placesOf(log: LogStore): Pick<WordPlaces, 'size' | 'body' | 'entry'> {
  return { size: log.size, body: (seq) => log.body(seq), entry: (seq) => log.entry(seq) }
}
