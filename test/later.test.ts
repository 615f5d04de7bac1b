/**
 * Calls that are put off, on a real ledger, guard and bus with a clock of the test's own. A power cut is a copy of the
 * files as they are at that moment, opened anew.
 */
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { GUARD_CONFIG, TEST_VOTING } from './guard-house.ts'
import { manualClock } from './manual-clock.ts'
import { DEFAULT_BUS_CONFIG } from '../src/bus/bus-config.ts'
import type { Caller } from '../src/bus/call.ts'
import type { Effect } from '../src/bus/capability.ts'
import { defineChange } from '../src/bus/capability-definition.ts'
import { defineService } from '../src/bus/service-definition.ts'
import { openGuardedBus } from '../src/call/guarded-bus.ts'
import { Database } from '../src/core/database-store.ts'
import type { JsonObject } from '../src/core/json.ts'
import { silentLogger } from '../src/core/logger.ts'
import { ok } from '../src/core/result.ts'
import { OWNER_PRINCIPAL } from '../src/guard/authenticator.ts'
import { guardProjection } from '../src/guard/guard-state.ts'
import { guardMigrations } from '../src/guard/guard-secret-store.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import { ledgerMigrations } from '../src/ledger/ledger-tables-store.ts'
import { createLogSigner } from '../src/ledger/note-key.ts'
import { homeFamilyEnvelope } from '../src/home/home-envelope.ts'
import { LaterCallRunner } from '../src/home/later-runner.ts'
import { laterCallsProjection } from '../src/home/later-state.ts'
import { createLaterTools } from '../src/home/later-tools.ts'
import { parseDueTime } from '../src/home/later-time.ts'

const { privateKey } = generateKeyPairSync('ed25519')
const ORIGIN = 'hearthbus.test/later'
const MINUTE_MS = 60_000
const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

interface Opened {
  readonly folder?: string
  readonly nowMs?: number
  /** In the middle of the act. */
  readonly onAct?: () => void
  /** The family of the tools offers them only when it is told to. */
  readonly isFamilyLate?: boolean
}

async function open({ folder = newFolder(), nowMs, onAct, isFamilyLate = false }: Opened = {}) {
  const clock = manualClock()
  if (nowMs !== undefined) clock.advance(nowMs - clock.now())
  const database = new Database({ path: join(folder, 'node.db'), migrations: [ledgerMigrations, guardMigrations] })
  const ledger = await Ledger.open({
    database,
    signer: createLogSigner(ORIGIN, privateKey),
    clock,
    origin: ORIGIN,
    lastSignedPath: join(folder, 'signed'),
    projections: [guardProjection, laterCallsProjection],
  })
  const { bus, guard } = await openGuardedBus({
    database,
    ledger,
    clock,
    logger: silentLogger,
    guard: GUARD_CONFIG,
    voting: TEST_VOTING,
    bus: { nodeId: 'node-a', config: DEFAULT_BUS_CONFIG },
  })
  const acts: string[] = []
  const change = (name: string, effect: Exclude<Effect, 'reads'>) =>
    defineChange({
      name,
      title: name,
      description: name,
      family: { ...homeFamilyEnvelope, name: 'test' },
      effect,
      idempotent: false,
      input: z.strictObject({ to: z.string(), pin: z.string().exactOptional() }),
      output: z.looseObject({}),
      plan: () => ok(undefined),
      assess: () => ({ effect, target: `test:${name}`, reasons: [] }),
      act: (_, { to }) => {
        acts.push(`${name} ${to}`)
        onAct?.()
        return ok({ data: { done: true } })
      },
    })
  const names = new Map<string, Caller>([
    ['agent', { kind: 'principal', id: 'agent', role: 'agent' }],
    ['other', { kind: 'principal', id: 'other', role: 'agent' }],
  ])
  const reports: unknown[] = []
  const parts = {
    bus,
    guard,
    ledger,
    clock,
    rooms: {},
    aliases: {},
    principalNow: (key: string) => names.get(key),
    report: (error: unknown) => reports.push(error),
  }
  const startFamily = (): void => {
    bus.registerService(
      defineService({ name: 'test', capabilities: [change('test.lamp', 'writes'), change('test.door', 'sensitive')] }),
    )
  }
  if (!isFamilyLate) startFamily()
  bus.registerService(defineService({ name: 'home', prefixes: ['later'], capabilities: createLaterTools(parts) }))
  const runner = new LaterCallRunner(parts)
  const later = async (body: JsonObject, id = 'agent'): Promise<JsonObject> => {
    const caller = id === 'owner' ? OWNER_PRINCIPAL : names.get(id)
    if (caller === undefined) throw new Error(`nobody is called ${id}`)
    const outcome = await bus.call('later', undefined, body, { caller, channel: 'api' })
    return outcome.ok ? (outcome.value.data as JsonObject) : { fault: outcome.fault.kind, say: outcome.fault.message }
  }
  await runner.start()
  return {
    folder,
    clock,
    guard,
    acts,
    names,
    reports,
    later,
    startFamily,
    look: () => runner.runDue(),
    settled: () => runner.settled(),
    plan: (tool = 'test.lamp', more: JsonObject = {}) =>
      later({ call: { tool, arguments: { to: 'on' } }, in_minutes: 10, why: 'a wish', ...more }),
    pass: async (ms: number) => {
      clock.advance(ms)
      runner.runDue()
      await runner.settled()
    },
    ends: () =>
      ledger
        .entries(0, ledger.size())
        .map(({ entry }) => entry)
        .filter(({ kind }) => kind === 'later.ended')
        .map((entry) => entry['outcome']),
    close: async () => {
      await runner.stop()
      bus.close()
      database.close()
    },
  }
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-later-'))
  folders.push(folder)
  return folder
}

