import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { findAlteredSchema } from './database-schema-check-store.ts'
import { Database, SchemaAlteredError } from './database-store.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const migrations = [
  { module: 'one', steps: ['CREATE TABLE a (x TEXT) STRICT', 'CREATE INDEX a_x ON a (x)'] },
  { module: 'two', steps: ['CREATE TABLE b (y INTEGER PRIMARY KEY AUTOINCREMENT) STRICT'] },
]

function isRefused(path: string): boolean {
  try {
    new Database({ path, migrations, isWhole: true }).close()
    return false
  } catch (error) {
    return error instanceof SchemaAlteredError
  }
}

describe('database schema check', () => {
  it.each<[string, readonly string[]]>([
    ['SELECT 1', []],
    ['INSERT INTO b DEFAULT VALUES; ANALYZE', []],
    ['CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; END', ['t']],
    ['CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; END', []],
    ['CREATE TABLE c (z TEXT)', ['c']],
    ['CREATE VIEW v AS SELECT * FROM a', ['v']],
    ['DROP INDEX a_x', ['a_x']],
    ['DROP INDEX a_x; CREATE INDEX a_x ON a (x DESC)', ['a_x']],
    ['ALTER TABLE a ADD COLUMN w TEXT', ['a']],
    ['DROP TABLE b', ['b']],
    [`UPDATE room_version SET version = 1 WHERE room = 'one'`, ['a_x']],
  ])('after %j reports the objects %j', (sql, names) => {
    const folder = mkdtempSync(join(tmpdir(), 'hearthbus-schema-'))
    const path = join(folder, 'a.db')
    try {
      new Database({ path, migrations }).close()
      const file = new DatabaseSync(path)
      file.exec(sql)
      expect(findAlteredSchema(file, migrations)).toEqual(names)
      file.close()
      expect(isRefused(path)).toBe(names.length > 0)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('compares a database with pending migrations with the steps it already has', () => {
    const sql = new DatabaseSync(':memory:')
    sql.exec(`CREATE TABLE room_version (room TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;
      INSERT INTO room_version VALUES ('one', 1); CREATE TABLE a (x TEXT) STRICT`)
    expect(findAlteredSchema(sql, migrations)).toEqual([])
    sql.close()
  })
})
