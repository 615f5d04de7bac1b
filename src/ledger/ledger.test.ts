import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { manualClock } from '../core/clock.ts'
import { Database } from '../core/database-store.ts'
import { Ledger } from './ledger.ts'
import { ledgerMigrations } from './ledger-store.ts'
import { noteSigner } from './note-key.ts'
import { EMPTY_ROOT } from './tree.ts'

const ORIGIN = 'hearthbus.test/ledger'
const { privateKey } = generateKeyPairSync('ed25519')

let directory: string
let database: Database
let ledger: Ledger

async function open(): Promise<void> {
  database = new Database({
    path: join(directory, 'node.db'),
    migrations: [ledgerMigrations, { room: 'test', steps: ['CREATE TABLE domain (name TEXT UNIQUE) STRICT'] }],
  })
  ledger = await Ledger.open({
    database,
    origin: ORIGIN,
    signer: noteSigner(ORIGIN, privateKey),
    lastSignedPath: join(directory, 'last-signed'),
    clock: manualClock(),
  })
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'ledger-'))
  await open()
})

afterEach(() => {
  database.close()
  rmSync(directory, { recursive: true })
})

describe('ledger', () => {
  it('is empty at first and has the root of the empty tree', () => {
    expect(ledger.size()).toBe(0)
    expect(ledger.root()).toEqual(EMPTY_ROOT)
  })

  it('numbers events in the order they were given', async () => {
    const appended = await Promise.all([1, 2, 3].map((value) => ledger.append({ kind: 'test', value })))
    expect(appended.map(({ seq }) => seq)).toEqual([0, 1, 2])
    expect(appended[0]?.at).toBe('2026-01-01T00:00:00.000Z')
  })

  it('forgets the events of a work that is undone and goes on with the others', async () => {
    const write = (name: string) =>
      database.commit((sql) => {
        const appended = ledger.appendIn({ kind: 'named', name })
        sql.prepare('INSERT INTO domain VALUES (?)').run(name)
        return appended.seq
      })
    const results = await Promise.allSettled([write('a'), write('a'), write('b')])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(results[2]).toMatchObject({ value: 1 })
    expect(ledger.size()).toBe(2)
    const root = ledger.root()
    database.close()
    await open()
    expect(ledger.root()).toEqual(root)
  })
})
