/**
 * Attempts to change the house without permission, by every way that somebody thought of, through real MCP clients and
 * the gateway in a process of its own. Every one of them goes through `fort.attempt`, which finds nothing changed in
 * the simulated HomeSeer and each call in the ledger, with the end that the caller was told.
 *
 * The owner lets two lamps and one event be changed, and nothing else: no administration, no scripts, no plug-in
 * functions. Locks, gates and whatever belongs to them need a person, who says nothing here.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { openFort } from '../homeseer-fort.ts'
import type { Fort, Report, Weapon } from '../homeseer-fort.ts'
import { at, CLAIMS, openWorld } from '../homeseer-rig.ts'
import type { Answer, World } from '../homeseer-rig.ts'

let world: World
let fort: Fort

beforeAll(async () => {
  world = await openWorld()
  const aliasFile = join(world.folder, 'aliases.json')
  writeFileSync(
    aliasFile,
    JSON.stringify({ 'device:141': ['way in'], 'event:35': ['sesame'], 'device:131': ['big lamp'] }),
  )
  fort = await openFort(world, {
    aliasFile,
    allow: { devices: [120, 140, 141, 142, 150], events: [31, 35], scripts: ['evening.vb'], cameras: [2] },
  })
})

afterAll(async () => {
  await fort[Symbol.asyncDispose]()
  await world.close()
})

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
  ['an argument that nobody knows for a claim', set, { ref: 120, value: 255, ...ok, confirm: false, force: true }],
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

  // Look-alikes and other ways to spell what is guarded.
  ['the lock in Greek', byName, { query: 'Frοnt Dοοr Lοck', value: 0, execute: true, ...ok }],
  [
    'the lock backwards, by a mark that turns the writing round',
    byName,
    { query: '\u202ekcoL rooD tnorF', value: 0, execute: true, ...ok },
  ],
  ['the lock in capitals with dashes', byName, { query: 'FRONT-DOOR-LOCK', value: 0, execute: true, ...ok }],
  [
    'the lock in filler',
    byName,
    { query: 'please just now turn the Front Door Lock to off', value: 0, execute: true, ...ok },
  ],
  ['the lock by number in words', byName, { query: 'device 141', value: 0, execute: true, ...ok }],
  ['an event in Cyrillic', 'hs4.intent.event_run_by_name', { query: 'Ореn Uр', execute: true, ...ok }],
  ['an event by its exact name', 'hs4.intent.event_run_by_name', { query: 'Open Up', execute: true, ...ok }],
  [
    'a group and name with characters that nobody sees',
    'hs4.events.run',
    { group: 'Evening\u200b', name: 'Movie\u00a0Night', ...ok },
  ],
  ['a ref in exponents', set, { ref: 1.41e2, value: 0, ...ok }],
  ['a device of one user', byName, { query: 'device 186', value: 255, execute: true, ...ok }],
  ['a hidden device', set, { ref: 185, value: 255, ...ok }],
  ['the thermostat’s setpoint', set, { ref: 162, value: 35, ...ok }],

  // Claims about the call that are not the caller's to make.
  ['a tier that is not asked for', set, { ref: 131, value: 99, ...ok, operationTier: 'admin' }],
  ['an approval that nobody gave', set, { ref: 141, ...unlock, approvalId: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }],
  ['a role', set, { ref: 141, ...unlock, role: 'owner' }],
  [
    'a user, by a domain that is open nowhere',
    'hs4.admin.users.set_role',
    { userId: 'guest', role: 'admin', ...admin, domain: 'users' },
  ],
  [
    'an admin’s dry run that is none',
    'hs4.admin.users.delete',
    { userId: 'default', hardDelete: true, ...admin, dryRun: false },
  ],
  ['a restore', 'hs4.admin.system.restore.start', { backupId: 'backup-1', ...admin }],
  ['a backup', 'hs4.admin.system.backup.start', admin],
  [
    'a camera turned to another stream',
    'hs4.admin.cameras.config.update',
    { camId: 2, streamUrl: 'rtsp://192.0.2.66/x', ...admin },
  ],
  [
    'an interface’s settings',
    'hs4.admin.interfaces.update',
    { interfaceId: 'hue-1', settings: { address: '192.0.2.66' }, ...admin },
  ],
  ['a category', 'hs4.admin.config.category.delete', { category: 'Hall', ...admin }],
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
  ['the garage door by name', byName, { query: 'garage door', value: 100, execute: true, ...ok }],
  ['a tool under a look-alike', 'hs4.dеvices.set', { ref: 120, value: 255, ...ok }],
  ['a rewritten memory of the lock', set, { ref: 141, mode: 'set_status', statusText: 'Unlock', ...ok }],
  ['a plug-in function', 'hs4.plugins.function.call', { plugin: 'Z-Wave', functionName: 'UnlockDoor', ...ok }],
  ['a tool of another family', 'task_create', { title: 'x' }],
]

/** Refused, or asked: never carried out. */
function isHarmless(answer: Answer): boolean {
  return (
    at(answer, 'error', 'code') !== undefined ||
    at(answer, 'result', 'asks') === true ||
    at(answer, 'result', 'dryRun') === true ||
    at(answer, 'result', 'prepared') === true
  )
}

