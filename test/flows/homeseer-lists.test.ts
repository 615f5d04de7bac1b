/**
 * The owner's allow lists: by ref, by id, by name, as ranges, empty, missing, malformed, changed between two starts and
 * under a gateway that runs; and every way round them that leads over something else which is allowed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { formatConfigProblem, parseConfig } from '../../src/config/config-file.ts'
import { applyHomeseerEnvironment } from '../../src/config/homeseer-environment.ts'
import { configSchema } from '../../src/config/schema.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { ADMIN_CLAIMS, ADMIN_OPEN, at, CLAIMS, openHouse, openWorld } from '../homeseer-rig.ts'
import type { Answer, House, World } from '../homeseer-rig.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())
beforeEach(() => {
  world.simulator.system.deeds.length = 0
})

function rulesIn(answer: Answer): unknown {
  return at(answer, 'error', 'details', 'rules')
}

function deeds(): readonly string[] {
  return world.simulator.system.deeds.map(({ kind }) => kind)
}

/** What each list holds, what is off it, and the call that asks for either. */
const LISTS: readonly {
  readonly list: string
  readonly rule: string
  readonly holds: JsonObject
  readonly tool: string
  readonly on: JsonObject
  readonly off: JsonObject
}[] = [
  {
    list: 'devices',
    rule: 'device-list',
    holds: { allow: { devices: [120] } },
    tool: 'hs4.devices.set',
    on: { ref: 120, value: 255 },
    off: { ref: 131, value: 40 },
  },
  {
    list: 'devices, as a range',
    rule: 'device-list',
    holds: { allow: { devices: ['115-125'] } },
    tool: 'hs4.devices.set',
    on: { ref: 120, value: 255 },
    off: { ref: 131, value: 40 },
  },
  {
    list: 'events',
    rule: 'event-list',
    holds: { allow: { events: [31] } },
    tool: 'hs4.events.run',
    on: { id: 31 },
    off: { id: 32 },
  },
  {
    list: 'events, asked for by group and name',
    rule: 'event-list',
    holds: { allow: { events: ['31-31'] } },
    tool: 'hs4.events.run',
    on: { group: 'EVENING', name: ' dim ground floor' },
    off: { group: 'Weekend', name: 'Movie Night' },
  },
  {
    list: 'scripts',
    rule: 'script-list',
    holds: { allow: { scripts: ['Evening.vb'] } },
    tool: 'hs4.scripts.run',
    on: { command: 'EVENING.VB("x")' },
    off: { command: 'announce.vb' },
  },
  {
    list: 'plug-in functions',
    rule: 'plugin-function-list',
    holds: { allow: { pluginFunctions: ['HUE:refresh'] } },
    tool: 'hs4.plugins.function.call',
    on: { plugin: 'hue', functionName: 'Refresh' },
    off: { plugin: 'Hue', functionName: 'Reset' },
  },
]

describe.each(LISTS)('an allow list of $list', ({ rule, holds, tool, on, off }) => {
  it('allows its entries and nothing else, direct or staged', async () => {
    await using house = await openHouse(world, { homeseer: holds })
    const allowed = await house.call(tool, { ...on, ...CLAIMS, dryRun: true })
    expect(at(allowed, 'result', 'dryRun')).toBe(true)
    expect(rulesIn(await house.call(tool, { ...off, ...CLAIMS }))).toEqual([rule])
    // Not even a plan is made for what is off the list.
    expect(rulesIn(await house.call(tool, { ...off, dryRun: true }))).toEqual([rule])
    expect(rulesIn(await house.call('hs4.change.prepare', { toolName: tool, args: { ...off, ...CLAIMS } }))).toEqual([
      rule,
    ])
    expect(deeds()).toEqual([])
  })

  it('allows nothing when it is empty', async () => {
    const [section = {}] = Object.values(holds)
    const empty = { allow: Object.fromEntries(Object.keys(section as JsonObject).map((name) => [name, []])) }
    await using house = await openHouse(world, { homeseer: empty })
    for (const args of [on, off]) expect(rulesIn(await house.call(tool, { ...args, ...CLAIMS }))).toEqual([rule])
    expect(deeds()).toEqual([])
  })

  it('restricts nothing when it is missing', async () => {
    await using house = await openHouse(world)
    const planned = await house.call(tool, { ...on, ...CLAIMS, dryRun: true })
    expect(at(planned, 'result', 'dryRun')).toBe(true)
  })
})

