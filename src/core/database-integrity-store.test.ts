import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findDatabaseDefects } from './database-integrity-store.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'integrity-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A table with an index; who takes an index for another one leaves the rows as they were. */
function createDatabase(name: string, rows: number, isDefective: boolean): string {
  const path = join(folder, name)
  const sql = new DatabaseSync(path)
  sql.exec(`CREATE TABLE pair (one TEXT, other TEXT) STRICT;
    WITH RECURSIVE number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < ${rows})
      INSERT INTO pair SELECT 'one ' || n, 'other ' || -n FROM number;
    CREATE INDEX by_one ON pair (one)`)
  if (isDefective) {
    sql.enableDefensive(false)
    sql.exec(`PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX by_one ON pair (other)'
      WHERE name = 'by_one'; PRAGMA writable_schema = RESET`)
  }
  sql.close()
  return path
}

// 40,000 rows are more than two megabytes.
describe.each([4, 40_000])('a database of %i rows', (rows) => {
  it('without damage has no defects', async () => {
    expect(await findDatabaseDefects(createDatabase(`sound-${rows}.db`, rows, false))).toEqual([])
  })

  it('has a defect when an index does not match its table', async () => {
    const defects = await findDatabaseDefects(createDatabase(`other-${rows}.db`, rows, true))
    expect(defects).toContain('row 1 missing from index by_one')
    expect(defects.length).toBeLessThanOrEqual(64)
  })
})

it('a file that is not a database is refused with the reason', async () => {
  const path = join(folder, 'text.db')
  writeFileSync(path, 'These are no pages. '.repeat(100))
  await expect(findDatabaseDefects(path)).rejects.toThrow('file is not a database')
})
