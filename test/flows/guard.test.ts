/** The guard in its place: behind the bus, inside the chain, on a real ledger that verifies afterwards. */
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { DEFAULT_BUS_CONFIG } from '../../src/bus/bus-config.ts'
import type { CallOptions } from '../../src/bus/call-factory.ts'
import { toCallerKey } from '../../src/bus/caller.ts'
import type { Capability } from '../../src/bus/capability.ts'
import { openGuardedBus } from '../../src/call/guarded-bus.ts'
import type { GuardedBus } from '../../src/call/guarded-bus.ts'
import { systemClock } from '../../src/core/clock.ts'
import { Database } from '../../src/core/database-store.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { ok } from '../../src/core/result.ts'
import { guardProjection } from '../../src/guard/guard-state.ts'
import { guardMigrations } from '../../src/guard/guard-secret-store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { ledgerMigrations } from '../../src/ledger/ledger-tables-store.ts'
import { createLogSigner } from '../../src/ledger/note-key.ts'
import { ADMIN, AGENT, APPROVER, GUARD_CONFIG, offerOf, TEST_VOTING } from '../guard-house.ts'

const ORIGIN = 'hearthbus.test/guard'
const signer = createLogSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey)
const AS_AGENT: CallOptions = { caller: AGENT, channel: 'mcp-http' }

const keyedValve = offerOf('writes', {
  name: 'test.valve.set',
  assess: ({ body }) => ({ effect: 'writes', reasons: [], idempotencyKey: body['key'] as string }),
})

const folder = mkdtempSync(join(tmpdir(), 'hearthbus-guard-flow-'))
const databases: Database[] = []

async function open(name: string): Promise<{ readonly spine: GuardedBus; readonly database: Database }> {
  const database = new Database({ path: join(folder, name), migrations: [ledgerMigrations, guardMigrations] })
  databases.push(database)
  const lastSignedPath = join(folder, `${name}.signed`)
  const projections = [guardProjection]
  const directory = join(folder, `${name}.log`)
  const parts = { signer, clock: systemClock, origin: ORIGIN, lastSignedPath, projections, directory }
  const ledger = await Ledger.open({ database, ...parts })
  const spine = await openGuardedBus({
    database,
    ledger,
    clock: systemClock,
    logger: silentLogger,
    guard: GUARD_CONFIG,
    voting: TEST_VOTING,
    bus: { nodeId: 'node-a', config: DEFAULT_BUS_CONFIG },
  })
  // Whoever acts and decides here was let in before.
  if (spine.guard.tokens.list().length === 0)
    for (const { id, role } of [AGENT, APPROVER]) await spine.guard.tokens.create(ADMIN, { name: id, role })
  return { spine, database }
}

/** What the disk holds when the power goes out now. */
async function openCopy(from: string, to: string): Promise<GuardedBus> {
  for (const suffix of ['', '-wal', '.signed', '.log'])
    if (existsSync(join(folder, from + suffix)))
      cpSync(join(folder, from + suffix), join(folder, to + suffix), { recursive: true })
  return (await open(to)).spine
}

function register(spine: GuardedBus, capability: Capability): void {
  const registered = spine.bus.registerCapability(capability, { name: 'test', prefixes: ['test.'] })
  if (!registered.ok) throw new Error(registered.fault.message)
}

function story({ ledger }: GuardedBus): readonly string[] {
  return ledger
    .entries(0, ledger.size())
    .map(({ entry: { kind, outcome, error_code: code } }) => [kind, outcome, code].filter(isText).join(' '))
    .filter((line) => line !== 'token.created')
}

function isText(word: unknown): word is string {
  return typeof word === 'string'
}

async function findings({ ledger }: GuardedBus): Promise<readonly unknown[]> {
  return (await ledger.verify()).findings
}

afterEach(() => {
  for (const database of databases.splice(0)) database.close()
})

afterAll(() => rmSync(folder, { recursive: true }))