describe('an allow list of cameras', () => {
  it('allows its entries and nothing else', async () => {
    const pan = { camId: 1, direction: 'leftstart', ...CLAIMS }
    await using listed = await openHouse(world, { homeseer: { allow: { cameras: [1] } } })
    expect(await listed.call('hs4.cameras.pan', { ...pan, dryRun: true })).toMatchObject({ result: { dryRun: true } })
    for (const cameras of [[2], ['2-9'], []]) {
      await using house = await openHouse(world, { homeseer: { allow: { cameras } } })
      expect(rulesIn(await house.call('hs4.cameras.pan', pan))).toEqual(['camera-list'])
    }
    expect(deeds()).toEqual([])
  })
})

describe('a malformed allow list', () => {
  it.each([
    ['devices: [kitchen]', 'homeseer.allow.devices'],
    ['devices: [100..110]', 'homeseer.allow.devices'],
    ['devices: [125-115]', 'homeseer.allow.devices'],
    ['devices: ["*"]', 'homeseer.allow.devices'],
    ['devices: 120', 'homeseer.allow.devices'],
    ['devices: [-1]', 'homeseer.allow.devices'],
    ['devices: [1.5]', 'homeseer.allow.devices'],
    ['events: [null]', 'homeseer.allow.events'],
    ['scripts: [""]', 'homeseer.allow.scripts'],
    ['scripts: evening.vb', 'homeseer.allow.scripts'],
    ['device: [120]', 'homeseer.allow'],
    ['locations: [Kitchen]', 'homeseer.allow'],
    ['names: [Kitchen Lamp]', 'homeseer.allow'],
  ])('refuses the start and names its key: %s', (line, key) => {
    const read = parseConfig('hearthbus.yaml', `homeseer:\n  url: http://192.0.2.5\n  allow:\n    ${line}\n`)
    const said = read.ok ? 'accepted' : read.fault.map(formatConfigProblem).join('\n')
    expect(said).toContain(`hearthbus.yaml:4: ${key}`)
  })

  it.each(['kitchen', '100..110', ',', '1,kitchen', '1;2', '-1', '1-2-3', '１２０'])(
    'in a variable refuses the start: HS4_ALLOWED_DEVICE_REFS=%s',
    (text) => {
      const config = configSchema.parse({ homeseer: { url: 'http://192.0.2.5' } })
      const read = applyHomeseerEnvironment(config, { HS4_ALLOWED_DEVICE_REFS: text })
      expect(read.ok ? 'accepted' : read.fault.map(formatConfigProblem).join('\n')).toContain('HS4_ALLOWED_DEVICE_REFS')
    },
  )
})

describe('an allow list that changes', () => {
  const lamp = { ref: 120, value: 255, ...CLAIMS }
  let dataRoot: string

  beforeEach(() => {
    dataRoot = mkdtempSync(join(tmpdir(), 'hearthbus-lists-'))
    return () => rmSync(dataRoot, { recursive: true, force: true })
  })

  function start(devices: readonly number[]): Promise<House> {
    return openHouse(world, { dataRoot, homeseer: { allow: { devices: [...devices] } } })
  }

  it('between prepare and commit applies in its new form', async () => {
    const generous = await start([120])
    const staged = await generous.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args: lamp })
    const token = String(at(staged, 'result', 'token'))
    await generous.stop()
    const strict = await start([131])
    expect(rulesIn(await strict.call('hs4.change.commit', { token }))).toEqual(['device-list'])
    expect(deeds()).toEqual([])
    await strict.stop()
    // Refused is not spent: what the owner allows again can still be committed, once.
    const again = await start([120])
    expect(await again.call('hs4.change.commit', { token })).toMatchObject({ result: { committed: true } })
    expect(deeds()).toEqual(['control'])
    await again.stop()
  })

  it('invalidates an approval that was given under the old list', async () => {
    const unlock = { ref: 141, value: 0, ...CLAIMS }
    const generous = await start([141])
    await generous.call('hs4.devices.set', unlock)
    expect(await generous.approveAll()).toBe(1)
    await generous.stop()
    const other = await start([141, 120])
    expect(await other.call('hs4.devices.set', unlock)).toMatchObject({
      error: { code: 'POLICY_DENY', details: { approval: { state: 'requested' } } },
    })
    expect(deeds()).toEqual([])
    await other.stop()
  })

  it('in the file of a running gateway has no effect before a restart', async () => {
    const house = await start([120])
    writeFileSync(join(dataRoot, 'hearthbus.yaml'), 'homeseer: { allow: { devices: [131] } }\n')
    expect(rulesIn(await house.call('hs4.devices.set', { ref: 131, value: 40, ...CLAIMS }))).toEqual(['device-list'])
    await house.stop()
  })

  it('refers to refs: another device does not become allowed by being renamed', async () => {
    await using house = await openHouse(world, {
      homeseer: { allow: { devices: [120] }, admin: { ...ADMIN_OPEN } },
    })
    const rename = { property: 'Name', value: 'Kitchen Lamp', ...ADMIN_CLAIMS }
    // The list is of refs that may be changed; a name is a change.
    expect(rulesIn(await house.call('hs4.admin.config.device_metadata.set', { ref: 131, ...rename }))).toEqual([
      'device-list',
    ])
    expect(deeds()).toEqual([])
  })
})

