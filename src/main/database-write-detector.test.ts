import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { silentLogger } from '../core/logger.ts'
import { createForeignDatabaseWriteDetector } from './database-write-detector.ts'
import type { ForeignDatabaseWriteDetector } from './database-write-detector.ts'

let fixture: LedgerFixture
beforeEach(async () => {
  fixture = await LedgerFixture.open()
  await fixture.ledger.append({ kind: 'call.enter', tool: 'a' })
})
afterEach(() => fixture.remove())

function detector(): ForeignDatabaseWriteDetector {
  const { database, ledger } = fixture
  return createForeignDatabaseWriteDetector({ database, ledger, migrations: [], logger: silentLogger })
}

function kinds(): readonly string[] {
  return fixture.ledger.entries(0, 100).map(({ entry }) => entry.kind)
}

function write(path: string, sql: string): void {
  const file = new DatabaseSync(path)
  file.exec(sql)
  file.close()
}

describe('foreign database write detector', () => {
  it('records nothing for the writes of its own process', async () => {
    await fixture.database.commit((sql) => sql.exec("INSERT INTO domain VALUES ('a')"))
    fixture.ledger.changes({ since: '', before: { at: '9', seq: 9 }, limit: 9 })
    await detector()()
    expect(kinds()).toEqual(['call.enter'])
  })

  it.each([
    ['node.db', "INSERT INTO domain VALUES ('b')"],
    ['ledger/lookup.db', 'UPDATE lookup SET listed = 0'],
  ])('records a write to %s between its opening and the first look', async (name, sql) => {
    fixture.ledger.changes({ since: '', before: { at: '9', seq: 9 }, limit: 9 })
    write(join(fixture.directory, name), sql)
    const detect = detector()
    await Promise.all([detect(), detect('before-stop')])
    await detect()
    expect(kinds()).toEqual(['call.enter', 'database.written'])
  })
})
