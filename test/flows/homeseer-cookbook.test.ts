/**
 * The README and the runbook of mcp-hs4, the contract's first implementation: every call that they show, made here
 * with the answer that they document. Where ours differs, the row of the table of differences is named
 * (docs/protocols/homeseer.md), and the last test holds these names against the table. HTTP probes are in
 * homeseer-transcript.test.ts (C21 to C23).
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { createHardCaseDevices } from '../../src/sim/homeseer/hard-case-devices.ts'
import {
  DIMMER_DISPLAY,
  DIMMER_CONTROLS,
  createSimulatedHomeseerDevice,
} from '../../src/sim/homeseer/simulated-homeseer-device.ts'
import { createDemoEvents, createSimulatedEvent } from '../../src/sim/homeseer/simulated-system.ts'
import { ADMIN_CLAIMS, ADMIN_OPEN, at, CLAIMS, openHouse, openWorld } from '../homeseer-rig.ts'
import type { Answer, House, World } from '../homeseer-rig.ts'

/** The names that the cookbook uses. */
const COFFEE_BAR = 610
const OVERHEAD_MASTER = 611
const OVERHEAD = 612

/** Rows of the table of differences that this file relies on, by what stands first in them. */
const differences = new Set<string>()

function differsBy(row: string): void {
  differences.add(row)
}

let world: World
let house: House

beforeAll(async () => {
  world = await openWorld({
    events: [
      ...createDemoEvents(),
      createSimulatedEvent({
        id: 70,
        group: 'Scenes',
        name: 'Movie Time',
        actions: [{ ref: COFFEE_BAR, value: 20, label: 'Dim 20%' }],
      }),
      createSimulatedEvent({ id: 71, group: 'Scenes', name: 'Coffee Bar Evening', actions: [] }),
    ],
    parts: [
      ...createHardCaseDevices(),
      createSimulatedHomeseerDevice({
        ref: COFFEE_BAR,
        name: 'Coffee Bar',
        location: 'Kitchen',
        pairs: DIMMER_CONTROLS,
        display: DIMMER_DISPLAY,
      }),
      createSimulatedHomeseerDevice({
        ref: OVERHEAD_MASTER,
        name: 'Bar Overhead Light Master',
        location: 'Kitchen',
        relationship: 2,
        associatedRefs: [OVERHEAD],
      }),
      createSimulatedHomeseerDevice({
        ref: OVERHEAD,
        name: 'Bar Overhead Light',
        location: 'Kitchen',
        relationship: 4,
        associatedRefs: [OVERHEAD_MASTER],
        pairs: DIMMER_CONTROLS,
        display: DIMMER_DISPLAY,
      }),
    ],
  })
  house = await openHouse(world, { homeseer: { admin: { ...ADMIN_OPEN } } })
})

afterAll(async () => {
  await house[Symbol.asyncDispose]()
  await world.close()
})

async function result(tool: string, args: JsonObject = {}): Promise<JsonObject> {
  const answer = await house.call(tool, args)
  expect({ tool, ...answer }).toHaveProperty('result')
  return answer['result'] as JsonObject
}

function codeOf(answer: Answer): unknown {
  return at(answer, 'error', 'code')
}

const SCENE = 'hs4.intent.scene_activate'
const BY_NAME = 'hs4.intent.device_set_by_name'
const SET = 'hs4.devices.set'

