/**
 * Lookup schema: the tables of the cache of lookups, and the opening of its file for writing. A file with anything else
 * in it is made anew, because every row can be read from the log again.
 */
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { readRowsRoundingUnsafeIntegers } from '../core/sqlite-row-store.ts'

const FORMAT = 4

/** A cache that cannot be read, or has another format, is made anew. */
export function openLookupCache(path: string): DatabaseSync {
  try {
    const sql = prepareCache(path)
    if (sql !== undefined) return sql
  } catch {
    // The cache is opened again below.
  }
  for (const rest of ['', '-wal', '-shm']) rmSync(`${path}${rest}`, { force: true })
  const sql = prepareCache(path)
  if (sql === undefined) throw new Error(`${path} cannot be made`)
  return sql
}

function prepareCache(path: string): DatabaseSync | undefined {
  const sql = new DatabaseSync(path)
  sql.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  const format = Number(sql.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
  if (format === FORMAT && isOwnSchema(sql) && hasSize(sql)) return sql
  if (format !== 0) {
    sql.close()
    return undefined
  }
  sql.exec(`BEGIN; ${SCHEMA} INSERT INTO applied VALUES (0); PRAGMA user_version = ${FORMAT}; COMMIT`)
  return sql
}

/** How many entries the rows cover. */
export function readCoveredSize(sql: DatabaseSync): number {
  return Number(sql.prepare('SELECT size FROM applied').get()?.['size'] ?? 0)
}

/** Whether the table of sizes has exactly one row, with a valid number of entries. */
function hasSize(sql: DatabaseSync): boolean {
  const sizes = readRowsRoundingUnsafeIntegers(sql.prepare('SELECT size FROM applied LIMIT 2')).map(({ size }) =>
    Number(size),
  )
  return sizes.length === 1 && sizes.every((size) => Number.isSafeInteger(size) && size >= 0)
}

/** A trigger that another program planted could keep rows from being written. */
function isOwnSchema(sql: DatabaseSync): boolean {
  const schema = (of: DatabaseSync): string =>
    JSON.stringify(of.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name, type').all())
  const made = new DatabaseSync(':memory:')
  try {
    made.exec(SCHEMA)
    return schema(sql) === schema(made)
  } finally {
    made.close()
  }
}

const SCHEMA = `
  CREATE TABLE applied (size INTEGER NOT NULL) STRICT;
  CREATE TABLE lookup (
    seq INTEGER PRIMARY KEY,
    listed INTEGER NOT NULL,
    opens INTEGER NOT NULL,
    trace_id TEXT,
    task_id TEXT,
    session_id TEXT,
    about TEXT,
    changed_at TEXT,
    ended INTEGER,
    late INTEGER
  ) STRICT;
  CREATE INDEX lookup_trace ON lookup (trace_id) WHERE trace_id IS NOT NULL;
  CREATE INDEX lookup_task ON lookup (task_id) WHERE task_id IS NOT NULL;
  CREATE INDEX lookup_session ON lookup (session_id) WHERE session_id IS NOT NULL;
  CREATE INDEX lookup_about ON lookup (about) WHERE about IS NOT NULL;
  CREATE INDEX lookup_change ON lookup (changed_at) WHERE changed_at IS NOT NULL;
  CREATE INDEX lookup_open ON lookup (seq) WHERE opens = 1 AND ended IS NULL;`
