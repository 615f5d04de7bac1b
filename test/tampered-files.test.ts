/**
 * Every stored file of a data directory, changed in every way that somebody with write access and no key has: what
 * `hearthbus ledger verify` says of it. The last list names what it does not mention, because nothing is decided from it.
 */
import {
  appendFileSync,
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
import { verifyFiles } from '../src/cli/ledger-files-client.ts'
import { configSchema } from '../src/config/schema.ts'
import { silentLogger } from '../src/core/logger.ts'
import { startGateway } from '../src/main.ts'

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
  const gateway = await startGateway({ config, dataRoot: base, version: '0', logger: silentLogger, listen: false })
  if (!gateway.ok) throw new Error(gateway.fault.message)
  const titles = Array.from({ length: tasks }, (_, index) => `task ${index}`)
  await Promise.all(titles.map((title) => gateway.value.bus.call('task_create', undefined, { title }, OWNER)))
  await gateway.value.stop()
}

/** How many findings there are once a copy was changed. */
async function findingsAfter(change: (data: string) => void): Promise<number> {
  rmSync(copy, { recursive: true, force: true })
  cpSync(base, copy, { recursive: true })
  change(copy)
  const report = await verifyFiles(copy, config)
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
  file.exec('PRAGMA foreign_keys = OFF')
  file.exec(text)
  file.close()
}

describe('the files of a data directory', () => {
  it('are in order as long as nobody touched them', async () => {
    expect(await findingsAfter(() => undefined)).toBe(0)
    expect(storedFiles()).toEqual(expect.arrayContaining(['ledger/tile/entries/000', 'ledger/bodies/000']))
  })

  it.each(CHANGES)('are found out, each of them: %s', async (how, change) => {
    const unseen: string[] = []
    for (const file of storedFiles())
      if ((await findingsAfter((data) => change(join(data, file)))) === 0) unseen.push(`${file} ${how}`)
    expect(unseen.filter((name) => !UNCHANGED.has(name))).toEqual([])
  })

  it.each(['checkpoint.signed', 'ledger/checkpoint', 'hearthbus.db'])(
    'are found out by an older copy of %s alone',
    async (file) => {
      expect(await findingsAfter((data) => cpSync(join(old, file), join(data, file)))).toBeGreaterThan(0)
    },
  )

  it('are found out by bundles, tiles and bodies that were swapped', async () => {
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
    ['a version of the schema', 'UPDATE room_version SET version = version - 1 WHERE version > 1'],
    ['a checkpoint', "UPDATE ledger_checkpoint SET note = note || 'x'"],
    ['a task removed', 'DELETE FROM tasks WHERE seq = (SELECT min(seq) FROM tasks)'],
  ])('are found out by %s in the database', async (_, text) => {
    expect(await findingsAfter((data) => sql(data, text))).toBeGreaterThan(0)
  })

  it.each([
    ['another page size', 'PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM'],
    ['an application id', 'PRAGMA application_id = 77'],
    ['statistics', 'ANALYZE'],
    ['rows of checkpoints, which the file and the tiles have, too', 'DELETE FROM ledger_checkpoint'],
  ])('are the same with %s: nothing is decided from it', async (_, text) => {
    expect(await findingsAfter((data) => sql(data, text))).toBe(0)
  })
})