describe('cookbook recipe', () => {
  it('1: activates a scene by its event, deterministically', async () => {
    const wish = {
      objective: 'movie time',
      preferPath: 'event',
      execute: false,
      dryRun: true,
      confirm: true,
      intent: 'Activate movie time scene',
      reason: 'Event-first deterministic scene activation',
    }
    const planned = await result(SCENE, wish)
    expect(planned).toMatchObject({ path: 'event', execute: false, prepared: { prepared: true } })
    expect(planned['selection']).toMatchObject({ selectedPath: 'event', reason: 'prefer_path_event' })
    const done = await result(SCENE, { ...wish, execute: true, dryRun: false })
    expect(done).toMatchObject({ path: 'event', execute: true, committed: { committed: true } })
    expect(world.simulator.house.hardware(COFFEE_BAR)?.value).toBe(20)
  })

  it('1: answers NOT_FOUND when no event has the name, and the device path works', async () => {
    const wish = { objective: 'kitchen lamp', execute: false, dryRun: true, ...CLAIMS }
    const answer = await house.call(SCENE, { ...wish, preferPath: 'event' })
    expect(codeOf(answer)).toBe('NOT_FOUND')
    expect(at(answer, 'error', 'details', 'preferPath')).toBe('event')
    expect(await result(SCENE, { ...wish, preferPath: 'device_fallback' })).toMatchObject({ path: 'device_fallback' })
  })

  it('2: activates a scene by a device', async () => {
    const wish = {
      objective: 'coffee bar',
      preferPath: 'device_fallback',
      fallbackDeviceValue: 99,
      execute: false,
      dryRun: true,
      confirm: true,
      intent: 'Direct device fallback activation',
      reason: 'Prefer endpoint control over event path',
    }
    expect(await result(SCENE, wish)).toMatchObject({ path: 'device_fallback', execute: false })
    const done = await result(SCENE, { ...wish, execute: true, dryRun: false })
    expect(done).toMatchObject({
      execute: true,
      selection: { selectedPath: 'device_fallback', reason: 'prefer_path_device_fallback' },
    })
    expect(world.simulator.house.hardware(COFFEE_BAR)?.value).toBe(99)
  })

  it('3: finds endpoints, writes and reads back', async () => {
    for (const [query, ref] of [
      ['coffee bar', COFFEE_BAR],
      ['bar overhead light', OVERHEAD],
    ] as const) {
      const found = await result('hs4.resolve.devices', { query, includeEvidence: true })
      expect(found['recommendedRef']).toBe(ref)
      expect(found['items']).toContainEqual(expect.objectContaining({ ref, recommended: true }))
      const written = await result(SET, { ref, mode: 'control_value', value: 99, verify: true, ...CLAIMS })
      expect(written).toMatchObject({
        applied: true,
        requestedMode: 'control_value',
        mode: 'control_value',
        verification: { matched: true },
      })
      const read = await result('hs4.devices.get', { refs: [ref], includeControls: true })
      expect(read['items']).toContainEqual(expect.objectContaining({ ref, value: 99, status: 'On' }))
    }
  })

  it('4: warns about a wrapper and names its endpoint, which is then set', async () => {
    const wish = { mode: 'control_value', value: 99, dryRun: true, ...CLAIMS }
    // The name is the wrapper's own, and a wrapper has no control: there it was planned and failed at the commit.
    const first = await house.call(BY_NAME, { query: 'bar overhead light master', ...wish })
    const warnings = at(first, 'error', 'details', 'warnings') ?? at(first, 'result', 'warnings')
    expect(warnings).toContainEqual(
      expect.objectContaining({ code: 'PARENT_OR_WRAPPER_TARGET', suggestedRef: OVERHEAD }),
    )
    differsBy('a wrapper without controls is planned for')
    expect(await result(SET, { ref: OVERHEAD, ...wish })).toMatchObject({ dryRun: true })
    expect(await result(SET, { ref: OVERHEAD, ...wish, dryRun: false })).toMatchObject({ applied: true })
  })

  it('5: recovers a device by switching it off and on', async () => {
    for (const value of [0, 99]) {
      const pulse = await result(SET, { ref: OVERHEAD, mode: 'control_value', value, verify: true, ...CLAIMS })
      expect(pulse).toMatchObject({ applied: true, verification: { matched: true, observed: { value } } })
    }
    const wish = { objective: 'bar overhead light', preferPath: 'device_fallback', ...CLAIMS }
    expect(await result(SCENE, { ...wish, dryRun: true })).toMatchObject({ execute: false })
    expect(await result(SCENE, { ...wish, fallbackDeviceValue: 99, execute: true })).toMatchObject({ execute: true })
  })
})

