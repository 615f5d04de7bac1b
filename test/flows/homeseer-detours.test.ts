/**
 * Detours: ways to open the house without asking, beside the direct ones (homeseer-red-team.test.ts): triggers of events,
 * events that nobody can read, doors in other words and languages, code behind trusted names, names that others taught,
 * administration. With event files that can be read, that are elsewhere, damaged, or hold what nobody here knows; with
 * and without lists and rules.
 *
 * No attempt reaches the simulated HomeSeer at all, so nothing can move in it; and every attempt is in the ledger.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import type { Caller } from '../../src/bus/call.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { createHardCaseDevices } from '../../src/sim/homeseer/hard-case-devices.ts'
import { createDemoEvents, createSimulatedEvent, type SimulatedEvent } from '../../src/sim/homeseer/simulated-system.ts'
import type { SimulatedTrigger } from '../../src/sim/homeseer/trigger.ts'
import { createBarrierDevices } from '../barrier-devices.ts'
import { ANYTHING, LOCK_TARGET, reachedBy as reached } from '../homeseer-attempts.ts'
import type { Attempt } from '../homeseer-attempts.ts'
import { ADMIN_CLAIMS, ADMIN_OPEN, AGENT, at, CLAIMS, openHouse, openWorld, GUARD } from '../homeseer-rig.ts'
import type { World } from '../homeseer-rig.ts'

const UNLOCK = [{ ref: 141, value: 0, label: 'Unlock' }]
const LAMP_ON = [{ ref: 120, value: 255, label: 'On' }]

const TRIGGERS: readonly SimulatedTrigger[] = [
  { ref: 199, kind: 'equals', value: 255 },
  { ref: 199, kind: 'equals', value: 0 },
  { ref: 199, kind: 'not-equals', value: 7 },
  { ref: 199, kind: 'above', value: 100 },
  { ref: 199, kind: 'below', value: 300 },
  { ref: 199, kind: 'range', value: 1, end: 300 },
  { ref: 199, kind: 'any-change' },
  { ref: 199, kind: 'set' },
  { ref: 199, kind: 'has-been', value: 255, forMs: 50 },
  { ref: undefined, kind: 'any-change' },
]

/** Event 60 opens the lock by this trigger; 61 sets the switch; 62 runs 60; 63 opens it by its own action. */
function eventsBy(trigger: SimulatedTrigger): readonly SimulatedEvent[] {
  const event = (id: number, name: string, more: Partial<SimulatedEvent>) =>
    createSimulatedEvent({ id, group: 'Night', name, ...more })
  return [
    ...createDemoEvents(),
    event(60, 'Walk', { triggers: [[trigger]], actions: UNLOCK }),
    event(61, 'Cosy', {
      actions: [
        { ref: 199, value: 255, label: 'On' },
        { ref: 199, value: 0, label: 'Off' },
      ],
    }),
    event(62, 'Round', { runs: [60] }),
    event(63, 'Goodnight', { actions: [...LAMP_ON, ...UNLOCK] }),
    event(64, 'Reading', { actions: LAMP_ON }),
  ]
}

type Files = 'readable' | 'elsewhere' | 'damaged' | 'unknown members'
const FILES: readonly Files[] = ['readable', 'elsewhere', 'damaged', 'unknown members']

/** What the owner wrote. */
const CONFIGS: readonly (readonly [owner: string, homeseer: JsonObject, guard: readonly JsonObject[]])[] = [
  ['nothing', {}, []],
  ['a list of 199 and 120', { allow: { devices: [199, 120] } }, []],
  ['a rule against 141', {}, [{ target: 'homeseer:ref:141', says: 'forbid' }]],
]

let attempts = 0
let world: World | undefined

afterEach(async () => {
  await world?.close()
  world = undefined
})

async function openWith(files: Files, events: readonly SimulatedEvent[]): Promise<World> {
  world = await openWorld({ events, parts: [...createHardCaseDevices(), ...createBarrierDevices()] })
  const path = world.simulator.eventFiles?.events ?? ''
  if (files === 'elsewhere') rmSync(path)
  if (files === 'damaged') writeFileSync(path, readFileSync(path, 'utf8').slice(0, -40))
  if (files === 'unknown members') {
    const records = JSON.parse(readFileSync(path, 'utf8')) as JsonObject[]
    writeFileSync(
      path,
      JSON.stringify(
        // What opens the lock is hidden where nobody looks.
        records.map((record) =>
          record['evRef'] === 60 || record['evRef'] === 63
            ? { ...record, ConditionalActions: [{ mvarActions: {} }], mvarElse: record['ConditionalActions'] ?? null }
            : record,
        ),
      ),
    )
  }
  return world
}