/** What is on the disk now. */
function cutOff(folder: string): string {
  const copy = newFolder()
  cpSync(folder, copy, { recursive: true })
  return copy
}

describe('a call for later', () => {
  it('runs once when it is due, as the principal that planned it', async () => {
    const house = await open()
    expect(await house.plan()).toMatchObject({ id: expect.any(String) as string })
    await house.pass(9 * MINUTE_MS)
    expect(house.acts).toEqual([])
    await house.pass(MINUTE_MS)
    await house.pass(MINUTE_MS)
    expect(house.acts).toEqual(['test.lamp on'])
    expect(house.ends()).toEqual(['done'])
    expect(house.reports).toEqual([])
    await house.close()
  })

  it('survives a restart', async () => {
    const house = await open()
    await house.plan()
    const nowMs = house.clock.now()
    const next = await open({ folder: cutOff(house.folder), nowMs })
    await house.close()
    await next.pass(10 * MINUTE_MS)
    expect(next.acts).toEqual(['test.lamp on'])
    await next.close()
  })

  it('does not run again after a power cut during the call', async () => {
    let cut: string | undefined
    const house = await open({
      onAct: () => {
        cut = cutOff(house.folder)
      },
    })
    await house.plan()
    await house.pass(10 * MINUTE_MS)
    expect(house.acts).toHaveLength(1)
    const next = await open({ folder: cut ?? '', nowMs: house.clock.now() })
    await next.pass(MINUTE_MS)
    expect(next.acts).toEqual([])
    expect(next.ends()).toEqual(['unknown'])
    await house.close()
    await next.close()
  })

  it.each([
    [14, ['test.lamp on'], ['done']],
    [16, [], ['missed']],
  ])('that was due %i minutes before the gateway came back runs or is reported as missed', async (late, acts, ends) => {
    const house = await open()
    await house.plan()
    const next = await open({ folder: cutOff(house.folder), nowMs: house.clock.now() + (10 + late) * MINUTE_MS })
    await house.close()
    await next.pass(0)
    expect([next.acts, next.ends()]).toEqual([acts, ends])
    await next.close()
  })

  it('waits after a restart until its tool is registered, and is missed if that takes too long', async () => {
    const house = await open()
    await house.plan()
    const nowMs = house.clock.now() + 12 * MINUTE_MS
    const [soon, never] = [cutOff(house.folder), cutOff(house.folder)]
    await house.close()
    const next = await open({ folder: soon, nowMs, isFamilyLate: true })
    await next.pass(1_000)
    await next.pass(MINUTE_MS)
    expect([next.acts, next.ends()]).toEqual([[], []])
    next.startFamily()
    await next.pass(1_000)
    await next.pass(1_000)
    expect([next.acts, next.ends()]).toEqual([['test.lamp on'], ['done']])
    await next.close()
    const left = await open({ folder: never, nowMs, isFamilyLate: true })
    await left.pass(1_000)
    await left.pass(20 * MINUTE_MS)
    expect([left.acts, left.ends()]).toEqual([[], ['missed']])
    await left.close()
  })

  it('runs once, even if the clock is set back before or after', async () => {
    const house = await open()
    await house.plan()
    house.clock.set(-1_440 * MINUTE_MS)
    await house.pass(10 * MINUTE_MS)
    expect(house.acts).toEqual([])
    house.clock.set(1_440 * MINUTE_MS)
    await house.pass(0)
    expect(house.acts).toEqual(['test.lamp on'])
    house.clock.set(-60 * MINUTE_MS)
    for (let minutes = 0; minutes < 120; minutes += 5) await house.pass(5 * MINUTE_MS)
    const nowMs = house.clock.now() - 180 * MINUTE_MS
    const next = await open({ folder: cutOff(house.folder), nowMs })
    for (let minutes = 0; minutes < 240; minutes += 5) await next.pass(5 * MINUTE_MS)
    expect([house.acts, next.acts, next.ends()]).toEqual([['test.lamp on'], [], ['done']])
    expect([...house.reports, ...next.reports]).toEqual([])
    await house.close()
    await next.close()
  })

  it('is kept when the clock is set back at the moment it is due', async () => {
    const house = await open()
    await house.plan()
    house.clock.advance(10 * MINUTE_MS)
    house.look()
    house.clock.set(-30 * MINUTE_MS)
    await house.settled()
    for (let minutes = 0; minutes < 60; minutes += 5) await house.pass(5 * MINUTE_MS)
    expect([house.acts, house.ends()]).toEqual([['test.lamp on'], ['done']])
    await house.close()
  })

  it('is reported as missed when the clock jumps past it', async () => {
    const house = await open()
    await house.plan()
    house.clock.set(60 * MINUTE_MS)
    await house.pass(1_000)
    house.clock.set(-60 * MINUTE_MS)
    await house.pass(10 * MINUTE_MS)
    expect([house.acts, house.ends()]).toEqual([[], ['missed']])
    expect(JSON.stringify(await house.later({}))).toContain('its clock was set')
    await house.close()
  })

  it('either runs or is cancelled when both happen at the same moment', async () => {
    for (const isCancelledFirst of [true, false]) {
      const house = await open()
      const { id = '' } = await house.plan()
      house.clock.advance(10 * MINUTE_MS)
      if (!isCancelledFirst) house.look()
      const cancelling = house.later({ cancel: id })
      house.look()
      const { say } = await cancelling
      await house.settled()
      await house.pass(1_000)
      const isCancelled = typeof say === 'string' && say.startsWith('Cancelled')
      expect([house.acts, house.ends()]).toEqual(isCancelled ? [[], ['cancelled']] : [['test.lamp on'], ['done']])
      expect(house.reports).toEqual([])
      await house.close()
    }
  })

  it('is refused when its token was revoked or is an observer’s by then', async () => {
    for (const now of [undefined, { kind: 'principal', id: 'agent', role: 'observer' } as const]) {
      const house = await open()
      await house.plan()
      if (now === undefined) house.names.delete('agent')
      else house.names.set('agent', now)
      await house.pass(10 * MINUTE_MS)
      expect([house.acts, house.ends()]).toEqual([[], ['refused']])
      await house.close()
    }
  })

  it('announces that it will need an approval, waits for it, and runs afterwards', async () => {
    const house = await open()
    await house.guard.tokens.create(OWNER_PRINCIPAL, { name: 'anna', role: 'approver' })
    expect(await house.plan('test.door')).toMatchObject({ asks_a_person: true })
    await house.pass(10 * MINUTE_MS)
    expect(house.acts).toEqual([])
    const [asked] = house.guard.approvals.list({ state: 'requested' })
    await house.guard.approvals.approve(asked?.id ?? '', { kind: 'principal', id: 'anna', role: 'approver' })
    await house.pass(0)
    await house.pass(1_000)
    expect(house.acts).toEqual(['test.door on'])
    expect(house.ends()).toEqual(['done'])
    await house.close()
  })

  it('ends when its approval is denied', async () => {
    const house = await open()
    await house.guard.tokens.create(OWNER_PRINCIPAL, { name: 'anna', role: 'approver' })
    await house.plan('test.door')
    await house.pass(10 * MINUTE_MS)
    const [asked] = house.guard.approvals.list({ state: 'requested' })
    await house.guard.approvals.deny(asked?.id ?? '', { kind: 'principal', id: 'anna', role: 'approver' }, 'no')
    await house.pass(1_000)
    expect([house.acts, house.ends()]).toEqual([[], ['denied']])
    await house.close()
  })

  it('can be cancelled by its planner or the owner, and is hidden from others', async () => {
    const house = await open()
    const { id = '' } = await house.plan()
    expect(await house.later({ cancel: id }, 'other')).toMatchObject({
      fault: 'not-found',
      say: expect.stringContaining('no planned') as string,
    })
    expect(await house.later({}, 'other')).toMatchObject({ planned: [] })
    expect(await house.later({}, 'owner')).toMatchObject({ planned: [{ id }] })
    expect(await house.later({ cancel: id }, 'owner')).toMatchObject({
      say: expect.stringContaining('Cancelled') as string,
    })
    await house.pass(10 * MINUTE_MS)
    expect([house.acts, house.ends()]).toEqual([[], ['cancelled']])
    await house.close()
  })

  it('is planned once when a client repeats it, and limited to twenty', async () => {
    const house = await open()
    const { id } = await house.plan()
    expect(await house.plan()).toMatchObject({ id })
    for (let index = 1; index < 20; index++) await house.plan('test.lamp', { in_minutes: 10 + index * 2 })
    expect(await house.plan('test.lamp', { in_minutes: 900 })).toMatchObject({ fault: 'busy' })
    await house.close()
  })

  it.each([
    [{ call: { tool: 'test.nothing', arguments: {} }, in_minutes: 5, why: 'a wish' }, 'no tool'],
    [{ call: { tool: 'later', arguments: {} }, in_minutes: 5, why: 'a wish' }, 'cannot plan another'],
    [{ call: { tool: 'test.lamp', arguments: { to: 'on', pin: '1234' } }, in_minutes: 5, why: 'a wish' }, 'secret'],
    [{ call: { tool: 'test.lamp', arguments: {} }, in_minutes: 5, why: 'a wish' }, 'to'],
    [{ call: { tool: 'test.lamp', arguments: { to: 'on' } }, why: 'a wish' }, 'in_minutes'],
    [{ call: { tool: 'test.lamp', arguments: { to: 'on' } }, in_minutes: 5 }, 'why'],
  ])('that could not run is refused when it is planned (%#)', async (body, about) => {
    const house = await open()
    expect((await house.later(body))['say']).toContain(about)
    expect(await house.later({})).toMatchObject({ planned: [] })
    await house.close()
  })
})

describe('parseDueTime', () => {
  const now = new Date(2026, 10, 17, 20, 0).getTime()

  it.each([
    [{ in_minutes: 10 }, new Date(2026, 10, 17, 20, 10)],
    [{ at: '22:30' }, new Date(2026, 10, 17, 22, 30)],
    [{ at: '7:05' }, new Date(2026, 10, 18, 7, 5)],
    [{ at: '2026-11-20T18:00' }, new Date(2026, 10, 20, 18, 0)],
    [{ at: '2026-11-20T18:00:00Z' }, new Date(Date.UTC(2026, 10, 20, 18, 0))],
  ])('reads %j', (wish, due) => {
    expect(parseDueTime(wish, now)).toBe(due.getTime())
  })

  it.each([
    {},
    { in_minutes: 5, at: '22:30' },
    { at: '25:00' },
    { at: 'tomorrow' },
    { at: '2026-11-16T18:00' },
    { at: '2027-03-01T00:00' },
  ])('refuses %j', (wish) => {
    expect(parseDueTime(wish, now)).toEqual(expect.any(String))
  })
})
