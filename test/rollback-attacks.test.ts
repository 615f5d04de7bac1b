/**
 * What somebody who may write into the data directory, and can read no key, tries in order to go back to a state with
 * more power: another key and history, a log that is cut back, signatures that are prevented. What stops them is outside
 * of that directory.
 */
import { execFileSync } from 'node:child_process'
import { createHash, generateKeyPairSync } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { startSuccessorLog } from '../src/cli/offline-ledger-store.ts'
import { verifyDataDirectoryLedger } from '../src/cli/ledger-verification-store.ts'
import { configSchema } from '../src/config/schema.ts'
import { silentLogger } from '../src/core/logger.ts'
import { deriveTailMacKey } from '../src/ledger/entry-group.ts'
import { formatLedgerFinding } from '../src/ledger/ledger-finding.ts'
import { createLogSigner } from '../src/ledger/note-key.ts'
import { readTailSegments } from '../src/ledger/tail-reader-store.ts'
import { startGateway } from '../src/main.ts'
import type { Gateway } from '../src/main.ts'
import { SOURCE_CLI, startGatewayProcess } from './gateway-process.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { rewriteLog } from './ledger-attack.ts'

const OWNER = { kind: 'principal', id: 'owner', role: 'admin' } as const
const WAIT = { timeout: 60_000 }
let root: string
let data: string
let pins: string
let config: ReturnType<typeof configSchema.parse>

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-rollback-'))
  data = join(root, 'data')
  pins = join(root, 'pins')
  config = configSchema.parse({ listen: { port: 0 }, ledger: { pins } })
  return () => rmSync(root, { recursive: true, force: true })
})

async function up(): Promise<Gateway> {
  const started = await startGateway({ config, dataRoot: data, version: '0', logger: silentLogger, listen: false })
  if (!started.ok) throw new Error(started.fault.message)
  return started.value
}

/** The sentence with which a start is refused. */
async function refusedStart(): Promise<string> {
  const started = await startGateway({ config, dataRoot: data, version: '0', logger: silentLogger, listen: false })
  if (!started.ok) return `${started.fault.kind}: ${started.fault.message}`
  await started.value.stop()
  return 'started'
}

async function findings(): Promise<readonly string[]> {
  const report = await verifyDataDirectoryLedger(data, config)
  return report.ok ? report.value.findings.map(formatLedgerFinding) : [report.fault]
}

async function createTask(gateway: Gateway, title: string): Promise<void> {
  await gateway.bus.call('task_create', undefined, { title }, { caller: OWNER, channel: 'api' })
}

function pinFile(): string {
  const [name = ''] = readdirSync(pins)
  return join(pins, name)
}

function sql(text: string): void {
  const file = new DatabaseSync(join(data, 'hearthbus.db'))
  file.enableDefensive(false)
  file.exec('PRAGMA foreign_keys = OFF')
  file.exec(text)
  file.close()
}

function remove(...names: readonly string[]): void {
  for (const name of names) rmSync(join(data, name), { recursive: true, force: true })
}

const CACHES = ['ledger/nodes', 'ledger/bundle-macs', ...['', '-wal', '-shm'].map((end) => `ledger/lookup.db${end}`)]

function cutBeforeStop(): number {
  return cutBefore('stop.engaged')
}

/**
 * The tail without the last entry of a kind and what follows it, and tables that agree. Needs no key. Returns the entries
 * left.
 */
function cutBefore(kind: string): number {
  const { segments } = readTailSegments(join(data, 'ledger/tail'), undefined, Infinity)
  const [segment] = segments
  if (segment === undefined) throw new Error('no tail')
  const at = segment.groups.findLastIndex(({ entries }) =>
    entries.some((bytes) => Buffer.from(bytes).includes(`"kind":"${kind}"`)),
  )
  const kept = segment.groups.slice(0, at)
  const last = kept.at(-1)
  if (at < 0 || last === undefined) throw new Error(`no ${kind}, or no group before it`)
  truncateSync(segment.path, last.end)
  const tables = kept.reduce(
    (size, { changedRows, first, entries }) => (changedRows ? first + entries.length : size),
    segment.tables,
  )
  sql(`UPDATE ledger_applied SET size = ${tables}`)
  return last.first + last.entries.length
}

