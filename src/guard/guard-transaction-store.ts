/**
 * Guard transaction: one durable step of the guard. The entry and what follows from it are written together; listeners
 * are called only when it is on the disk.
 */
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Json } from '../core/json.ts'
import type { LedgerEvent } from '../ledger/entry.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'

export interface GuardTransaction {
  /** One wall-clock time for the whole step. */
  readonly nowMs: number
  /** The sequence number of the event. `body` is kept beside the log and can be erased. */
  readonly record: (event: LedgerEvent, body?: Json) => number
  /** Runs once the step is durable, and never when it is undone. */
  readonly afterwards: (effect: () => void) => void
}

export type GuardTransactionRunner = <Value>(work: (transaction: GuardTransaction) => Value) => Promise<Value>

export function createGuardTransactionRunner(options: {
  readonly database: Database
  readonly log: ProjectionLogWriter
  readonly clock: Clock
}): GuardTransactionRunner {
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
