import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseConfig } from '../config/config-file.ts'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import { Database } from '../core/database-store.ts'
import { loadOrCreateNodeKey } from '../ledger/key-store.ts'
import { nodeDatabaseMigrations } from '../main/node-database-migrations.ts'
import { withOfflineLedger } from './offline-ledger-store.ts'
import { verifyDataDirectoryLedger } from './ledger-verification-store.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-ledger-files-'))
  mkdirSync(join(root, 'keys'), { mode: 0o700 })
})
afterEach(() => rmSync(root, { recursive: true }))

describe('offline ledger files', () => {
  it.each(['log', 'guard', 'runtime'])('of a newer program are reported as such: %s', async (room) => {
    const config = parseConfig('inline', '')
    if (!config.ok) throw new Error('an empty configuration is one')
    const { database: path, nodeKey, ledger } = buildDataDirectoryPaths(root)
    mkdirSync(join(ledger, 'tail'), { recursive: true })
    await loadOrCreateNodeKey(nodeKey)
    new Database({ path, migrations: [{ module: room, steps: Array.from({ length: 99 }, () => '') }] }).close()
    const sentence = expect.stringContaining(`was written by a newer Hearthbus (${room} is at step 99; this program`)
    expect(await verifyDataDirectoryLedger(root, config.value)).toEqual({ ok: false, fault: sentence })
    const place = { dataRoot: root, config: config.value, state: 'sound', rooms: 'all' } as const
    expect(await withOfflineLedger(place, (ledger) => Promise.resolve(ledger.size()))).toEqual({
      ok: false,
      fault: sentence,
    })
  })

  it.each(['ledger', 'all'] as const)('with a planted trigger are refused before it can run (%s)', async (rooms) => {
    const config = parseConfig('inline', '')
    if (!config.ok) throw new Error('an empty configuration is one')
    const { database: path, nodeKey, ledger } = buildDataDirectoryPaths(root)
    mkdirSync(join(ledger, 'tail'), { recursive: true })
    await loadOrCreateNodeKey(nodeKey)
    const database = new Database({ path, migrations: nodeDatabaseMigrations })
    database.sql.exec(`CREATE TRIGGER planted AFTER UPDATE ON ledger_applied BEGIN DELETE FROM tasks; END`)
    database.close()
    const place = { dataRoot: root, config: config.value, state: 'even-refusing', rooms } as const
    expect(await withOfflineLedger(place, (ledger) => Promise.resolve(ledger.size()))).toEqual({
      ok: false,
      fault: expect.stringContaining('planted is not as this program made it'),
    })
  })
})
