/**
 * A second process that could write the same records: what the gateway that runs does, and what a start leaves alone that
 * cannot succeed.
 */
import { createSecretKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configSchema } from '../src/config/schema.ts'
import { silentLogger } from '../src/core/logger.ts'
import { LogStore } from '../src/ledger/log-store.ts'
import { startGateway } from '../src/main.ts'

const OWNER = { caller: { kind: 'principal', id: 'owner', role: 'admin' }, channel: 'api' } as const
let root: string
let data: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-second-'))
  data = join(root, 'data')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function start(port = 0, dataRoot = data): ReturnType<typeof startGateway> {
  const config = configSchema.parse({ listen: { port }, ledger: { pins: join(root, 'pins') } })
  return startGateway({ config, dataRoot, version: '0', logger: silentLogger, listen: true })
}

describe('a gateway whose lock file is moved while it runs', () => {
  it('records nothing any more, and refuses every call that would have to be recorded', async () => {
    const gateway = await start()
    if (!gateway.ok) throw new Error(gateway.fault.message)
    const { bus, ledger, stop } = gateway.value
    renameSync(join(data, 'gateway.lock'), join(root, 'moved'))
    await expect
      .poll(() => ledger.state(), { timeout: 10_000 })
      .toMatchObject({
        kind: 'refusing',
        fault: { kind: 'lock-lost', path: join(data, 'gateway.lock') },
      })
    const size = ledger.size()
    expect(await bus.call('task_create', undefined, { title: 'a' }, OWNER)).toMatchObject({ ok: false })
    expect(await ledger.checkpoint()).toMatchObject({ ok: false, fault: { kind: 'lock-lost' } })
    expect(ledger.size()).toBe(size)
    expect(await stop()).toEqual([expect.stringContaining('another process could write the same records')])
  })
})

describe('a database that another program writes to', () => {
  const FILES = [
    ['hearthbus.db', "UPDATE tasks SET title = 'b'", "UPDATE tasks SET title = 'a'"],
    [
      'ledger/lookup.db',
      'UPDATE lookup SET listed = listed + 2',
      'UPDATE lookup SET listed = listed - 2 WHERE listed > 1',
    ],
  ] as const

  it.each(FILES)('has that on record for ever if it is written right before a stop: %s', async (name, sql, inverse) => {
    const first = await start()
    if (!first.ok) throw new Error(first.fault.message)
    await first.value.bus.call('task_create', undefined, { title: 'a' }, OWNER)
    await first.value.stop()
    const second = await start()
    if (!second.ok) throw new Error(second.fault.message)
    write(name, sql)
    expect(await second.value.stop()).toEqual([])
    write(name, inverse)
    const third = await start()
    if (!third.ok) throw new Error(third.fault.message)
    const { findings } = await third.value.ledger.verify()
    await third.value.stop()
    expect(findings).toMatchObject([{ kind: 'entry-unlawful', of: 'database.written' }])
  })
})

function write(name: string, sql: string): void {
  const file = new DatabaseSync(join(data, name))
  file.exec('PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = OFF')
  file.exec(sql)
  file.close()
}

describe('a second gateway, where lock file and note of the first were removed', () => {
  it('does not start, also by another path and on another port', async () => {
    const first = await start()
    if (!first.ok) throw new Error(first.fault.message)
    const other = join(root, 'link')
    symlinkSync(data, other)
    for (const path of [data, other]) {
      for (const name of ['gateway.lock', 'gateway.json']) rmSync(join(data, name), { force: true })
      expect(await start(0, path)).toMatchObject({
        ok: false,
        fault: { kind: 'running-already', message: expect.stringContaining('somebody moved or replaced it') },
      })
    }
    await first.value.stop()
    const next = await start()
    if (!next.ok) throw new Error(next.fault.message)
    expect(await next.value.stop()).toEqual([])
  })
})

describe('a file that the owner’s commands trust', () => {
  it.each([
    ['keys/owner.token', `hb_${'A'.repeat(43)}\n`],
    ['gateway.json', '{"url":"http://127.0.0.1:9","pid":1,"version":"0"}'],
  ])('has it on record for ever if another program replaces it for a time: %s', async (name, content) => {
    const first = await start()
    if (!first.ok) throw new Error(first.fault.message)
    const { ledger } = first.value
    const [path, size] = [join(data, name), ledger.size()]
    const before = readFileSync(path)
    writeFileSync(path, content)
    const recorded = (): readonly unknown[] =>
      ledger.entries(size, 100).flatMap(({ entry }) => (entry.kind === 'file.replaced' ? [entry['file']] : []))
    await expect.poll(recorded, { timeout: 10_000 }).toEqual([name])
    writeFileSync(path, before)
    expect(await first.value.stop()).toEqual([])
    await expectReplacementOnRecord(name)
  })
})

describe('a file that the owner’s commands trust, replaced right before a stop', () => {
  it.each([
    ['keys/owner.token', `hb_${'A'.repeat(43)}\n`],
    ['gateway.json', '{"url":"http://127.0.0.1:9","pid":1,"version":"0"}'],
  ])('is on record, too: %s', async (name, content) => {
    const first = await start()
    if (!first.ok) throw new Error(first.fault.message)
    const path = join(data, name)
    const before = readFileSync(path)
    writeFileSync(path, content)
    expect(await first.value.stop()).toEqual([])
    writeFileSync(path, before)
    await expectReplacementOnRecord(name)
  })
})

async function expectReplacementOnRecord(name: string): Promise<void> {
  const node = await start()
  if (!node.ok) throw new Error(node.fault.message)
  const { findings } = await node.value.ledger.verify()
  await node.value.stop()
  expect(findings).toMatchObject([
    { kind: 'entry-unlawful', why: `another program replaced ${name} while the node ran` },
  ])
}

describe('a start whose port is taken', () => {
  it('leaves the records unchanged', async () => {
    const first = await start()
    if (!first.ok) throw new Error(first.fault.message)
    await first.value.stop()
    const before = readRecords()
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const second = await start(port)
    other.close()
    expect(second).toMatchObject({ ok: false, fault: { message: expect.stringContaining(String(port)) } })
    expect(readRecords()).toEqual(before)
  })
})

/** Every file of the log, and the checkpoint beside it. */
function readRecords(): readonly (readonly [string, string])[] {
  const names = readdirSync(join(data, 'ledger/tail')).map((name) => join('ledger/tail', name))
  return ['checkpoint.signed', ...names].map((name) => [name, readFileSync(join(data, name), 'hex')])
}

describe('a log tail to which another process has appended', () => {
  it('is not truncated at the size known to this process', () => {
    const directory = join(root, 'ledger')
    const key = createSecretKey(new Uint8Array(32))
    const open = (): LogStore => new LogStore({ directory, key })
    const append = (log: LogStore, text: string): void => {
      log.workBegins()
      log.append({ bytes: Buffer.from(text) })
      log.writeGroup(false)
      log.groupEnds(true)
    }
    const one = open()
    append(one, 'first')
    const other = open()
    append(other, 'second')
    one.close()
    const read = open()
    expect(read.entries(0, 9).map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(['first', 'second'])
    read.close()
    other.close()
  })
})
