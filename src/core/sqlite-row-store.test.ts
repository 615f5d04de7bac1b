import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { isUnsafeIntegerError, readRowsRoundingUnsafeIntegers } from './sqlite-row-store.ts'

describe('rows with an integer beyond 2^53', () => {
  it('are read with the integer rounded, and later reads are unaffected', () => {
    const sql = new DatabaseSync(':memory:')
    sql.exec('CREATE TABLE t (a INTEGER, b TEXT) STRICT; INSERT INTO t VALUES (1, NULL), (9007199254740993, 2)')
    const all = sql.prepare('SELECT * FROM t')
    expect(() => all.all()).toThrow(expect.toSatisfy(isUnsafeIntegerError))
    expect(readRowsRoundingUnsafeIntegers(all)).toEqual([
      { a: 1, b: null },
      { a: 9007199254740992, b: '2' },
    ])
    sql.exec('DELETE FROM t WHERE a > 1')
    expect(readRowsRoundingUnsafeIntegers(all)).toEqual([{ a: 1, b: null }])
    sql.close()
  })
})
