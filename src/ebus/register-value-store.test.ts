import { expect, it } from 'vitest'
import { Database } from '../core/database-store.ts'
import { createRegisterValueStore, ebusMigrations } from './register-value-store.ts'

const NOW_MS = 1_800_000_000_000

it('skips rows with numbers out of range, and removes them at the next save', async () => {
  const database = new Database({ path: ':memory:', migrations: [ebusMigrations] })
  database.sql.exec(`
    INSERT INTO ebus_value VALUES ('heating', 5, x'01', ${NOW_MS}), ('heating', 9007199254740993, x'01', ${NOW_MS}),
      ('heating', -5, x'01', ${NOW_MS}), ('heating', 6, x'01', 9223372036854775807);
    INSERT INTO ebus_message VALUES ('heating', 'a b', x'01', x'02', ${NOW_MS}),
      ('heating', 'a c', x'01', x'02', 9223372036854775807)`)
  const store = createRegisterValueStore(database, 'heating', () => NOW_MS)
  expect(store.load().map(({ key }) => key)).toEqual([5])
  expect(store.loadMessages().map(({ message }) => message)).toEqual(['a b'])
  await store.save([], [])
  const count = (table: string): unknown => database.sql.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']
  expect([count('ebus_value'), count('ebus_message')]).toEqual([1, 1])
  database.close()
})