describe('guard and bus together', () => {
  it('ask for an approval, run the call once, and record each step in order', async () => {
    const { spine } = await open('approval.db')
    let opened = 0
    register(spine, {
      offer: offerOf('sensitive', { name: 'test.lock.open' }),
      handle: async () => ok({ data: { opened: ++opened } }),
    })
    const call = () => spine.bus.call('test.lock.open', undefined, { door: 'front' }, AS_AGENT)
    const asked = await call()
    expect(asked).toMatchObject({ ok: false, fault: { kind: 'approval-required' } })
    const [approval] = spine.guard.approvals.list({ state: 'requested' })
    await spine.guard.approvals.approve(approval?.id ?? '', APPROVER)
    expect(await call()).toMatchObject({ ok: true, value: { data: { opened: 1 } } })
    expect(await call()).toMatchObject({ ok: false, fault: { kind: 'approval-required' } })
    expect(opened).toBe(1)
    expect(story(spine)).toEqual([
      'call.enter',
      'approval.requested',
      'call.exit denied approval-required',
      'approval.approved',
      'call.enter',
      'approval.used',
      'call.exit ok',
      'call.enter',
      'approval.requested',
      'call.exit denied approval-required',
    ])
    expect(await findings(spine)).toEqual([])
  })

  it('treat an optional argument as the same whether null or absent', async () => {
    const { spine } = await open('null.db')
    const bodies: unknown[] = []
    const requestSchema = { properties: { door: { type: 'string' }, code: { type: 'string' } } }
    register(spine, {
      offer: offerOf('sensitive', { name: 'test.lock.open', requestSchema }),
      handle: async ({ body }) => {
        bodies.push(body)
        return ok({ data: null })
      },
    })
    const call = (body: JsonObject) => spine.bus.call('test.lock.open', undefined, body, AS_AGENT)
    expect(await call({ door: 'front', code: null })).toMatchObject({ fault: { kind: 'approval-required' } })
    const [approval] = spine.guard.approvals.list({ state: 'requested' })
    expect(approval?.shown.arguments).toEqual({ door: 'front' })
    await spine.guard.approvals.approve(approval?.id ?? '', APPROVER)
    expect(await call({ door: 'front' })).toMatchObject({ ok: true })
    expect(bodies).toEqual([{ door: 'front' }])
    expect(spine.ledger.body(2)).toMatchObject({ kind: 'kept', body: { args: { door: 'front' } } })
  })

  it('commit a prepared change once for a hundred concurrent commits', async () => {
    const { spine } = await open('commit.db')
    const { changes } = spine.guard.services
    let created = 0
    register(spine, {
      offer: offerOf('writes', { name: 'test.change.commit', maxConcurrent: 200 }),
      handle: async ({ body, caller }) => {
        const token = body['token'] as string
        const taken = await changes.take(token, toCallerKey(caller))
        if (!taken.ok) return taken
        created += 1
        const { finishedSeq } = await changes.finish(token, 'committed')
        return ok({ data: { prepared: taken.value.preparedSeq, committed: finishedSeq } })
      },
    })
    const ticket = await changes.prepare({
      principal: 'claude',
      tool: 't',
      args: { a: 1 },
      summary: 's',
      ttlMs: 60_000,
    })
    if (!ticket.ok) throw new Error(ticket.fault.message)
    const { token } = ticket.value
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () => spine.bus.call('test.change.commit', undefined, { token }, AS_AGENT)),
    )
    expect(created).toBe(1)
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1)
    const kinds = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.fault.kind]))
    expect(new Set(kinds)).toEqual(new Set(['conflict']))
    expect(story(spine).filter((line) => line.startsWith('change'))).toEqual([
      'change.prepared',
      'change.taken',
      'change.committed',
    ])
    expect(await findings(spine)).toEqual([])
  })

  it('report and record an unknown outcome when a change was sent and not answered', async () => {
    const { spine } = await open('silence.db')
    const leaving = new AbortController()
    /** Takes the call, whereupon the caller loses patience, and never answers. */
    const silent = () => {
      leaving.abort()
      return new Promise<never>(() => undefined)
    }
    register(spine, { offer: keyedValve, handle: silent })
    const set = (signal?: AbortSignal) =>
      spine.bus.call(
        'test.valve.set',
        undefined,
        { key: 'k1' },
        signal === undefined ? AS_AGENT : { ...AS_AGENT, signal },
      )
    expect(await set(leaving.signal)).toMatchObject({ fault: { kind: 'unknown-outcome' } })
    expect(await set()).toMatchObject({ fault: { kind: 'unknown-outcome', reasons: [{ rule: 'key-unknown' }] } })
  })

  it('never repeat a change that a power cut interrupted', async () => {
    const { spine } = await open('before.db')
    let found: GuardedBus | undefined
    let acts = 0
    const capability: Capability = {
      offer: keyedValve,
      handle: async () => {
        acts += 1
        found ??= await openCopy('before.db', 'after.db')
        return ok({ data: null })
      },
    }
    register(spine, capability)
    await spine.bus.call('test.valve.set', undefined, { key: 'k1' }, AS_AGENT)
    if (found === undefined) throw new Error('it did not act')
    register(found, capability)
    expect(await found.bus.call('test.valve.set', undefined, { key: 'k1' }, AS_AGENT)).toMatchObject({
      fault: { kind: 'unknown-outcome', reasons: [{ rule: 'key-unknown' }] },
    })
    expect(acts).toBe(1)
    expect(story(found)).toEqual([
      'call.enter',
      'key.reserved',
      'call.aborted',
      'key.unknown',
      'call.enter',
      'call.exit error unknown-outcome',
    ])
    expect(await findings(found)).toEqual([])
  })

  it('erase the texts of a request once it no longer waits for a decision', async () => {
    const { spine, database } = await open('erased.db')
    const { ledger, guard } = spine
    register(spine, {
      offer: offerOf('sensitive', {
        name: 'test.lock.open',
        assess: () => ({ effect: 'sensitive', reasons: [], label: 'Numbat door', preview: { after: 'Bilby goes in' } }),
      }),
      handle: async () => ok({ data: null }),
    })
    await spine.bus.call('test.lock.open', undefined, { door: 'Quokka' }, AS_AGENT)
    const seqOf = (kind: string): number =>
      ledger.entries(0, ledger.size()).findIndex(({ entry }) => entry.kind === kind)
    const asked = seqOf('approval.requested')
    expect(await ledger.eraseBody(asked)).toMatchObject({
      fault: { kind: 'words-in-use', reason: expect.stringContaining('still waits for an answer') },
    })
    expect(ledger.body(asked)).toMatchObject({ kind: 'kept', body: { arguments: { door: 'Quokka' } } })
    const [question] = guard.approvals.list()
    const id = question?.id ?? ''
    await guard.approvals.deny(id, APPROVER, 'Potoroo is out')
    expect(await ledger.eraseBody(asked)).toMatchObject({ ok: true })
    expect(guard.approvals.get(id)).toMatchObject({
      state: 'denied',
      reason: 'Potoroo is out',
      shown: { arguments: {}, label: '[erased]' },
    })
    await ledger.eraseBody(seqOf('approval.denied'))
    expect(guard.approvals.get(id)).toMatchObject({ state: 'denied', reason: '[erased]' })

    const ticket = await guard.services.changes.prepare({
      principal: 'claude',
      tool: 'test.lock.open',
      args: {},
      summary: 'Wombat comes in',
      ttlMs: 60_000,
      offer: offerOf('sensitive'),
    })
    if (!ticket.ok) throw new Error(ticket.fault.message)
    const { token, preparedSeq: prepared } = ticket.value
    expect(await ledger.eraseBody(prepared)).toMatchObject({ fault: { kind: 'words-in-use' } })
    await guard.services.changes.take(token, 'claude')
    await guard.services.changes.finish(token, 'committed')
    expect(await ledger.eraseBody(prepared)).toMatchObject({ ok: true })

    await guard.stop.engage(ADMIN, 'Dunnart in the kitchen')
    const stop = seqOf('stop.engaged')
    expect(await ledger.eraseBody(stop)).toMatchObject({ fault: { kind: 'words-in-use' } })
    await guard.stop.release(ADMIN)
    expect(await ledger.eraseBody(stop)).toMatchObject({ ok: true })

    // The call itself left its arguments, and why it was refused.
    for (const kind of ['call.enter', 'call.exit']) await ledger.eraseBody(seqOf(kind))
    expect(await ledger.verify()).toMatchObject({ findings: [], erased: 6 })
    const tables = database.sql.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '*_*'`).all()
    const rows = tables.flatMap(({ name }) => database.sql.prepare(`SELECT * FROM ${String(name)}`).all())
    const kept = rows.flatMap((row) =>
      Object.values(row).map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : String(value))),
    )
    expect(kept.filter((text) => /Quokka|Numbat|Bilby|Potoroo|Wombat|Dunnart/.test(text))).toEqual([])
  })
})
