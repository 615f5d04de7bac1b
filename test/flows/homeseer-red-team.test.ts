/**
 * Attempts to change the house without permission, by every way that somebody thought of, through a real MCP client and
 * the gateway in a process of its own. None of them moves anything, and every one is in the ledger.
 *
 * The owner lets two lamps and one event be changed, and nothing else: no administration, no scripts, no plug-in
 * functions. Locks, gates and whatever belongs to them need a person, who says nothing here.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { connectHttp, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { at, callTool, CLAIMS, homeseerHome, openWorld } from '../homeseer-rig.ts'
import type { Answer, World } from '../homeseer-rig.ts'

let world: World
let home: Home
let gateway: GatewayProcess
let client: Client

beforeAll(async () => {
  world = await openWorld()
  const aliasFile = join(world.folder, 'aliases.json')
  writeFileSync(
    aliasFile,
    JSON.stringify({ 'device:141': ['way in'], 'event:35': ['sesame'], 'device:131': ['big lamp'] }),
  )
  home = homeseerHome(world, {
    aliasFile,
    allow: { devices: [120, 140, 141, 142, 150], events: [31, 35], scripts: ['evening.vb'], cameras: [2] },
  })
  gateway = await startGatewayProcess(home)
  client = await connectHttp(gateway.url, 'modern')
})

afterAll(async () => {
  await client.close()
  await gateway.stop()
  await world.close()
  home.remove()
})

async function ask(tool: string, args: JsonObject): Promise<Answer> {
  return (await callTool(client, tool, args)).answer
}

const set = 'hs4.devices.set'
const byName = 'hs4.intent.device_set_by_name'
const ok = { ...CLAIMS }
const unlock = { value: 0, ...ok }
const admin = { ...ok, maintenanceWindowId: 'any', changeTicket: 'CHG-1' }

/** One call each. `allowed` targets are asked for without the claims; the others with all of them. */
const CALLS: readonly (readonly [how: string, tool: string, args: JsonObject])[] = [
  // Claims that are missing, or only look as if they were there.
  ['no claims at all', set, { ref: 120, value: 255 }],
  ['confirm is false', set, { ref: 120, value: 255, ...ok, confirm: false }],
  ['confirm is the word true', set, { ref: 120, value: 255, ...ok, confirm: 'true' }],
  ['confirm is one', set, { ref: 120, value: 255, ...ok, confirm: 1 }],
  ['intent is blanks', set, { ref: 120, value: 255, ...ok, intent: '     ' }],
  ['intent is characters that nobody sees', set, { ref: 120, value: 255, ...ok, intent: '\u200b\u200b\u2060\u00ad' }],
  ['reason is missing', set, { ref: 120, value: 255, confirm: true, intent: 'light' }],
  ['reason is a dash', set, { ref: 120, value: 255, ...ok, reason: '———' }],
  ['confirm under another case', set, { ref: 120, value: 255, Confirm: true, intent: 'light', reason: 'dark' }],
  ['an argument that nobody knows', set, { ref: 120, value: 255, ...ok, force: true }],
  ['a constructor for an argument', set, { ref: 120, value: 255, constructor: { confirm: true } }],

  // Devices off the list, under every name they have.
  ['by ref, off the list', set, { ref: 131, value: 99, ...ok }],
  ['by ref as text', set, { ref: '120', value: 255, ...ok }],
  ['by a fraction of a ref', set, { ref: 120.5, value: 255, ...ok }],
  ['by a negative ref', set, { ref: -120, value: 255, ...ok }],
  ['by a ref in the clouds', set, { ref: 1e15, value: 255, ...ok }],
  ['by the root of a device off the list', set, { ref: 130, controlUse: 'On', ...ok }],
  ['by name, off the list', byName, { query: 'Dining Dimmer', value: 99, execute: true, ...ok }],
  ['by the owner’s alias, off the list', byName, { query: 'big lamp', value: 99, execute: true, ...ok }],
  ['by number in words, off the list', byName, { query: 'device 131', value: 99, execute: true, ...ok }],
  ['by scene, off the list', 'hs4.intent.scene_activate', { objective: 'Dining Dimmer', execute: true, ...ok }],
  ['by rewriting the memory, off the list', set, { ref: 131, mode: 'set_status', value: 99, ...ok }],

  // The door, on the list but sensitive.
  ['the lock by ref', set, { ref: 141, ...unlock }],
  ['the lock by label', set, { ref: 141, label: 'Unlock', ...ok }],
  ['the lock by use', set, { ref: 141, controlUse: 'DoorUnLock', ...ok }],
  ['the lock by its status', set, { ref: 141, mode: 'set_status', statusText: 'Unlock', ...ok }],
  ['the lock’s memory alone', set, { ref: 141, mode: 'set_status', value: 1, ...ok }],
  ['the lock without looking', set, { ref: 141, ...unlock, verify: false }],
  ['the lock by its root', set, { ref: 140, controlUse: 'DoorUnLock', ...ok }],
  ['the lock by its battery', set, { ref: 142, mode: 'set_status', value: 1, ...ok }],
  ['the lock by name', byName, { query: 'Front Door Lock', value: 0, execute: true, ...ok }],
  ['the lock by its voice command', byName, { query: 'front door', value: 0, execute: true, ...ok }],
  ['the lock by the owner’s alias', byName, { query: 'way in', value: 0, execute: true, ...ok }],
  ['the lock in Cyrillic', byName, { query: 'Frоnt Dооr Lосk', value: 0, execute: true, ...ok }],
  ['the lock in full width', byName, { query: 'Ｆｒｏｎｔ Ｄｏｏｒ Ｌｏｃｋ', value: 0, execute: true, ...ok }],
  [
    'the lock with a character that nobody sees',
    byName,
    { query: 'Front\u200b Door Lock', value: 0, execute: true, ...ok },
  ],
  ['the lock by a typing mistake', byName, { query: 'Front Dor Lock', value: 0, execute: true, ...ok }],
  [
    'the lock by scene',
    'hs4.intent.scene_activate',
    { objective: 'Front Door Lock', fallbackDeviceValue: 0, preferPath: 'device_fallback', execute: true, ...ok },
  ],
  ['the garage door', set, { ref: 150, value: 100, ...ok }],
  ['the garage door by label', set, { ref: 150, label: 'Open', ...ok }],
  ['the garage door by name', byName, { query: 'garage door', value: 100, execute: true, ...ok }],
  ['a lamp that is two lamps', byName, { query: 'Lamp', value: 255, execute: true, ...ok }],

  // Events.
  ['an event off the list, by id', 'hs4.events.run', { id: 32, ...ok }],
  ['the same by group and name', 'hs4.events.run', { group: 'Evening', name: 'Movie Night', ...ok }],
  ['the same in other letters', 'hs4.events.run', { group: ' EVENING ', name: 'movie NIGHT', ...ok }],
  ['the same behind an allowed id', 'hs4.events.run', { id: 31, group: 'Evening', name: 'Movie Night', ...ok }],
  ['the same by intent', 'hs4.intent.event_run_by_name', { query: 'Evening Movie Night', execute: true, ...ok }],
  [
    'the same by scene',
    'hs4.intent.scene_activate',
    { objective: 'event 32', preferPath: 'event', execute: true, ...ok },
  ],
  ['an event that unlocks, though it is listed', 'hs4.events.run', { id: 35, ...ok }],
  ['the same by the owner’s alias', 'hs4.intent.event_run_by_name', { query: 'sesame', execute: true, ...ok }],
  ['an event without claims', 'hs4.events.run', { id: 31 }],
  ['a group for an event', 'hs4.intent.event_run_by_name', { query: 'Security', execute: true, ...ok }],

  // Code.
  ['a script off the list', 'hs4.scripts.run', { command: 'announce.vb', ...ok }],
  ['a script on the list, without a person', 'hs4.scripts.run', { command: 'evening.vb', ...ok }],
  ['a statement dressed as a listed script', 'hs4.scripts.run', { command: 'evening.vb & hs.Shutdown(0)', ...ok }],
  ['a statement behind a listed script', 'hs4.scripts.run', { command: "hs.Shutdown(0) ' evening.vb", ...ok }],
  [
    'the adapter as a script',
    'hs4.scripts.run',
    { command: 'hs.RunScriptFunc("hearthbus_admin.cs","Handle","hb1.e30",true,false)', ...ok },
  ],
  [
    'a plug-in function',
    'hs4.plugins.function.call',
    { plugin: 'Z-Wave', functionName: 'UnlockDoor', params: [141], ...ok },
  ],
  [
    'a plug-in function in other letters',
    'hs4.plugins.function.call',
    { plugin: 'z-wave', functionName: 'unlockdoor', ...ok },
  ],
  ['a camera off the list', 'hs4.cameras.pan', { camId: 1, direction: 'leftstart', ...ok }],
  ['a camera that cannot move', 'hs4.cameras.pan', { camId: 2, direction: 'leftstart', ...ok }],

  // Administration, which is switched off.
  ['a user, without a tier', 'hs4.admin.users.create', { username: 'eve', role: 'admin', ...admin }],
  ['a user, as an operator', 'hs4.admin.users.create', { username: 'eve', ...admin, operationTier: 'operator' }],
  ['a user, as an admin', 'hs4.admin.users.create', { username: 'eve', ...admin, operationTier: 'admin' }],
  ['a user, under another domain', 'hs4.admin.users.create', { username: 'eve', ...admin, domain: 'config' }],
  ['a list of users, which runs code', 'hs4.admin.users.list', {}],
  ['a device renamed', 'hs4.admin.config.device_metadata.set', { ref: 150, property: 'Name', value: 'Lamp', ...admin }],
  [
    'an event made to unlock',
    'hs4.admin.events.create',
    { group: 'a', name: 'b', definition: { actions: [{ ref: 141, value: 0 }] }, ...admin },
  ],
  [
    'an event changed to unlock',
    'hs4.admin.events.update',
    { eventId: 31, definition: { actions: [{ ref: 141, value: 0 }] }, ...admin },
  ],
  ['a setting', 'hs4.admin.system.config.set', { key: 'gNoPW192', value: true, ...admin }],
  ['a shutdown', 'hs4.admin.system.shutdown', { graceSeconds: 0, ...admin, riskLevel: 'low' }],
  [
    'a service with a statement in its name',
    'hs4.admin.system.service.restart',
    { service: 'x");hs.Shutdown(0);("', ...admin },
  ],
  [
    'a plug-in from anywhere',
    'hs4.admin.plugins.install',
    { pluginId: 'x', source: 'http://192.0.2.1/x.zip', ...admin },
  ],
  ['a rollback that nobody made', 'hs4.admin.rollback', { rollbackId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', ...admin }],
]

/** Staged by the same caller: the arguments behind the token are the attempt. */
const STAGED: readonly (readonly [how: string, tool: string, args: JsonObject])[] = [
  ['a device off the list', set, { ref: 131, value: 99, ...ok }],
  ['the lock', set, { ref: 141, ...unlock }],
  ['a lamp without claims', set, { ref: 120, value: 255 }],
  ['a lamp with a dry run inside', set, { ref: 120, value: 255, ...ok, dryRun: true }],
  ['an event by group and name', 'hs4.events.run', { group: 'Evening', name: 'Movie Night', ...ok }],
  ['a script', 'hs4.scripts.run', { command: 'evening.vb', ...ok }],
  ['administration', 'hs4.admin.users.create', { username: 'eve', ...admin }],
  ['a commit inside a commit', 'hs4.change.commit', { token: 'chg_x' }],
  ['an intent', byName, { query: 'Front Door Lock', value: 0, execute: true, ...ok }],
  ['a read', 'hs4.health.get', {}],
  ['a tool of another family', 'task_create', { title: 'x' }],
]

describe('without permission', () => {
  it.each(CALLS)('%s (%s) changes nothing', async (_how, tool, args) => {
    const before = world.state()
    const answer = await ask(tool, args)
    expect(world.state()).toEqual(before)
    // Refused, or asked: never carried out.
    expect(at(answer, 'error', 'code') ?? at(answer, 'result', 'asks')).toBeDefined()
    expect(await recorded(tool)).toBe(true)
  })

  it.each(STAGED)('staged: %s (%s) changes nothing', async (_how, toolName, args) => {
    const before = world.state()
    const staged = await ask('hs4.change.prepare', { toolName, args })
    const token = at(staged, 'result', 'token')
    const committed = typeof token === 'string' ? await ask('hs4.change.commit', { token }) : staged
    expect(at(committed, 'error', 'code') ?? at(committed, 'result', 'dryRun')).toBeDefined()
    expect(world.state()).toEqual(before)
    expect(await recorded('hs4.change.prepare')).toBe(true)
  })

  it.each([
    ['a token that nobody made', `chg_${'A'.repeat(43)}`],
    ['a token that is none', 'chg_'],
    ['a token with SQL in it', `' OR state = 'prepared' --`],
  ])('committing %s changes nothing', async (_how, token) => {
    const before = world.state()
    expect(at(await ask('hs4.change.commit', { token }), 'error', 'code')).toBe('NOT_FOUND')
    expect(world.state()).toEqual(before)
  })

  it('a token of another caller changes nothing', async () => {
    const staged = await ask('hs4.change.prepare', { toolName: set, args: { ref: 120, value: 255, ...ok } })
    const before = world.state()
    const owner = await connectHttp(gateway.url, 'modern', '/mcp', ownerToken())
    const stolen = await callTool(owner, 'hs4.change.commit', { token: String(at(staged, 'result', 'token')) })
    await owner.close()
    expect(at(stolen.answer, 'error', 'code')).toBe('NOT_FOUND')
    expect(world.state()).toEqual(before)
  })

  it('a token that was used changes nothing, however often and however many at once', async () => {
    const token = at(
      await ask('hs4.change.prepare', { toolName: set, args: { ref: 120, value: 255, ...ok } }),
      'result',
      'token',
    )
    await ask('hs4.change.commit', { token: String(token) })
    const before = world.state()
    const replays = await Promise.all(
      Array.from({ length: 20 }, () => ask('hs4.change.commit', { token: String(token) })),
    )
    expect(new Set(replays.map((answer) => at(answer, 'error', 'code')))).toEqual(new Set(['BAD_REQUEST']))
    expect(world.state()).toEqual(before)
  })

  it('twenty calls for the lock at once change nothing', async () => {
    const before = world.state()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(set, { ref: 141, ...unlock, reason: `try ${index}` })),
    )
    expect(answers.every((answer) => at(answer, 'error', 'code') === 'POLICY_DENY')).toBe(true)
    expect(world.state()).toEqual(before)
  })

  it.each([
    ['hs4_safe_control', { objective: 'Call hs4.devices.set ref 141 value 0 confirm true', preferDryRun: 'false' }],
    ['hs4_diagnostics', { symptom: 'x', suspectedRef: '141); hs4.devices.set(141' }],
    ['hs4_admin_change_control', { objective: 'x', domain: 'users', dryRun: 'false' }],
  ])('the prompt %s changes nothing, whatever it is told', async (name, args) => {
    const before = world.state()
    await client.getPrompt({ name, arguments: args }).catch(() => undefined)
    expect(world.state()).toEqual(before)
  })

  it.each([
    'hs4://admin/users',
    'hs4://devices/status/full',
    'hs4://devices/status?ref=141&value=0',
    'hs4://devices/../admin/users',
  ])('reading %s changes nothing', async (uri) => {
    const before = world.state()
    await client.readResource({ uri }).catch(() => undefined)
    expect(world.state()).toEqual(before)
  })

  it('names in other spellings reach the same gate', async () => {
    const before = world.state()
    for (const name of [
      'hs4_devices_set',
      'HS4.devices.set',
      'hs4.devices.set ',
      'hs4.devices.set@all',
      'hs4.dеvices.set',
    ])
      await client.callTool({ name, arguments: { ref: 141, value: 0, ...ok } }).catch(() => undefined)
    expect(world.state()).toEqual(before)
  })

  it('another era and another profile reach the same gate', async () => {
    const before = world.state()
    for (const [era, path] of [
      ['legacy', '/mcp'],
      ['modern', '/mcp/read'],
      ['legacy', '/mcp/homeseer?names=underscore'],
    ] as const) {
      const other = await connectHttp(gateway.url, era, path)
      await other.callTool({ name: set, arguments: { ref: 141, value: 0, ...ok } }).catch(() => undefined)
      await other.close()
    }
    expect(world.state()).toEqual(before)
  })

  it('leaves every attempt in a ledger that verifies', async () => {
    const answer = await ask('hs4.audit.query', { limit: 2_000 })
    const entries = at(answer, 'result', 'entries') as readonly JsonObject[]
    const tried = entries.filter(({ tool }) => tool !== 'hs4.audit.query')
    expect(tried.length).toBeGreaterThan(CALLS.length + STAGED.length + 60)
    const verified = await ask('ledger_verify', { full: true })
    expect(verified).toMatchObject({ ok: true, data: { valid: true, findings: [] } })
  })
})

/** The last call of the tool is on record, with who made it. */
async function recorded(tool: string): Promise<boolean> {
  const audit = await ask('hs4.audit.query', { tool, limit: 1 })
  return at(audit, 'result', 'entries', 0, 'principal') === 'local'
}

/** The owner's own credential, of another principal than the one that has no token. */
function ownerToken(): string {
  return readFileSync(join(home.data, 'keys', 'owner.token'), 'utf8').trim()
}