describe('example in the README', () => {
  const script = {
    command: 'my_script(arg1)',
    confirm: true,
    intent: 'recover interface',
    reason: 'operator request',
  }

  it('script call: needs the approval of a person', async () => {
    differsBy('locks, events and scripts need `confirm`')
    const answer = await house.call('hs4.scripts.run', script)
    expect(answer).toMatchObject({ error: { code: 'POLICY_DENY', details: { approval: { state: 'requested' } } } })
  })

  it('script call with admin arguments: ignores them', async () => {
    differsBy('unknown arguments are stripped silently')
    const more = {
      operationTier: 'admin',
      domain: 'system',
      maintenanceWindowId: 'MW-2026-02-23-02',
      changeTicket: 'CHG-4821',
      riskLevel: 'medium',
    }
    const answer = await house.call('hs4.scripts.run', { ...script, ...more, dryRun: true })
    expect(answer).toMatchObject({ result: { dryRun: true } })
  })

  it('errors: have the documented members', async () => {
    for (const answer of [
      await house.call(SET, { ref: COFFEE_BAR, value: 99 }),
      await house.call(SET, { ref: 99_999, value: 99, ...CLAIMS }),
      await house.call(SET, { ref: 'x' }),
      await house.call('hs4.events.get', { id: 999 }),
    ])
      expect(answer['error']).toEqual(
        expect.objectContaining({
          code: expect.any(String),
          message: expect.any(String),
          retryable: expect.any(Boolean),
          fixHint: expect.any(String),
          suggestedNextToolCalls: expect.any(Array),
        }),
      )
    differsBy('arguments that break the schema are a plain text')
    differsBy('a missing event is `BAD_REQUEST`')
  })
})

describe('step of the runbook’s smoke test', () => {
  it('1 to 4: health, selftest, routes and resolvers', async () => {
    expect(await result('hs4.health.get')).toMatchObject({ safeMode: 'read_write', hs4Version: expect.any(String) })
    const selftest = await result('hs4.selftest.run')
    expect(['pass', 'warn']).toContain(selftest['status'])
    const route = await result('hs4.help.route', { goal: 'turn on the coffee bar' })
    expect(at(route, 'routes', 0, 'steps', 0)).toMatchObject({
      tool: expect.stringMatching(/^hs4\./),
      argsTemplate: expect.any(Object),
    })
    for (const [tool, query] of [
      ['hs4.resolve.devices', 'coffee bar'],
      ['hs4.resolve.events', 'movie time'],
      ['hs4.resolve.cameras', 'driveway'],
    ] as const) {
      const [first, second] = [await result(tool, { query }), await result(tool, { query })]
      expect(first['items']).toEqual(second['items'])
    }
  })

  it('5: an endpoint is recommended, not its wrapper', async () => {
    const found = await result('hs4.resolve.devices', { query: 'bar overhead' })
    expect(found['recommendedRef']).toBe(OVERHEAD)
  })

  it('6 and 7: paths of scenes', async () => {
    const wish = { dryRun: true, ...CLAIMS }
    const fallback = await result(SCENE, { objective: 'coffee bar', preferPath: 'device_fallback', ...wish })
    expect(at(fallback, 'selection', 'selectedPath')).toBe('device_fallback')
    const missing = await house.call(SCENE, { objective: 'kitchen lamp', preferPath: 'event', ...wish })
    expect(missing).toMatchObject({ error: { code: 'NOT_FOUND', details: { preferPath: 'event' } } })
  })

  it('8 to 11: lists, children, missing refs, bounded status', async () => {
    const list = await result('hs4.devices.list', { location1: 'Kitchen', limit: 2 })
    expect(list).toMatchObject({ returned: 2, limit: 2, offset: 0 })
    const got = await result('hs4.devices.get', { refs: [OVERHEAD_MASTER], resolveChildren: true })
    expect(got['resolvedRefs']).toContain(OVERHEAD)
    expect(await result('hs4.devices.get', { refs: [OVERHEAD, 99_999] })).toMatchObject({ missing: [99_999] })
    const status = await result('hs4.devices.status.get', { maxDevices: 3, fresh: true })
    expect(status).toMatchObject({ returnedDevices: 3, truncated: true })
  })

  it('12 to 15: events, their definitions, plug-ins', async () => {
    expect(at(await result('hs4.events.list'), 'total')).toBeGreaterThan(3)
    expect(await result('hs4.events.get', { id: 70 })).toMatchObject({ matchedBy: 'id', name: 'Movie Time' })
    const definition = await result('hs4.events.definition.get', { id: 70 })
    expect(at(definition, 'refs', 'actionDeviceRefs')).toEqual([COFFEE_BAR])
    expect(definition['resolvedDevices']).toContainEqual(expect.objectContaining({ ref: COFFEE_BAR }))
    expect(at(await result('hs4.plugins.list'), 'plugins', 0)).toMatchObject({ id: expect.any(String) })
  })

  it('16 and 17: resources exist', () => {
    const uris = house.gateway.bus.offers().flatMap(({ face }) => (face.kind === 'resource' ? [face.uri] : []))
    for (const uri of [
      'hs4://state/summary',
      'hs4://catalog/aliases',
      'hs4://agent/contract',
      'hs4://admin/policy/state',
    ])
      expect(uris).toContain(uri)
  })

  it('18 to 21: mutations', async () => {
    expect(await result(SET, { ref: COFFEE_BAR, value: 0, dryRun: true })).toMatchObject({ dryRun: true })
    const real = { ref: COFFEE_BAR, mode: 'control_value', value: 0, verify: true, ...CLAIMS }
    expect(await result(SET, real)).toMatchObject({ applied: true, verification: { matched: true } })
    const switched = await result(SET, { ...real, mode: 'set_status', value: 99 })
    expect(switched).toMatchObject({ mode: 'control_value', modeAutoSwitch: expect.any(String) })
    const prepared = await result('hs4.change.prepare', { toolName: SET, args: real })
    const committed = await result('hs4.change.commit', { token: prepared['token'] ?? '' })
    expect(committed).toMatchObject({ committed: true, toolName: SET, data: { applied: true } })
  })

  it('22 to 25: administration', async () => {
    await using closed = await openHouse(world)
    const create = { username: 'eve', ...ADMIN_CLAIMS, operationTier: 'admin', domain: 'users' }
    expect(codeOf(await closed.call('hs4.admin.users.create', create))).toBe('POLICY_DENY')
    await using partly = await openHouse(world, { homeseer: { admin: { ...ADMIN_OPEN, system: false } } })
    const setting = { key: 'x', value: 1, ...ADMIN_CLAIMS, operationTier: 'admin', domain: 'system' }
    expect(codeOf(await partly.call('hs4.admin.system.config.set', setting))).toBe('POLICY_DENY')
    const planned = await result('hs4.admin.users.create', { ...create, dryRun: true })
    expect(planned).toMatchObject({ result: 'planned' })
    const live = await house.call('hs4.admin.users.create', create)
    expect(live).toMatchObject({ error: { code: 'POLICY_DENY', details: { approval: { state: 'requested' } } } })
    differsBy('administration needs flags, window, ticket')
  })

  it('finds every gate decision in the audit', async () => {
    const blocked = await result('hs4.audit.query', { tool: 'hs4.admin.users.create', limit: 10 })
    expect(blocked['entries']).toContainEqual(expect.objectContaining({ result: 'blocked' }))
  })
})