describe('devices that are exposed', () => {
  const SEEN = [101, 141]

  it.each<[how: string, homeseer: JsonObject]>([
    ['HomeSeer’s own voice flags', { expose: 'voice' }],
    ['a list', { expose: 'list', exposeDevices: SEEN }],
  ])('are limited by %s: all others do not exist for callers', async (_, homeseer) => {
    await using house = await openHouse(world, { homeseer })
    const list = await house.call('hs4.devices.list', {})
    const items = at(list, 'result', 'items') as readonly JsonObject[]
    expect(items.map(({ ref }) => ref)).toEqual(SEEN)
    const raw = await house.call('hs4.devices.status.get', { everything: true, includeRaw: true })
    expect(at(raw, 'result', 'totalDevices')).toBe(SEEN.length)
    const controls = await house.call('hs4.devices.controls.get', {})
    expect(at(controls, 'result', 'raw', 'Devices')).toHaveLength(SEEN.length)
    const set = await house.call('hs4.devices.set', { ref: 120, value: 255, ...CLAIMS })
    expect(at(set, 'error', 'code')).toBe('NOT_FOUND')
    const named = await house.call('hs4.resolve.devices', { query: 'Kitchen Lamp' })
    expect(JSON.stringify(at(named, 'result', 'items'))).not.toContain('"ref":120')
    expect(deeds()).toEqual([])
  })
})

describe('circumvention of a device allow list', () => {
  it('by an event with known actions is refused, unless the event itself is listed', async () => {
    await using house = await openHouse(world, { homeseer: { allow: { devices: [120] } } })
    const run = await house.call('hs4.events.run', { id: 31, ...CLAIMS })
    expect(rulesIn(run)).toEqual(['device-list', 'device-list'])
    expect(JSON.stringify(at(run, 'error', 'details', 'reasons'))).toMatch(/device 101 .*device 131 /)
    expect(deeds()).toEqual([])
    await using listed = await openHouse(world, { homeseer: { allow: { devices: [120], events: [31] } } })
    expect(await listed.call('hs4.events.run', { id: 31, ...CLAIMS })).toMatchObject({ result: { invoked: true } })
  })

  it('by creating or changing an event is refused', async () => {
    await using house = await openHouse(world, {
      homeseer: { allow: { devices: [120] }, admin: { ...ADMIN_OPEN } },
    })
    const definition = { actions: [{ ref: 131, value: 40 }] }
    const made = await house.call('hs4.admin.events.create', { group: 'a', name: 'b', definition, ...ADMIN_CLAIMS })
    expect(rulesIn(made)).toEqual(['device-list'])
    const changed = await house.call('hs4.admin.events.update', { eventId: 31, definition, ...ADMIN_CLAIMS })
    expect(rulesIn(changed)).toEqual(['device-list'])
    expect(deeds()).toEqual([])
    const harmless = { actions: [{ ref: 120, value: 0 }] }
    const fine = { group: 'a', name: 'c', definition: harmless, ...ADMIN_CLAIMS }
    expect(at(await house.call('hs4.admin.events.create', fine), 'result', 'result')).toBe('applied')
  })

  it('by a root for its feature, or by a feature for its root, is refused', async () => {
    await using house = await openHouse(world, { homeseer: { allow: { devices: [130] } } })
    expect(rulesIn(await house.call('hs4.devices.set', { ref: 131, value: 40, ...CLAIMS }))).toEqual(['device-list'])
    const root = await house.call('hs4.devices.set', { ref: 130, value: 40, ...CLAIMS })
    expect(at(root, 'error', 'code')).toBe('BAD_REQUEST')
    expect(deeds()).toEqual([])
  })
})
