/**
 * Transaction: one durable step of the guard. What is recorded and what follows from it are one; whoever listens hears
 * of it only when it is on the disk.
 *
 * Does I/O.
 */
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { LedgerEvent } from '../ledger/entry.ts'
import type { BodyState } from '../ledger/ledger.ts'
import type { Projections } from '../ledger/projection.ts'

/** The ledger as the guard needs it. `appendIn` belongs inside a work given to `Database.commit`. */
export interface EventLog {
  readonly appendIn: (event: LedgerEvent, body?: Json) => { readonly seq: number }
  readonly body: (seq: number) => BodyState
  readonly projections: Projections
}

export interface Transaction {
  /** One wall-clock time for the whole step. */
  readonly nowMs: number
  /** The sequence number of the event. `body` is kept beside the log and can be erased. */
  readonly record: (event: LedgerEvent, body?: Json) => number
  /** Runs once the step is durable, and never when it is undone. */
  readonly afterwards: (effect: () => void) => void
}

export type Transact = <Value>(work: (transaction: Transaction) => Value) => Promise<Value>

export function createTransact(options: {
  readonly database: Database
  readonly log: EventLog
  readonly clock: Clock
}): Transact {
  const { database, log, clock } = options
  return async (work) => {
    const effects: (() => void)[] = []
    const value = await database.commit(() =>
      work({
        nowMs: clock.now(),
        record: (event, body) => log.appendIn(event, body).seq,
        afterwards: (effect) => effects.push(effect),
      }),
    )
    for (const effect of effects) effect()
    return value
  }
}

/** The words of an entry; `undefined` when they were erased, or are not those that the entry commits to. */
export function wordsOf(log: Pick<EventLog, 'body'>, seq: number | undefined): JsonObject | undefined {
  const state = seq === undefined ? undefined : log.body(seq)
  return state?.kind === 'kept' && isJsonObject(state.body) ? state.body : undefined
}

/** A time as entries spell it. */
export function isoOf(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
