/**
 * Ledger tables: what the ledger stores in the node's database, beside the log: how far the tables have followed the
 * log, and the checkpoints that were signed, with the keys of the witnesses that cosigned them.
 */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { requireRegularFile } from '../core/bounded-file-store.ts'
import { toUtf8 } from '../core/bytes.ts'
import type { ModuleMigrations } from '../core/database-store.ts'

export const ledgerMigrations: ModuleMigrations = {
  module: 'log',
  steps: [
    `
    CREATE TABLE ledger_applied (one INTEGER PRIMARY KEY CHECK (one = 1), size INTEGER NOT NULL) STRICT;
    INSERT INTO ledger_applied VALUES (1, 0);
    CREATE TABLE ledger_checkpoint (size INTEGER PRIMARY KEY, cosignatures INTEGER NOT NULL, note TEXT NOT NULL) STRICT;
    CREATE TABLE ledger_witness (vkey TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    `,
  ],
}

/** The number of entries up to the last group that changed rows. Tables with a smaller number missed some entries. */
export function readAppliedEntryCount(sql: DatabaseSync): number {
  return Number(sql.prepare('SELECT size FROM ledger_applied WHERE one = 1').get()?.['size'] ?? 0)
}

/** Call inside the transaction of the group. */
export function writeAppliedEntryCount(sql: DatabaseSync, size: number): void {
  sql.prepare('UPDATE ledger_applied SET size = ? WHERE one = 1').run(size)
}

/** Why a database of an older format cannot be used; `undefined` for any other. */
export function explainOutdatedLedgerFormat(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  requireRegularFile(path)
  const sql = new DatabaseSync(path, { readOnly: true })
  try {
    const isOld = sql.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'ledger_entry'").get() !== undefined
    return isOld
      ? `${path} holds a ledger in tables, as Hearthbus wrote it before the log was kept in files. Export it with the version that wrote it (hearthbus ledger export FOLDER), keep that folder, and start this version in an empty data directory.`
      : undefined
  } finally {
    sql.close()
  }
}

/** Tables outside the ledger with a text for which `isFound` returns true. */
export function findTablesContainingText(sql: DatabaseSync, isFound: (json: Uint8Array) => boolean): readonly string[] {
  const names = sql.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'ledger@_%' ESCAPE '@' AND name NOT LIKE 'sqlite@_%' ESCAPE '@'",
  )
  return names
    .all()
    .map(({ name }) => String(name))
    .filter((name) => {
      const rows = sql.prepare(`SELECT * FROM "${name}"`)
      rows.setReadBigInts(true)
      for (const row of rows.iterate())
        if (Object.values(row).some((value) => typeof value === 'string' && isFound(toUtf8(JSON.stringify(value)))))
          return true
      return false
    })
}

/**
 * Empties the write-ahead log into the file, so that it no longer contains what was erased. Call outside a transaction.
 * While another process is reading, this is left to SQLite's next checkpoint: waiting would block the whole node.
 */
export function flushWriteAheadLog(sql: DatabaseSync): void {
  const waitMs = Number(sql.prepare('PRAGMA busy_timeout').get()?.['timeout'] ?? 0)
  sql.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)')
  sql.exec(`PRAGMA busy_timeout = ${waitMs}`)
}
