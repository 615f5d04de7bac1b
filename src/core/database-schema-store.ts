/**
 * Database schema: whether the tables, indexes, views and triggers of a file are those that this program makes, all of
 * them and no others. A trigger that somebody planted would act inside our own transactions.
 */
import { DatabaseSync } from 'node:sqlite'
import type { ModuleMigrations } from './database-store.ts'

/** SQLite's own, which it makes and drops by itself. */
const OWN = new Set(['sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4'])

/**
 * Names of what was changed, added or removed. Each module's tables are held against the steps that it says it had, so
 * that a file which was not brought up to date yet can be checked before anything is done to it.
 */
export function findAlteredSchema(sql: DatabaseSync, migrations: readonly ModuleMigrations[]): readonly string[] {
  const found = schemaOf(sql)
  // A new file: everything in it is still to be made.
  if (found.size === 0) return []
  const taken = new Map(
    found.has('room_version')
      ? sql
          .prepare('SELECT room, version FROM room_version')
          .all()
          .map((row) => [String(row['room']), Number(row['version'])])
      : [],
  )
  const made = new DatabaseSync(':memory:')
  try {
    made.exec(MODULE_VERSION_TABLE_SQL)
    for (const { room, steps } of migrations) for (const step of steps.slice(0, taken.get(room) ?? 0)) made.exec(step)
    const expected = schemaOf(made)
    return [...new Set([...expected.keys(), ...found.keys()])]
      .filter((name) => expected.get(name) !== found.get(name))
      .toSorted()
  } finally {
    made.close()
  }
}

/** How far each module has come. */
export const MODULE_VERSION_TABLE_SQL =
  'CREATE TABLE IF NOT EXISTS room_version (room TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT'

function schemaOf(sql: DatabaseSync): ReadonlyMap<string, string> {
  const rows = sql.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema').all()
  return new Map(
    rows
      .filter(({ name }) => !OWN.has(String(name)))
      .map(({ type, name, tbl_name: table, sql: text }) => [String(name), JSON.stringify([type, table, text])]),
  )
}