const reachedBy: typeof reached = (...attempt) => {
  attempts++
  return reached(...attempt)
}

const CHAINS: readonly Attempt[] = [
  { how: 'the switch on', tool: 'hs4.devices.set', args: { ref: 199, value: 255, ...CLAIMS } },
  { how: 'the switch off', tool: 'hs4.devices.set', args: { ref: 199, value: 0, ...CLAIMS } },
  { how: 'its memory', tool: 'hs4.devices.set', args: { ref: 199, mode: 'set_status', value: 255, ...CLAIMS } },
  { how: 'another memory', tool: 'hs4.devices.set', args: { ref: 199, mode: 'set_status', value: 42, ...CLAIMS } },
  { how: 'an event that sets it', tool: 'hs4.events.run', args: { id: 61, ...CLAIMS } },
  { how: 'an event that runs it', tool: 'hs4.events.run', args: { id: 62, ...CLAIMS } },
  { how: 'the event itself', tool: 'hs4.events.run', args: { group: 'Night', name: 'Walk', ...CLAIMS } },
  { how: 'an event that opens', tool: 'hs4.events.run', args: { id: 63, ...CLAIMS } },
  {
    how: 'by its name',
    tool: 'hs4.intent.device_set_by_name',
    args: { query: 'Evening', value: 255, execute: true, ...CLAIMS },
  },
  { how: 'by a scene', tool: 'hs4.intent.scene_activate', args: { objective: 'Goodnight', execute: true, ...CLAIMS } },
]

/** The lock where the files say so; where nobody can read what an event does, that it may be anything. */
function namedBy(files: Files, { tool }: Attempt): readonly string[] {
  if (files === 'readable') return [LOCK_TARGET]
  // A device is told something itself; what its events do then, nobody knows. Its label says so.
  if (tool !== 'hs4.events.run') return []
  return [ANYTHING]
}

describe.each(FILES)('a chain of events, event files %s', (files) => {
  it.each(CONFIGS)('never opens a lock without approval where the owner wrote %s', async (_, homeseer, rules) => {
    for (const trigger of files === 'readable' ? TRIGGERS : [TRIGGERS[0], TRIGGERS[8]].flatMap((one) => one ?? [])) {
      const opened = await openWith(files, eventsBy(trigger))
      await using house = await openHouse(opened, { homeseer, config: { guard: { ...GUARD, rules: [...rules] } } })
      for (const attempt of CHAINS)
        expect(
          await reachedBy(
            house,
            opened,
            { ...attempt, how: `${trigger.kind}, ${attempt.how}` },
            namedBy(files, attempt),
          ),
        ).toEqual([])
      await opened.close()
    }
    world = undefined
  })
})

describe('devices whose names and types say nothing', () => {
  it('move nothing without an approval, in any language', async () => {
    const opened = await openWith('readable', createDemoEvents())
    await using house = await openHouse(opened)
    for (const { record, pairs } of createBarrierDevices())
      for (const { label, value } of pairs)
        expect(
          await reachedBy(
            house,
            opened,
            {
              how: `${record.name} ${label}`,
              tool: 'hs4.devices.set',
              args: { ref: record.ref, value: value ?? 0, ...CLAIMS },
            },
            [`homeseer:ref:${record.ref}`],
          ),
        ).toEqual([])
  })
})

describe('script code', () => {
  const TRUST = [
    { target: 'homeseer:script:evening.vb', says: 'trust' },
    { target: 'homeseer:plugin:hue:refresh', says: 'trust' },
  ]

  it.each([
    'evening.vb(1);&hs.SetDeviceValueByRef(141,0,true)',
    'evening.vb & hs.SetDeviceValueByRef(141,0,true)',
    'evening.vb("x" & hs.CAPIControlHandler(141))',
    'evening.vb\nhs.SetDeviceValueByRef(141,0,true)',
    'evening.vb:hs.SetDeviceValueByRef(141,0,true)',
    'evening.vb(1)',
    'evening.vb("Unlock")',
  ])('%j is not covered by a trust rule for the plain script', async (command) => {
    const opened = await openWith('readable', createDemoEvents())
    await using house = await openHouse(opened, { config: { guard: { ...GUARD, rules: TRUST } } })
    expect(
      await reachedBy(house, opened, { how: command, tool: 'hs4.scripts.run', args: { command, ...CLAIMS } }),
    ).toEqual([])
    expect(opened.simulator.system.deeds.filter(({ kind }) => kind === 'script')).toEqual([])
    const trusted = await house.call('hs4.scripts.run', { command: 'evening.vb', ...CLAIMS })
    expect(trusted).toMatchObject({ result: { invoked: true } })
    const params = { plugin: 'Hue', functionName: 'Refresh', params: [141, 0], ...CLAIMS }
    expect(
      await reachedBy(house, opened, { how: 'parameters', tool: 'hs4.plugins.function.call', args: params }),
    ).toEqual([])
    expect(opened.simulator.system.deeds.filter(({ kind }) => kind === 'plugin-function')).toEqual([])
  })
})