describe('HomeSeer resources', () => {
  it('stay below a size limit with 2,500 devices, and name the tool for the rest', async () => {
    const large = await openWorld({ sensors: 2_500 })
    try {
      await using full = await openHouse(large)
      const uris = full.gateway.bus.offers().flatMap(({ face }) => (face.kind === 'resource' ? [face.uri] : []))
      const sizes = await Promise.all(
        uris.map(async (uri) => [uri, JSON.stringify(await full.call(uri)).length] as const),
      )
      expect(uris.length).toBeGreaterThanOrEqual(16)
      // Names alone were 1.2 MB.
      expect(sizes.filter(([, size]) => size > 300_000)).toEqual([])
      const names = (await full.call('hs4://catalog/aliases'))['result']
      expect(at(names, 'catalog')).toMatchObject({
        truncated: true,
        more: expect.stringContaining('hs4.resolve.devices'),
      })
      expect(at(names, 'catalog', 'entries', 0)).toMatchObject({
        kind: 'device',
        targetId: 100,
        canonicalName: 'Hall Lamp',
      })
      differsBy('resources hold every device')
    } finally {
      await large.close()
    }
  })
})

describe('the table of differences in docs/protocols/homeseer.md', () => {
  it('contains every difference that these calls show', () => {
    const document = readFileSync(new URL('../../docs/protocols/homeseer.md', import.meta.url), 'utf8')
    for (const row of differences) expect(document).toContain(`| ${row}`)
    expect(differences.size).toBe(7)
  })
})
