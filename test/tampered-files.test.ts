/**
 * Every stored file of a data directory, changed in every way that somebody with write access and no key has: what
 * `hearthbus ledger verify` says of it. The last list names what it does not mention, because nothing is decided from it.
 */
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyDataDirectoryLedger } from '../src/cli/ledger-verification-store.ts'
import { configSchema } from '../src/config/schema.ts'
import { silentLogger } from '../src/core/logger.ts'
import { startGateway } from '../src/main.ts'
import { forgetPin } from './ledger-pins.ts'

const config = configSchema.parse({ listen: { port: 0 } })
const OWNER = { caller: { kind: 'principal', id: 'owner', role: 'admin' }, channel: 'api' } as const
const root = mkdtempSync(join(tmpdir(), 'hearthbus-tampered-'))
const [base, old, copy] = [join(root, 'base'), join(root, 'old'), join(root, 'copy')]

beforeAll(async () => {
  await work(110)
  cpSync(base, old, { recursive: true })
  await work(60)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Three entries each; the tail then still repeats the first bundles. */
async function work(tasks: number): Promise<void> {
  const gateway = await startGateway({ config, dataRoot: base, version: '0', logger: silentLogger, listen: true })
  if (!gateway.ok) throw new Error(gateway.fault.message)
  const titles = Array.from({ length: tasks }, (_, index) => `task ${index}`)
  await Promise.all(titles.map((title) => gateway.value.bus.call('task_create', undefined, { title }, OWNER)))
  await gateway.value.stop()
}

/** How many findings there are once a copy was changed. */
async function findingsAfter(change: (data: string) => void): Promise<number> {
  rmSync(copy, { recursive: true, force: true })
  forgetPin(copy)
  cpSync(base, copy, { recursive: true })
  change(copy)
  return findingsIn(copy)
}

async function findingsIn(data: string): Promise<number> {
  const report = await verifyDataDirectoryLedger(data, config)
  return report.ok ? report.value.findings.length + report.value.more : 1
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes.writeUInt8((bytes.at(at) ?? 0) ^ 1, at < 0 ? bytes.length + at : at)
  writeFileSync(path, bytes)
}

/** Files that the log consists of, and the key. */
function storedFiles(): readonly string[] {
  const all = readdirSync(base, { recursive: true }).map(String)
  return all.filter(
    (name) =>
      statSync(join(base, name)).isFile() &&
      (/^ledger\/(?:checkpoint|tile|bodies|tail)/.test(name) || ['checkpoint.signed', 'keys/node.key'].includes(name)),
  )
}

const CHANGES: readonly (readonly [string, (path: string) => void])[] = [
  ['its first byte', (path) => flip(path, 0)],
  ['a byte in the middle', (path) => flip(path, Math.floor(statSync(path).size / 2))],
  ['cut', (path) => truncateSync(path, statSync(path).size - 7)],
  ['empty', (path) => truncateSync(path)],
  ['said twice', (path) => appendFileSync(path, readFileSync(path))],
  ['removed', (path) => rmSync(path)],
]

/** A text that says the key twice is the key; a partial tile that no published checkpoint needs may go. */
const UNCHANGED = new Set(['keys/node.key said twice', 'ledger/tile/1/000.p/1 removed'])

function sql(data: string, text: string): void {
  const file = new DatabaseSync(join(data, 'hearthbus.db'))
  file.enableDefensive(false)
  file.exec('PRAGMA foreign_keys = OFF')
  file.exec(text)
  file.close()
}

/**
 * Takes a row out of the indexes of its table and leaves it in the table: the row is removed, the indexes are hidden from
 * SQLite, the row is put back, and the indexes are shown again.
 */
function hideFromIndexes(path: string, table: string, key: string): void {
  const open = (): DatabaseSync => {
    const file = new DatabaseSync(path)
    file.enableDefensive(false)
    file.exec('PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON')
    return file
  }
  let file = open()
  const hidden = "FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
  const indexes = file.prepare(`SELECT rowid + 1000 AS place, type, name, tbl_name, rootpage, sql ${hidden}`).all(table)
  const row = file.prepare(`SELECT * FROM ${table} ORDER BY ${key} DESC LIMIT 1`).get() ?? {}
  file.prepare(`DELETE FROM ${table} WHERE ${key} = ?`).run(row[key] ?? null)
  file.prepare(`DELETE ${hidden}`).run(table)
  file.close()
  file = open()
  const places = (values: object): string =>
    Object.keys(values)
      .map(() => '?')
      .join()
  file.prepare(`INSERT INTO ${table} VALUES (${places(row)})`).run(...Object.values(row))
  for (const index of indexes)
    file
      .prepare(`INSERT INTO sqlite_schema (rowid, type, name, tbl_name, rootpage, sql) VALUES (${places(index)})`)
      .run(...Object.values(index))
  file.close()
}

describe('verification of a data directory', () => {
  it.each([
    ['hearthbus.db', 'tasks', 'id'],
    ['ledger/lookup.db', 'lookup', 'seq'],
  ])('finds an index in %s that lacks a row of its table', async (file, table, key) => {
    expect(await findingsAfter((data) => hideFromIndexes(join(data, file), table, key))).toBeGreaterThan(0)
  })

  it('finds nothing in unchanged files', async () => {
    expect(await findingsAfter(() => undefined)).toBe(0)
    expect(storedFiles()).toEqual(expect.arrayContaining(['ledger/tile/entries/000', 'ledger/bodies/000']))
  })

  it.each(CHANGES)('finds each file changed in this way: %s', async (how, change) => {
    const unseen: string[] = []
    for (const file of storedFiles())
      if ((await findingsAfter((data) => change(join(data, file)))) === 0) unseen.push(`${file} ${how}`)
    expect(unseen.filter((name) => !UNCHANGED.has(name))).toEqual([])
  })

  it.each(['checkpoint.signed', 'ledger/checkpoint', 'hearthbus.db'])(
    'finds an older copy of %s alone',
    async (file) => {
      expect(await findingsAfter((data) => cpSync(join(old, file), join(data, file)))).toBeGreaterThan(0)
    },
  )

  it('finds swapped bundles, tiles and bodies', async () => {
    for (const [one, other] of [
      ['ledger/tile/entries/000', 'ledger/tile/entries/001'],
      ['ledger/tile/0/000', 'ledger/tile/0/001'],
      ['ledger/bodies/000', 'ledger/bodies/001'],
    ] as const) {
      const swap = (data: string): void => {
        cpSync(join(base, one), join(data, other))
        cpSync(join(base, other), join(data, one))
      }
      expect(await findingsAfter(swap)).toBeGreaterThan(0)
    }
  })

  it.each([
    ['text after a NUL', "UPDATE tasks SET title = title || char(0) || 'x'"],
    ['another case', 'UPDATE tasks SET title = upper(title)'],
    ['the largest number', 'UPDATE tasks SET seq = 9223372036854775807 WHERE seq = (SELECT max(seq) FROM tasks)'],
    ['the smallest number', 'UPDATE tasks SET seq = -9223372036854775808 WHERE seq = (SELECT max(seq) FROM tasks)'],
    ['a generated column', 'ALTER TABLE tasks ADD COLUMN g TEXT AS (title)'],
    ['a virtual table', 'CREATE VIRTUAL TABLE v USING fts5(a)'],
    [
      'a trigger with the name of a table, in front of it',
      `CREATE TRIGGER tasks AFTER INSERT ON thought_records BEGIN UPDATE tasks SET status = 'DONE'; END;
       PRAGMA writable_schema = ON;
       UPDATE sqlite_schema SET rowid = -rowid WHERE type = 'trigger'`,
    ],
    [
      'a view with the name of one of SQLite’s own tables',
      `CREATE VIEW planted AS SELECT 1; PRAGMA writable_schema = ON;
       UPDATE sqlite_schema SET name = 'sqlite_stat1', tbl_name = 'sqlite_stat1' WHERE name = 'planted'`,
    ],
    ['a version of the schema', 'UPDATE room_version SET version = version - 1 WHERE version > 1'],
    ['a module that there is not', "INSERT INTO room_version VALUES ('planted', 1)"],
    ['tables that are said to be further', 'UPDATE ledger_applied SET size = size + 1'],
    ['tables that are said to be behind', 'UPDATE ledger_applied SET size = size - 1'],
    ['tables that do not say how far they are', 'DELETE FROM ledger_applied'],
    ['a checkpoint', "UPDATE ledger_checkpoint SET note = note || 'x'"],
    ['a checkpoint of less than nothing', "INSERT INTO ledger_checkpoint VALUES (-5, 9, 'x')"],
    ['a task removed', 'DELETE FROM tasks WHERE seq = (SELECT min(seq) FROM tasks)'],
  ])('finds %s in the database', async (_, text) => {
    expect(await findingsAfter((data) => sql(data, text))).toBeGreaterThan(0)
  })

  it.each([
    ['another page size', 'PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM'],
    ['an application id', 'PRAGMA application_id = 77'],
    ['statistics', 'ANALYZE'],
    ['a cookie', 'PRAGMA schema_version = 4711'],
    ['a size of the cache', 'PRAGMA default_cache_size = 7'],
    ['free pages', 'CREATE TABLE gone (x); INSERT INTO gone VALUES (zeroblob(50000)); DROP TABLE gone'],
    [
      'rows of checkpoints that no witness signed, which the file and the tiles have, too',
      'DELETE FROM ledger_checkpoint',
    ],
  ])('finds nothing with %s, from which nothing is decided', async (_, text) => {
    expect(await findingsAfter((data) => sql(data, text))).toBe(0)
  })

  it.each<[string, (data: string) => void]>([
    ['a key that others may read', (data) => chmodSync(join(data, 'keys/node.key'), 0o644)],
    ['the owner’s token that others may read', (data) => chmodSync(join(data, 'keys/owner.token'), 0o640)],
    ['keys that others may replace', (data) => chmodSync(join(data, 'keys'), 0o777)],
    // A token of the right form, which nobody but its author knows.
    ['another token of the owner', (data) => writeFileSync(join(data, 'keys/owner.token'), `hb_${'A'.repeat(43)}\n`)],
  ])('finds %s', async (_, change) => {
    expect(await findingsAfter(change)).toBeGreaterThan(0)
  })

  // Only root can give a file away.
  it.runIf(process.getuid?.() === 0)('finds a token file that belongs to another user', async () => {
    expect(await findingsAfter((data) => chownSync(join(data, 'keys/owner.token'), 4_711, 4_711))).toBeGreaterThan(0)
  })

  it.each([
    ['more entries than there are', 'UPDATE applied SET size = size + 1'],
    ['a call that is shown as open', 'UPDATE lookup SET ended = NULL'],
    ['a change that is not shown', 'UPDATE lookup SET changed_at = NULL, listed = 0'],
    ['an entry that is not found', 'DELETE FROM lookup WHERE seq = (SELECT min(seq) FROM lookup)'],
    ['one that is found and does not exist', "INSERT INTO lookup SELECT -1, 1, 1, 'x', 'x', 'x', 'x', 'x', NULL, NULL"],
  ])('finds %s in the lookup table, from which nothing is decided', async (_, text) => {
    const change = (data: string): void => {
      const file = new DatabaseSync(join(data, 'ledger/lookup.db'))
      file.exec(text)
      file.close()
    }
    expect(await findingsAfter(change)).toBeGreaterThan(0)
    // No call that had ended is ended once more, which would be in the log for ever.
    const restarted = await startGateway({ config, dataRoot: copy, version: '0', logger: silentLogger, listen: false })
    if (!restarted.ok) throw new Error(restarted.fault.message)
    await restarted.value.stop()
    const report = await verifyDataDirectoryLedger(copy, config)
    const found = report.ok ? report.value.findings.map(({ kind }) => kind) : [report.fault]
    expect(found.filter((kind) => kind !== 'lookup-differs')).toEqual([])
  })

  it('rebuilds the lookup cache when a trigger was planted in it', async () => {
    rmSync(copy, { recursive: true, force: true })
    forgetPin(copy)
    cpSync(base, copy, { recursive: true })
    const file = new DatabaseSync(join(copy, 'ledger/lookup.db'))
    file.exec("CREATE TRIGGER planted BEFORE INSERT ON lookup BEGIN SELECT RAISE(FAIL, 'no'); END")
    file.close()
    const restarted = await startGateway({ config, dataRoot: copy, version: '0', logger: silentLogger, listen: false })
    if (!restarted.ok) throw new Error(restarted.fault.message)
    await restarted.value.stop()
    const again = new DatabaseSync(join(copy, 'ledger/lookup.db'))
    expect(again.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'trigger'").get()).toEqual({ n: 0 })
    again.close()
    expect(await findingsIn(copy)).toBe(0)
  })
})