describe('script code while the owner forbids one device', () => {
  const FORBID = [{ target: 'homeseer:ref:141', says: 'forbid' }]

  it.each([
    ['hs4.scripts.run', { command: 'hs.SetDeviceValueByRef(141,0,true)', ...CLAIMS }],
    ['hs4.scripts.run', { command: 'evening.vb', ...CLAIMS }],
    ['hs4.plugins.function.call', { plugin: 'Hue', functionName: 'Refresh', params: [141, 0], ...CLAIMS }],
  ])('is refused without asking a person: %s %j', async (tool, args) => {
    const opened = await openWith('readable', createDemoEvents())
    await using house = await openHouse(opened, { config: { guard: { ...GUARD, rules: FORBID } } })
    expect(await reachedBy(house, opened, { how: tool, tool, args }, [ANYTHING])).toEqual([])
    expect(await house.approveAll()).toBe(0)
  })

  it('runs after an approval if the owner has listed that exact call', async () => {
    const opened = await openWith('readable', createDemoEvents())
    const listed = { homeseer: { allow: { scripts: ['evening.vb'] } }, config: { guard: { ...GUARD, rules: FORBID } } }
    await using house = await openHouse(opened, listed)
    const run = { command: 'evening.vb', ...CLAIMS }
    expect(await house.call('hs4.scripts.run', run)).toMatchObject({ error: { code: 'POLICY_DENY' } })
    expect(await house.approveAll()).toBe(1)
    expect(await house.call('hs4.scripts.run', run)).toMatchObject({ result: { invoked: true } })
  })
})

describe('aliases', () => {
  it('that one agent confirmed are not used for another agent', async () => {
    const opened = await openWith('readable', createDemoEvents())
    await using house = await openHouse(opened)
    const ask = async (caller: Caller, response?: JsonObject) =>
      house.gateway.bus.call(
        'hs4.intent.device_set_by_name',
        undefined,
        { query: 'Lamp Bedroom', value: 255, execute: true, ...CLAIMS },
        {
          caller,
          channel: 'mcp-http',
          interaction: {
            clientCapabilities: { elicitation: {} },
            ...(response === undefined ? {} : { inputResponses: { target: response } }),
          },
        },
      )
    await ask(AGENT, { action: 'accept', content: { choice: '191' } })
    const other: Caller = { kind: 'principal', id: 'other', role: 'agent' }
    const mine = await house.call('hs4.resolve.devices', { query: 'Lamp Bedroom' })
    const theirs = await house.call('hs4.resolve.devices', { query: 'Lamp Bedroom' }, other)
    expect(at(mine, 'result', 'verdict', 'kind')).toBe('act')
    expect(at(theirs, 'result', 'verdict', 'kind')).toBe('ask')
    attempts++
  })
})

