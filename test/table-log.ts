/**
 * Table log: a log in one plain table, for modules that only need to record and to read again what they recorded. It
 * has no tree and no signatures.
 */
import type { Clock } from '../src/core/clock.ts'
import type { Database } from '../src/core/database-store.ts'
import type { Json } from '../src/core/json.ts'
import { createLedgerEntry } from '../src/ledger/entry.ts'
import type { LedgerEntry, LedgerEvent } from '../src/ledger/entry.ts'
import { ProjectionSet } from '../src/ledger/projection.ts'
import type { ProjectionLogWriter } from '../src/ledger/projection-log.ts'

export const LOG_TABLE = {
  module: 'test-log',
  steps: ['CREATE TABLE test_event (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, event TEXT NOT NULL, body TEXT) STRICT'],
}

/** What a test writes in the place of a body, to change it behind the log's back. */
export const ALTERED_BODY = 'altered'

/** `introduced` are events from before the first one, which readers of the table pass over. */
export function tableLog(
  database: Database,
  clock: Pick<Clock, 'now'>,
  introduced: readonly LedgerEvent[] = [],
): ProjectionLogWriter {
  const projections = new ProjectionSet(() => storedEntries(database))
  database.follow(projections.follower)
  const insert = database.sql.prepare('INSERT INTO test_event VALUES (?, ?, ?, ?)')
  const newest = database.sql.prepare('SELECT max(seq) AS last FROM test_event')
  const bodyOf = database.sql.prepare('SELECT body FROM test_event WHERE seq = ?')
  const append = (event: LedgerEvent, body: Json | undefined, seq: number): void => {
    const at = new Date(clock.now()).toISOString()
    const entry = createLedgerEntry(event, { seq, at, bodyHash: body === undefined ? undefined : 'committed' })
    if (projections.handles(entry.kind)) projections.append(entry)
    insert.run(seq, at, JSON.stringify(event), body === undefined ? null : JSON.stringify(body))
  }
  const last = (): number => Number(newest.get()?.['last'] ?? 0)
  if (database.sql.prepare('SELECT 1 FROM test_event').get() === undefined)
    introduced.forEach((event, index) => append(event, undefined, index - introduced.length + 1))
  return {
    projections,
    appendIn: (event, body) => {
      if (!database.sql.isTransaction) throw new Error('appendIn outside of a transaction')
      const seq = last() + 1
      append(event, body, seq)
      return { seq }
    },
    body: (seq) => {
      const text = bodyOf.get(seq)?.['body']
      // Text that somebody else wrote there.
      if (text === ALTERED_BODY) return { kind: 'altered' }
      return typeof text === 'string' ? { kind: 'kept', body: JSON.parse(text) as Json } : { kind: 'none' }
    },
  }
}

function storedEntries(database: Database): readonly LedgerEntry[] {
  return database.sql
    .prepare('SELECT * FROM test_event ORDER BY seq')
    .all()
    .map((row) =>
      createLedgerEntry(JSON.parse(String(row['event'])) as LedgerEvent, {
        seq: Number(row['seq']),
        at: String(row['at']),
        bodyHash: row['body'] === null ? undefined : 'committed',
      }),
    )
}