/** The number of `stop.engaged` in the tail. */
function stopEntry(): number {
  const { segments } = readTailSegments(join(data, 'ledger/tail'), undefined, Infinity)
  const groups = segments.flatMap((segment) => segment.groups)
  const group = groups.find(({ entries }) =>
    entries.some((bytes) => Buffer.from(bytes).includes('"kind":"stop.engaged"')),
  )
  if (group === undefined) throw new Error('no stop')
  return group.first
}

/** Two runs; the emergency stop is engaged in the second, which ends in order. */
async function engageStopAndEnd(): Promise<void> {
  const first = await up()
  await createTask(first, 'a')
  await first.stop()
  const second = await up()
  await second.ledger.checkpoint()
  await createTask(second, 'b')
  await second.guard.stop.engage(OWNER, 'fire')
  expect(await second.stop()).toEqual([])
}

describe('a log cut back to before the emergency stop', () => {
  it('does not start when every local checkpoint was removed, too', async () => {
    await engageStopAndEnd()
    expect(await findings()).toEqual([])
    cutBeforeStop()
    remove('checkpoint.signed', 'ledger/checkpoint', 'ledger/tile', 'ledger/bodies', ...CACHES)
    sql('DELETE FROM ledger_checkpoint')
    expect(await findings()).toContainEqual(expect.stringContaining(`were signed (pin ${pinFile()})`))
    const refused = await refusedStart()
    expect(refused).toContain(`as ${pinFile()} says, outside of the data directory`)
    expect(refused).toContain('hearthbus ledger adopt --new-log')
    expect(refused).toContain(`remove ${pinFile()}`)
  })

  it('does not start when every checkpoint was replaced by an older one', async () => {
    const first = await up()
    await createTask(first, 'a')
    const older = await first.ledger.checkpoint()
    await createTask(first, 'b')
    const note = readFileSync(join(data, 'checkpoint.signed'))
    await first.guard.stop.engage(OWNER, 'fire')
    await first.stop()
    const cut = cutBeforeStop()
    expect(older).toMatchObject({ ok: true })
    writeFileSync(join(data, 'checkpoint.signed'), note)
    writeFileSync(join(data, 'ledger/checkpoint'), note)
    remove('ledger/tile', 'ledger/bodies', ...CACHES)
    sql(
      `DELETE FROM ledger_checkpoint; INSERT INTO ledger_checkpoint VALUES (${older.ok ? older.value.checkpoint.size : 0}, 0, '${note.toString()}')`,
    )
    expect(await findings()).toContainEqual(expect.stringContaining(`There are ${cut} entries, but`))
    expect(await refusedStart()).toMatch(
      /^refused: The ledger holds \d+ entries, but this node has signed \d+ \(as .*pins/,
    )
  })

  it('continues under another name on the owner’s command, also without any old checkpoint', async () => {
    await engageStopAndEnd()
    const before = readFileSync(pinFile(), 'utf8')
    cutBeforeStop()
    remove('checkpoint.signed', 'ledger/checkpoint', 'ledger/tile', 'ledger/bodies', ...CACHES)
    sql('DELETE FROM ledger_checkpoint')
    expect(await startSuccessorLog(data, config)).toMatchObject({ ok: true })
    const [old, pinned] = [before, readFileSync(pinFile(), 'utf8')].map(
      (text) => JSON.parse(text) as { vkey: string; size: number },
    )
    expect(pinned?.vkey).not.toBe(old?.vkey)
    const gateway = await up()
    expect([...gateway.ledger.records()].map(({ event }) => event.kind)).toContain('ledger.adopted')
    expect(await gateway.stop()).toEqual([])
    expect(await findings()).toEqual([])
  })
})

describe('a gateway that is killed after an emergency stop', () => {
  it('has signed the stop within seconds, so that it cannot be cut off', async () => {
    const home = { data, config: join(root, 'hearthbus.yaml'), remove: () => undefined }
    writeFileSync(home.config, `listen:\n  port: 0\nledger:\n  pins: ${pins}\n  checkpointSeconds: 3600\n`)
    const gateway = await startGatewayProcess(home, [], SOURCE_CLI)
    const authorization = `Bearer ${readFileSync(join(data, 'keys/owner.token'), 'utf8').trim()}`
    const headers = { authorization, 'content-type': 'application/json' }
    const stopped = await fetch(`${gateway.url}/api/stop`, { method: 'POST', headers, body: '{"reason":"fire"}' })
    expect(stopped.status).toBe(200)
    // Nothing else is recorded, and the next periodic checkpoint is an hour away.
    const sizeIn = (path: string): number => Number(readFileSync(path, 'utf8').split('\n')[1])
    const stopAt = stopEntry()
    await expect.poll(() => sizeIn(join(data, 'checkpoint.signed')), WAIT).toBeGreaterThan(stopAt)
    await expect
      .poll(() => (JSON.parse(readFileSync(pinFile(), 'utf8')) as { size: number }).size, WAIT)
      .toBeGreaterThan(stopAt)
    await gateway.kill()
    cutBeforeStop()
    remove('checkpoint.signed', 'ledger/checkpoint', 'ledger/tile', 'ledger/bodies', ...CACHES)
    sql('DELETE FROM ledger_checkpoint')
    expect(await findings()).toContainEqual(expect.stringContaining(`were signed (pin ${pinFile()})`))
    expect(await refusedStart()).toContain('outside of the data directory')
  })
})

describe('a gateway that is killed as soon as it has answered', () => {
  /** A gateway that signs nothing by itself but what decides, and the headers of its owner. */
  async function startSeldomSigning(): Promise<{ gateway: GatewayProcess; headers: Record<string, string> }> {
    const home = { data, config: join(root, 'hearthbus.yaml'), remove: () => undefined }
    writeFileSync(home.config, `listen:\n  port: 0\nledger:\n  pins: ${pins}\n  checkpointSeconds: 3600\n`)
    const gateway = await startGatewayProcess(home, [], SOURCE_CLI)
    const authorization = `Bearer ${readFileSync(join(data, 'keys/owner.token'), 'utf8').trim()}`
    return { gateway, headers: { authorization, 'content-type': 'application/json' } }
  }

  it.each<[string, string, (url: string, headers: Record<string, string>) => Promise<Response>]>([
    [
      'an emergency stop',
      'stop.engaged',
      (url, headers) => fetch(`${url}/api/stop`, { method: 'POST', headers, body: '{"reason":"fire"}' }),
    ],
    [
      'a task, whose table is written with it',
      'task.created',
      (url, headers) =>
        fetch(`${url}/api/call`, {
          method: 'POST',
          headers,
          body: '{"tool":"task_create","arguments":{"title":"a"}}',
        }),
    ],
  ])('does not start when %s is cut off', async (_, kind, act) => {
    const { gateway, headers } = await startSeldomSigning()
    const answer = await act(gateway.url, headers)
    await gateway.kill()
    expect(answer.status).toBe(200)
    cutBefore(kind)
    remove('checkpoint.signed', 'ledger/checkpoint', 'ledger/tile', 'ledger/bodies', ...CACHES)
    sql('DELETE FROM ledger_checkpoint')
    expect(await findings()).toContainEqual(expect.stringContaining(`were signed (pin ${pinFile()})`))
    expect(await refusedStart()).toContain('outside of the data directory')
  })

  it('starts where nothing was cut off', async () => {
    const { gateway, headers } = await startSeldomSigning()
    await fetch(`${gateway.url}/api/stop`, { method: 'POST', headers, body: '{"reason":"fire"}' })
    await gateway.kill()
    expect(await findings()).toEqual([])
    expect(await refusedStart()).toBe('started')
  })

  it('starts any number of times after its owner removed the pin of a newer log', async () => {
    await (await startSeldomSigning()).gateway.stop()
    const older = join(root, 'older')
    cpSync(data, older, { recursive: true })
    const { gateway, headers } = await startSeldomSigning()
    for (const path of ['stop', 'resume', 'stop'])
      await fetch(`${gateway.url}/api/${path}`, { method: 'POST', headers, body: '{"reason":"fire"}' })
    await gateway.kill()
    rmSync(data, { recursive: true })
    cpSync(older, data, { recursive: true })
    rmSync(pinFile())
    await (await startSeldomSigning()).gateway.kill()
    expect(await refusedStart()).toBe('started')
  })

  it('starts where that was a moment after it had started, after a clean stop', async () => {
    await (await startSeldomSigning()).gateway.stop()
    await (await startSeldomSigning()).gateway.kill()
    // Also where the machine was started again: what follows the stop is signed.
    rmSync(pinFile().replace(/json$/, 'newest'))
    expect(await refusedStart()).toBe('started')
    expect(await findings()).toEqual([])
  })

  it('starts after the machine was started again, with what its disk has', async () => {
    const { gateway, headers } = await startSeldomSigning()
    const pinned = (JSON.parse(readFileSync(pinFile(), 'utf8')) as { size: number }).size
    await fetch(`${gateway.url}/api/stop`, { method: 'POST', headers, body: '{"reason":"fire"}' })
    await gateway.kill()
    const newest = pinFile().replace(/json$/, 'newest')
    const [boot = '', ...rest] = readFileSync(newest, 'utf8').split(' ')
    expect(boot).toBe(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
    expect(Number(rest[1])).toBeGreaterThan(pinned)
    writeFileSync(newest, ['0f5e6c1a-0000-4000-8000-000000000000', ...rest].join(' '))
    expect(await refusedStart()).toBe('started')
  })
})

describe('guard rules that were changed and restored', () => {
  it('appear as policy versions in the entries of every start', async () => {
    const rules = { listen: { port: 0 }, ledger: { pins }, guard: { rules: [{ tool: 'door_*', says: 'ask' }] } }
    const [asWanted, changed] = [configSchema.parse(rules), config]
    for (const each of [asWanted, changed, asWanted]) {
      config = each
      expect(await (await up()).stop()).toEqual([])
    }
    const gateway = await up()
    const starts = [...gateway.ledger.records()].filter(({ event }) => event.kind === 'node.start')
    const [first, other, again] = starts.map(({ event }) => event['policy_version'])
    expect(first).toMatch(/^[0-9a-f]{16}$/)
    expect([other === first, again === first]).toEqual([false, true])
    await gateway.stop()
  })
})

describe('a profile, a limit or an access point that was changed and restored', () => {
  it.each<[string, object]>([
    ['profile', { profiles: { kitchen: { include: ['*'] } } }],
    ['limit', { guard: { actuatorWritesPerDay: 9 } }],
    [
      'access point',
      { accessPoints: [{ name: 'voice', url: 'ws://127.0.0.1:9/?token=hunter2-hunter2', profile: 'kitchen' }] },
    ],
  ])('appears as another configuration in the entries of every start: %s', async (_, change) => {
    const asWanted = { listen: { port: 0 }, ledger: { pins }, profiles: { kitchen: { include: ['task_list'] } } }
    for (const each of [asWanted, { ...asWanted, ...change }, asWanted]) {
      config = configSchema.parse(each)
      expect(await (await up()).stop()).toEqual([])
    }
    const gateway = await up()
    const starts = [...gateway.ledger.records()].filter(({ event }) => event.kind === 'node.start')
    const [first, other, again] = starts.map(({ event }) => event['config_hash'])
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    expect([other === first, again === first]).toEqual([false, true])
    expect(new Set(starts.map(({ event }) => event['policy_version'])).size).toBe(1)
    await gateway.stop()
  })
})

describe('a symbolic link in place of the data directory', () => {
  it('to an older copy prevents the start', async () => {
    const first = await up()
    await createTask(first, 'a')
    await first.stop()
    const other = join(root, 'other')
    cpSync(data, other, { recursive: true })
    const second = await up()
    await second.guard.stop.engage(OWNER, 'fire')
    await second.stop()
    const pinned = pinFile()
    renameSync(data, join(root, 'away'))
    symlinkSync(other, data)
    expect(await findings()).toContainEqual(expect.stringContaining(`were signed (pin ${pinned})`))
    expect(await refusedStart()).toContain(`as ${pinned} says, outside of the data directory`)
  })

  it('to the newest log is followed, and the log is found by either path', async () => {
    const first = await up()
    await createTask(first, 'a')
    await first.stop()
    const moved = join(root, 'moved')
    renameSync(data, moved)
    symlinkSync(moved, data)
    const second = await up()
    const start = [...second.ledger.records()].findLast(({ event }) => event.kind === 'node.start')
    expect(start?.event).not.toHaveProperty('pinned_from')
    await createTask(second, 'b')
    await second.stop()
    const names = readdirSync(pins).filter((name) => name.endsWith('.json'))
    const pinned = names.map((name) => JSON.parse(readFileSync(join(pins, name), 'utf8')) as object)
    const size = second.ledger.size()
    expect(pinned).toEqual([expect.objectContaining({ size }), expect.objectContaining({ size })])
    data = moved
    expect(await findings()).toEqual([])
  })
})

describe('a replaced node key', () => {
  it('prevents the start, even with the whole log rewritten under it and no checkpoint', async () => {
    const gateway = await up()
    await createTask(gateway, 'a')
    const { nodeId } = gateway
    await gateway.guard.stop.engage(OWNER, 'fire')
    await gateway.stop()
    const { privateKey } = generateKeyPairSync('ed25519')
    const newId = `ed25519:${String(privateKey.export({ format: 'jwk' }).x)}`
    writeFileSync(join(data, 'keys/node.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
    const token = `hb_${'B'.repeat(43)}`
    rmSync(join(data, 'keys/owner.token'), { force: true })
    writeFileSync(join(data, 'keys/owner.token'), `${token}\n`, { mode: 0o600 })
    const signer = createLogSigner(`hearthbus.local/${config.node.name}`, privateKey)
    await rewriteLog(join(data, 'ledger'), deriveTailMacKey(signer), (entries) => {
      const kept = entries.filter(({ bytes }) => !Buffer.from(bytes).includes('"kind":"stop.engaged"'))
      return kept.map((entry, seq) => {
        const event = JSON.parse(Buffer.from(entry.bytes).toString()) as { seq: number; token_hash?: string }
        const text = Buffer.from(entry.bytes)
          .toString()
          .replaceAll(nodeId, newId)
          .replace(event.token_hash ?? 'none', createHash('sha256').update(token).digest('hex'))
          .replace(`"seq":${event.seq}`, `"seq":${seq}`)
        return { ...entry, bytes: Buffer.from(text) }
      })
    })
    remove('checkpoint.signed', 'ledger/checkpoint', ...CACHES)
    sql('DELETE FROM ledger_checkpoint; UPDATE ledger_applied SET size = 0')
    expect(await findings()).toContainEqual(
      expect.stringContaining(`${pinFile()} says that this data directory belongs`),
    )
    expect(await refusedStart()).toMatch(/^refused: The key of this node.*Restore keys\/node\.key/)
  })

  it('is not created anew while a pin of the old key exists', async () => {
    const gateway = await up()
    await gateway.stop()
    rmSync(data, { recursive: true })
    expect(await refusedStart()).toContain(`If you deleted the data on purpose and begin anew, remove ${pinFile()}`)
    rmSync(pinFile())
    expect(await refusedStart()).toBe('started')
  })
})

describe('a gateway whose checkpoint file is obstructed', () => {
  it.each<[string, (path: string) => void]>([
    ['a folder in the place of the temporary file', (path) => mkdirSync(`${path}.tmp`)],
    ['a pipe in the place of the temporary file', (path) => execFileSync('mkfifo', [`${path}.tmp`])],
    ['a link in the place of the temporary file', (path) => symlinkSync(join(root, 'elsewhere'), `${path}.tmp`)],
  ])('signs nevertheless beside %s', async (_, plant) => {
    const gateway = await up()
    await gateway.ledger.checkpoint()
    plant(join(data, 'checkpoint.signed'))
    await createTask(gateway, 'a')
    expect(await gateway.ledger.checkpoint()).toMatchObject({ ok: true })
    expect(await gateway.stop()).toEqual([])
    expect(existsSync(join(root, 'elsewhere'))).toBe(false)
  })

  it.each<[string, (path: string) => void]>([
    ['a folder', (path) => mkdirSync(path)],
    ['a pipe', (path) => execFileSync('mkfifo', [path])],
  ])(
    'reports %s in place of the checkpoint without hanging, and its entries cannot be cut off',
    async (what, plant) => {
      const gateway = await up()
      await gateway.ledger.checkpoint()
      const path = join(data, 'checkpoint.signed')
      renameSync(path, join(root, 'away'))
      plant(path)
      await gateway.guard.stop.engage(OWNER, 'fire')
      expect(await gateway.ledger.checkpoint()).toMatchObject({
        ok: false,
        fault: { kind: 'last-signed-unwritable', reason: `it is ${what}` },
      })
      expect((await gateway.ledger.verify()).findings).toContainEqual(expect.objectContaining({ kind: 'unsigned' }))
      expect(await gateway.stop()).toEqual([expect.stringMatching(/entries are not signed.*checkpoint\.signed/)])
      rmSync(path, { recursive: true })
      renameSync(join(root, 'away'), path)
      expect(await findings()).toEqual([expect.stringContaining('the node stopped and could not sign them')])
      cutBeforeStop()
      remove(...CACHES)
      for (const level of ['0', 'entries'])
        for (const width of readdirSync(join(data, 'ledger/tile', level, '000.p')))
          if (Number(width) > 4) remove(`ledger/tile/${level}/000.p/${width}`)
      expect(await findings()).toContainEqual(expect.stringContaining(`were signed (pin ${pinFile()})`))
      expect(await refusedStart()).toContain('outside of the data directory')
    },
  )

  it('keeps recording with a pipe in place of a bodies file', async () => {
    const gateway = await up()
    await gateway.ledger.checkpoint()
    mkdirSync(join(data, 'ledger/bodies'), { recursive: true })
    execFileSync('mkfifo', [join(data, 'ledger/bodies/000')])
    await Promise.all(Array.from({ length: 300 }, () => gateway.ledger.append({ kind: 'test' }, { text: 'body' })))
    expect(await gateway.ledger.checkpoint()).toMatchObject({ ok: false, fault: { kind: 'last-signed-unwritable' } })
    rmSync(join(data, 'ledger/bodies/000'))
    expect(await gateway.ledger.checkpoint()).toMatchObject({ ok: true })
    expect(await gateway.stop()).toEqual([])
    expect(await findings()).toEqual([])
  })

  it('starts as after a crash when nothing was cut off, and then signs everything', async () => {
    const gateway = await up()
    await gateway.ledger.checkpoint()
    const path = join(data, 'checkpoint.signed')
    renameSync(path, join(root, 'away'))
    mkdirSync(path)
    await createTask(gateway, 'a')
    expect(await gateway.stop()).toHaveLength(1)
    rmSync(path, { recursive: true })
    renameSync(join(root, 'away'), path)
    const next = await up()
    const starts = [...next.ledger.records()].filter(({ event }) => event.kind === 'node.start')
    expect(starts.at(-1)?.event).toMatchObject({ unsigned: { kinds: { 'node.stop': 1 } } })
    expect(await next.stop()).toEqual([])
    expect(await findings()).toEqual([])
  })
})

describe('the pin file', () => {
  it('has mode 0600, and follows the size of the log', async () => {
    const gateway = await up()
    await gateway.ledger.checkpoint()
    await createTask(gateway, 'a')
    await gateway.stop()
    expect([statSync(pinFile()).mode & 0o777, statSync(pins).mode & 0o777]).toEqual([0o600, 0o700])
    expect(JSON.parse(readFileSync(pinFile(), 'utf8'))).toMatchObject({ data, size: gateway.ledger.size() })
  })

  it('is created for an existing log, which is recorded, and reported as missing until then', async () => {
    const first = await up()
    await first.stop()
    rmSync(pinFile())
    expect(await verifyDataDirectoryLedger(data, config)).toMatchObject({
      ok: true,
      value: { findings: [], pinPath: expect.any(String) },
    })
    const size = first.ledger.size()
    const second = await up()
    const start = [...second.ledger.records()].findLast(({ event }) => event.kind === 'node.start')
    expect(start?.event).toMatchObject({ pinned_from: size })
    await second.stop()
    expect(await verifyDataDirectoryLedger(data, config)).toMatchObject({ ok: true, value: { pinPath: undefined } })
  })

  it('that cannot be written does not prevent start or stop', async () => {
    writeFileSync(pins, 'a file in the place of the folder')
    const gateway = await up()
    await gateway.ledger.checkpoint()
    await gateway.ledger.flushPin()
    expect(gateway.ledger.pin()?.trouble).toContain('ENOTDIR')
    expect(await gateway.stop()).toEqual([])
    expect(await refusedStart()).toBe('started')
  })

  it('inside the data directory is reported as useless', async () => {
    config = configSchema.parse({ listen: { port: 0 }, ledger: { pins: join(data, 'pins') } })
    const gateway = await up()
    expect(gateway.ledger.pin()?.trouble).toBe('it is inside of that directory')
    await gateway.stop()
  })

  it('that is malformed prevents the start', async () => {
    const gateway = await up()
    await gateway.stop()
    writeFileSync(pinFile(), '{}')
    expect(await refusedStart()).toContain('it does not hold a key, a size and a root')
    const path = pinFile()
    rmSync(path)
    execFileSync('mkfifo', [path])
    expect(await refusedStart()).toContain('it is a pipe')
  })
})