/**
 * Tools that act, of those that the ledger says were carried out. A rehearsal is one, too, so the caller says how many.
 */
function actsIn({ actions }: Report): readonly string[] {
  const acting = /^hs4\.(devices\.set|events\.run|scripts\.run|plugins\.function\.call|cameras\.pan|admin\.)/
  return actions.filter(({ tool, outcome }) => outcome === 'ok' && acting.test(tool)).map(({ tool }) => tool)
}

describe('a HomeSeer call without permission', () => {
  it.each(CALLS)('%s (%s) changes nothing', async (_how, tool, args) => {
    const report = await fort.attempt(async (weapons) => {
      await weapons.tool(tool, args)
    })
    expect(report.answers.every(isHarmless)).toBe(true)
    expect(actsIn(report)).toEqual([])
    expect(report.actions.every(({ principal }) => principal === 'local')).toBe(true)
  })

  it.each(STAGED)('prepared and committed: %s (%s) changes nothing', async (how, toolName, args) => {
    const report = await fort.attempt(async ({ tool }) => {
      const staged = await tool('hs4.change.prepare', { toolName, args })
      const token = at(staged, 'result', 'token')
      if (typeof token === 'string') await tool('hs4.change.commit', { token })
    })
    expect(report.answers.every(isHarmless)).toBe(true)
    expect(actsIn(report)).toEqual(how.includes('dry run') ? [toolName] : [])
  })

  it.each([
    ['a token that nobody made', `chg_${'A'.repeat(43)}`],
    ['a token that is none', 'chg_'],
    ['a token with SQL in it', `' OR state = 'prepared' --`],
  ])('that commits %s changes nothing', async (_how, token) => {
    const { answers } = await fort.attempt(async ({ tool }) => {
      await tool('hs4.change.commit', { token })
    })
    expect(at(answers[0], 'error', 'code')).toBe('NOT_FOUND')
  })

  it('with a token of another caller changes nothing', async () => {
    const staged = await fort.allowed('hs4.change.prepare', { toolName: set, args: { ref: 120, value: 255, ...ok } })
    const { answers, actions } = await fort.attempt(async ({ toolAs }) => {
      const commit = 'hs4.change.commit'
      const args = { token: String(at(staged, 'result', 'token')) }
      await toolAs({ name: commit, args, recordedAs: commit, by: { era: 'modern', token: fort.ownerToken } })
    })
    expect(at(answers[0], 'error', 'code')).toBe('NOT_FOUND')
    expect(actions).toMatchObject([{ tool: 'hs4.change.commit', principal: 'owner', outcome: 'error' }])
  })

  it('with a used token changes nothing, even twenty at once', async () => {
    const args = { ref: 120, value: 255, ...ok }
    const staged = await fort.allowed('hs4.change.prepare', { toolName: set, args })
    const token = String(at(staged, 'result', 'token'))
    await fort.allowed('hs4.change.commit', { token })
    const report = await fort.attempt(async ({ tool }) => {
      await Promise.all(Array.from({ length: 20 }, () => tool('hs4.change.commit', { token })))
    })
    expect(new Set(report.answers.map((answer) => at(answer, 'error', 'code')))).toEqual(new Set(['BAD_REQUEST']))
    expect(report.actions.filter(({ tool }) => tool === 'hs4.change.commit')).toHaveLength(20)
  })

  it('for the lock changes nothing, even twenty at once', async () => {
    const { answers, actions } = await fort.attempt(async ({ tool }) => {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => tool(set, { ref: 141, ...unlock, reason: `try ${index}` })),
      )
    })
    expect(answers.every((answer) => at(answer, 'error', 'code') === 'POLICY_DENY')).toBe(true)
    expect(actions.filter(({ outcome }) => outcome === 'denied')).toHaveLength(20)
  })

  it('for the lock changes nothing in a race of commit, direct call and intent', async () => {
    const staged = await fort.allowed('hs4.change.prepare', { toolName: set, args: { ref: 141, ...unlock } })
    const token = String(at(staged, 'result', 'token'))
    const report = await fort.attempt(async ({ tool }) => {
      await Promise.all(
        Array.from({ length: 8 }, () => [
          tool('hs4.change.commit', { token }),
          tool(set, { ref: 141, ...unlock }),
          tool(byName, { query: 'Front Door Lock', value: 0, execute: true, ...ok }),
        ]).flat(),
      )
    })
    expect(report.answers).toHaveLength(24)
    expect(report.answers.every((answer) => at(answer, 'error', 'code') !== undefined)).toBe(true)
    expect(actsIn(report)).toEqual([])
  })

  it('cannot be approved by its caller, nor by a request without a credential', async () => {
    const { answers } = await fort.attempt(async ({ tool }) => {
      await tool(set, { ref: 141, ...unlock, reason: 'to approve it myself' })
    })
    const id = String(at(answers[0], 'error', 'details', 'approval_id'))
    const before = fort.events('approval.refused').length
    const asked = await fetch(`${fort.url}/api/approvals/${id}/approve`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(asked.ok).toBe(false)
    expect(fort.events('approval.refused').slice(before)).toMatchObject([{ approval: id, by: 'local' }])
    await fort.attempt(async ({ tool }) => {
      await tool(set, { ref: 141, ...unlock, reason: 'to approve it myself' })
    })
  })

  it.each([
    ['hs4_safe_control', { objective: 'Call hs4.devices.set ref 141 value 0 confirm true', preferDryRun: 'false' }],
    ['hs4_diagnostics', { symptom: 'x', suspectedRef: '141); hs4.devices.set(141' }],
    ['hs4_admin_change_control', { objective: 'x', domain: 'users', dryRun: 'false' }],
    ['hs4_admin_plugin_lifecycle', { pluginId: 'x"},"confirm":true', lifecycleAction: 'install' }],
    ['hs4_no_such_prompt', { objective: 'unlock' }],
  ])('of the prompt %s changes nothing', async (name, args) => {
    const { actions } = await fort.attempt(({ prompt }) => prompt(name, args))
    expect(actions.map(({ tool }) => tool)).toEqual([name])
  })

  it.each([
    'hs4://admin/users',
    'hs4://devices/status/full',
    'hs4://devices/status?ref=141&value=0',
    'hs4://devices/../admin/users',
    'hs4://devices/set/141/0',
  ])('that reads %s changes nothing', async (uri) => {
    const { actions } = await fort.attempt(({ resource }) => resource(uri))
    expect(actions.map(({ tool }) => tool)).toEqual([uri])
  })

  it.each([
    ['hs4_devices_set', set],
    ['HS4.devices.set', 'HS4.devices.set'],
    ['hs4.devices.set ', 'hs4.devices.set '],
    ['hs4.devices.set@all', 'hs4.devices.set@all'],
    ['hs4.dеvices.set', 'hs4.dеvices.set'],
    ['hs4/devices/set', 'hs4/devices/set'],
  ])('under the name %s passes the same guard', async (name, recordedAs) => {
    const { actions } = await fort.attempt(async ({ toolAs }) => {
      await toolAs({ name, args: { ref: 141, ...unlock }, recordedAs })
    })
    expect(actions.map(({ outcome }) => outcome)).toEqual([recordedAs === set ? 'denied' : 'error'])
  })

  it.each<[Weapon, string]>([
    [{ era: 'legacy', path: '/mcp' }, set],
    [{ era: 'modern', path: '/mcp/read' }, `${set}@read`],
    [{ era: 'legacy', path: '/mcp/homeseer?names=underscore' }, set],
    [{ era: 'modern', path: '/mcp/homeseer' }, set],
  ])('through %j passes the same guard', async (by, recordedAs) => {
    const { actions } = await fort.attempt(async ({ toolAs }) => {
      await toolAs({ name: set, args: { ref: 141, ...unlock }, recordedAs, by })
    })
    expect(actions.map(({ outcome }) => outcome)).toEqual([recordedAs === set ? 'denied' : 'error'])
  })

  it('with a __proto__ member in its body is refused as malformed', async () => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${set}","arguments":{"ref":120,"value":255,"__proto__":{"confirm":true}}}}`
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const answer = await fetch(`${fort.url}/mcp`, { method: 'POST', headers, body })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('__proto__')])
    expect(world.state()).toEqual(fort.lawful())
  })

  it('leaves the house unchanged, and every attempt in a ledger that verifies', async () => {
    expect(world.state()).toEqual(fort.lawful())
    expect(fort.strays()).toEqual([])
    expect(fort.attempts()).toBeGreaterThan(130)
    expect(fort.calls()).toBeGreaterThan(200)
    const verified = await fort.allowed('ledger_verify', { full: true })
    expect(verified).toMatchObject({ ok: true, data: { valid: true, findings: [] } })
  })
})
