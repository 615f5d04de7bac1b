/**
 * Database schema check: whether the tables, indexes, views and triggers of a file are those that this program makes,
 * all of them and no others. A trigger that somebody added would run inside our own transactions.
 */
import { DatabaseSync } from 'node:sqlite'
import type { ModuleMigrations } from './database-store.ts'

/** SQLite's own tables, which it makes and drops by itself. */
const OWN = new Set([
  'CREATE TABLE sqlite_sequence(name,seq)',
  'CREATE TABLE sqlite_stat1(tbl,idx,stat)',
  'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)',
])

/**
 * Names of what was changed, added or removed. Each module's tables are compared with the migrations that it has
 * recorded, so that an older file can be checked before it is migrated.
 */
export function findAlteredSchema(sql: DatabaseSync, migrations: readonly ModuleMigrations[]): readonly string[] {
  const found = schemaOf(sql)
  // A new file: nothing has been created yet.
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
    for (const { module, steps } of migrations)
      for (const step of steps.slice(0, taken.get(module) ?? 0)) made.exec(step)
    const expected = schemaOf(made)
    const modules = new Set(migrations.map(({ module }) => module))
    const unknownRows = [...taken.keys()]
      .filter((module) => !modules.has(module))
      .map((module) => `room_version ${module}`)
    return [...new Set([...expected.keys(), ...found.keys()])]
      .filter((name) => expected.get(name)?.toString() !== found.get(name)?.toString())
      .concat(unknownRows)
      .toSorted()
  } finally {
    made.close()
  }
}

/** The number of migrations that each module has applied. */
export const MODULE_VERSION_TABLE_SQL =
  'CREATE TABLE IF NOT EXISTS room_version (room TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT'

/** The SQL of everything in the file, by name. Several things may have one name, such as a table and a trigger. */
function schemaOf(sql: DatabaseSync): ReadonlyMap<string, readonly string[]> {
  const rows = sql.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema').all()
  const own = rows.filter(({ type, sql: text }) => type !== 'table' || !OWN.has(String(text)))
  const named = Map.groupBy(own, ({ name }) => String(name))
  return new Map(
    [...named].map(([name, same]) => [
      name,
      same.map(({ type, tbl_name: table, sql: text }) => JSON.stringify([type, table, text])).toSorted(),
    ]),
  )
}
