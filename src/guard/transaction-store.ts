/**
 * Transaction: one durable step of the guard. What is recorded and what follows from it are one; whoever listens hears
 * of it only when it is on the disk.
 */
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Json } from '../core/json.ts'
import type { LedgerEvent } from '../ledger/entry.ts'
import type { ProjectionLog } from '../ledger/state-log.ts'

export interface Transaction {
  /** One wall-clock time for the whole step. */
  readonly nowMs: number
  /** The sequence number of the event. `body` is kept beside the log and can be erased. */
  readonly record: (event: LedgerEvent, body?: Json) => number
  /** Runs once the step is durable, and never when it is undone. */
  readonly afterwards: (effect: () => void) => void
}

export type TransactionRunner = <Value>(work: (transaction: Transaction) => Value) => Promise<Value>

export function createTransactionRunner(options: {
  readonly database: Database
  readonly log: ProjectionLog
  readonly clock: Clock
}): TransactionRunner {
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