describe('admin operations with every admin domain enabled', () => {
  const ACTS: readonly (readonly [tool: string, args: JsonObject])[] = [
    ['hs4.admin.users.create', { username: 'eve', password: 'eve-password', role: 'admin' }],
    ['hs4.admin.users.update', { userId: 'default', password: 'mine' }],
    ['hs4.admin.users.set_role', { userId: 'guest', role: 'admin' }],
    ['hs4.admin.users.delete', { userId: 'anna' }],
    ['hs4.admin.plugins.remove', { pluginId: 'Z-Wave' }],
    ['hs4.admin.plugins.install', { pluginId: 'Evil' }],
    ['hs4.admin.plugins.set_enabled', { pluginId: 'Z-Wave', enabled: false }],
    ['hs4.admin.interfaces.remove', { interfaceId: 'zwave-1' }],
    ['hs4.admin.system.config.set', { key: 'gNoPW192', value: true }],
    ['hs4.admin.system.shutdown', {}],
    ['hs4.admin.system.service.restart', {}],
    ['hs4.admin.system.restore.start', { backupId: 'backup-1' }],
    ['hs4.admin.cameras.recording.set', { camId: 1, enabled: false }],
    ['hs4.admin.config.device_metadata.set', { ref: 150, property: 'Name', value: 'Lamp' }],
    ['hs4.admin.events.delete', { eventId: 35 }],
    ['hs4.admin.events.create', { group: 'a', name: 'b', definition: { actions: [{ ref: 141, value: 0 }] } }],
    ['hs4.admin.events.create', { group: 'a', name: 'c', definition: { actions: [{ ref: 199, value: 255 }] } }],
  ]

  it.each(ACTS)('%s needs an approval', async (tool, args) => {
    const opened = await openWith('readable', eventsBy({ ref: 199, kind: 'equals', value: 255 }))
    await using house = await openHouse(opened, { homeseer: { admin: { ...ADMIN_OPEN } } })
    const answer = await house.call(tool, { ...args, ...ADMIN_CLAIMS })
    expect(answer).toMatchObject({ error: { code: 'POLICY_DENY', details: { approval: { state: 'requested' } } } })
    expect(opened.simulator.system.deeds).toEqual([])
    attempts++
  })
})

describe('the class of a device', () => {
  const OWNER_OF_HOUSE: Caller = { kind: 'principal', id: 'owner', role: 'admin' }

  it('can be changed by the owner only, and applies at once', async () => {
    const opened = await openWith('readable', createDemoEvents())
    await using house = await openHouse(opened)
    const lock = { ref: 141, kind: 'light' }
    const narrowed: Caller = { kind: 'principal', id: 'part', role: 'admin', restrictions: { devices: ['homeseer:*'] } }
    for (const caller of [AGENT, { ...AGENT, role: 'approver' as const }, narrowed])
      expect(
        await reachedBy(
          house,
          opened,
          { how: 'a lock named a lamp', tool: 'hs4.classes.correct', args: lock, caller },
          [LOCK_TARGET],
        ),
      ).toEqual([])
    const unlock = { ref: 141, value: 0, ...CLAIMS }
    expect(at(await house.call('hs4.devices.set', unlock), 'error', 'code')).toBe('POLICY_DENY')
    const asked = await house.call('hs4.devices.set', { ref: 120, value: 255, ...CLAIMS, dryRun: true })
    expect(at(asked, 'result', 'approvalNeeded')).toBe(false)
    const said = await house.call('hs4.classes.correct', { ref: 120, kind: 'door' }, OWNER_OF_HOUSE)
    expect(said).toMatchObject({ result: { ref: 120, kind: 'door', asks: true, corrected: true } })
    const after = await house.call('hs4.devices.set', { ref: 120, value: 255, ...CLAIMS, dryRun: true })
    expect(at(after, 'result', 'approvalNeeded')).toBe(true)
    const list = await house.call('hs4.classes.list', {}, OWNER_OF_HOUSE)
    expect(at(list, 'result', 'devices')).toContainEqual(
      expect.objectContaining({
        ref: 141,
        kind: 'lock',
        asks: true,
        because: expect.arrayContaining([expect.any(String)]),
      }),
    )
    await house.call('hs4.classes.correct', { ref: 120 }, OWNER_OF_HOUSE)
    const withdrawn = await house.call('hs4.devices.set', { ref: 120, value: 255, ...CLAIMS, dryRun: true })
    expect(at(withdrawn, 'result', 'approvalNeeded')).toBe(false)
  })
})

describe('the consequences of a change through events', () => {
  it('are named in the approval request and in the ledger', async () => {
    const opened = await openWith('readable', eventsBy({ ref: 199, kind: 'equals', value: 255 }))
    await using house = await openHouse(opened)
    const answer = await house.call('hs4.devices.set', { ref: 199, value: 255, ...CLAIMS })
    expect(at(answer, 'error', 'message')).toMatch(/Front Door Lock \(141\)/)
    const [question] = house.gateway.guard.approvals.list({ state: 'requested', limit: 10 })
    expect(JSON.stringify(question)).toContain('Night / Walk, id 60')
    await house.approveAll()
    expect(await house.call('hs4.devices.set', { ref: 199, value: 255, ...CLAIMS })).toMatchObject({
      result: { applied: true },
    })
    // And it is true: HomeSeer fires the trigger, whoever wrote the value.
    await expect.poll(() => opened.simulator.house.hardware(141)?.value).toBe(0)
    attempts++
  })
})

it('this file makes at least three hundred attempts', () => {
  expect(attempts).toBeGreaterThanOrEqual(300)
})
