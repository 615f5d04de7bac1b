/**
 * Transaction: one durable step of the guard. What it changes and what the ledger says about it are one; whoever
 * listens hears of it only when it is on the disk.
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Json } from '../core/json.ts'
import type { LedgerEvent } from '../ledger/entry.ts'

/** The ledger as the guard needs it. `appendIn` belongs inside a work given to `Database.commit`. */
export interface EventLog {
  readonly appendIn: (event: LedgerEvent, body?: Json) => { readonly seq: number }
}

export interface Transaction {
  readonly sql: DatabaseSync
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
    const value = await database.commit((sql) =>
      work({
        sql,
        nowMs: clock.now(),
        record: (event, body) => log.appendIn(event, body).seq,
        afterwards: (effect) => effects.push(effect),
      }),
    )
    for (const effect of effects) effect()
    return value
  }
}
