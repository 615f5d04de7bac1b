/**
 * The policy of the HomeSeer tools: every row of the matrix, one by one and with a hundred at once, and every defect of
 * an earlier implementation, each with the right outcome. docs/protocols/homeseer.md § 9 says which test holds what.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { HARD_CASE_DEVICE_REFS } from '../../src/sim/homeseer/hard-case-devices.ts'
import {
  ADMIN_CLAIMS,
  ADMIN_OPEN,
  ADMIN_TRUSTED,
  AGENT,
  at,
  CLAIMS,
  matrixConfig,
  openHouse,
  openWorld,
  POLICY_MATRIX,
  verdictOf,
} from '../homeseer-rig.ts'
import type { House, World } from '../homeseer-rig.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
})

afterAll(() => world.close())

beforeEach(() => {
  world.simulator.system.deeds.length = 0
})

function hardware(ref: number): number | undefined {
  return world.simulator.house.hardware(ref)?.value
}

function deeds(): readonly string[] {
  return world.simulator.system.deeds.filter(({ done }) => done).map(({ kind }) => kind)
}

async function prepared(house: House, toolName: string, args: JsonObject): Promise<string> {
  const answer = await house.call('hs4.change.prepare', { toolName, args })
  const token = at(answer, 'result', 'token')
  if (typeof token !== 'string') throw new Error(JSON.stringify(answer))
  return token
}

describe('the policy matrix', () => {
  const lamp = HARD_CASE_DEVICE_REFS.kitchenSwitch
  function wish(confirm: boolean): JsonObject {
    return { ref: lamp, value: hardware(lamp) === 0 ? 255 : 0, ...CLAIMS, confirm }
  }

  it.each(POLICY_MATRIX)(
    '$safeMode, default dry $defaultDryRun, confirm $confirm, listed $listed: direct $direct, commit $commit',
    async (row) => {
      await using house = await openHouse(world, { homeseer: matrixConfig(row, lamp) })
      const args = wish(row.confirm)
      const direct = await house.call('hs4.devices.set', args)
      expect(verdictOf(direct, deeds().length > 0)).toBe(row.direct)

      world.simulator.system.deeds.length = 0
      const staged = await house.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args })
      const token = at(staged, 'result', 'token')
      // Off the list it is refused while it is prepared already, so there is nothing to commit.
      const first = typeof token === 'string' ? await house.call('hs4.change.commit', { token }) : staged
      expect(verdictOf(first, deeds().length > 0)).toBe(row.commit)
      const again = typeof token === 'string' ? await house.call('hs4.change.commit', { token }) : staged
      expect(deeds().length).toBe(row.commit === 'X' ? 1 : 0)
      expect(at(again, 'error', 'code') === 'BAD_REQUEST').toBe(row.commit === 'X')
    },
  )

  it.each(POLICY_MATRIX)(
    'a hundred at once: $safeMode, default dry $defaultDryRun, confirm $confirm, listed $listed: direct $direct, commit $commit',
    async (row) => {
      await using house = await openHouse(world, { homeseer: matrixConfig(row, lamp) })
      const args = wish(row.confirm)
      const staged = await house.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args })
      const token = at(staged, 'result', 'token')
      const commits =
        typeof token === 'string'
          ? await Promise.all(Array.from({ length: 100 }, () => insist(house, 'hs4.change.commit', { token })))
          : [staged]
      expect(deeds()).toEqual(row.commit === 'X' ? ['control'] : [])
      const executed = commits.filter((answer) => at(answer, 'result', 'committed') === true)
      expect(executed).toHaveLength(row.commit === 'X' ? 1 : 0)
      // Whoever comes after the one that executes hears that it is done, and no reason to try again.
      const rest = commits.filter((answer) => !executed.includes(answer))
      const said = rest.map((one) => (at(one, 'error', 'code') === 'BAD_REQUEST' ? 'done' : verdictOf(one, false)))
      expect(new Set(said)).toEqual(new Set([row.commit === 'X' ? 'done' : row.commit]))

      world.simulator.system.deeds.length = 0
      const calls = await Promise.all(Array.from({ length: 20 }, () => insist(house, 'hs4.devices.set', args)))
      expect(deeds()).toHaveLength(row.direct === 'X' ? 20 : 0)
      expect(new Set(calls.map((answer) => verdictOf(answer, at(answer, 'result', 'applied') === true)))).toEqual(
        new Set([row.direct]),
      )
    },
  )
})

/** Of so many calls at once some wait for longer than a call may, where the machine is busy: they are made again. */
async function insist(house: House, name: string, args: JsonObject): ReturnType<House['call']> {
  for (;;) {
    const answer = await house.call(name, args)
    if (at(answer, 'error', 'code') !== 'POLICY_DENY' || at(answer, 'error', 'retryable') !== true) return answer
  }
}

describe('the defects of an earlier implementation', () => {
  let house: House

  beforeAll(async () => {
    house = await openHouse(world)
  })
  afterAll(() => house.stop())

  it('1: an admin tool is treated as admin whatever its operationTier argument says, or without one', async () => {
    for (const claim of [{}, { operationTier: 'operator' }, { operationTier: 'admin' }]) {
      const answer = await house.call('hs4.admin.users.create', {
        username: 'eve',
        ...CLAIMS,
        maintenanceWindowId: 'x',
        ...claim,
      })
      expect(at(answer, 'error', 'details', 'rules')).toEqual(['admin-enabled', 'admin-domain', 'change-ticket'])
      expect(at(answer, 'error', 'details', 'envelope', 'operationTier')).toBe('admin')
    }
    expect(deeds()).toEqual([])
  })

  it('2: read-only with default dry run never executes a commit', async () => {
    await using careful = await openHouse(world, { homeseer: { safeMode: 'read_only', defaultDryRun: true } })
    const token = await prepared(careful, 'hs4.devices.set', { ref: 120, value: 255, ...CLAIMS })
    const answer = await careful.call('hs4.change.commit', { token })
    expect(answer).toMatchObject({ result: { committed: false, dryRun: true } })
    expect(deeds()).toEqual([])
  })

  it('3: a list of event ids holds for group and name, too', async () => {
    await using careful = await openHouse(world, { homeseer: { allow: { events: [31] } } })
    const byName = await careful.call('hs4.events.run', { group: 'Evening', name: 'Movie Night', ...CLAIMS })
    expect(at(byName, 'error', 'details', 'rules')).toEqual(['event-list'])
    const both = await careful.call('hs4.events.run', { id: 31, group: 'Evening', name: 'Movie Night', ...CLAIMS })
    expect(at(both, 'error', 'code')).toBe('BAD_REQUEST')
    expect(deeds()).toEqual([])
    const allowed = await careful.call('hs4.events.run', { group: 'evening', name: 'dim ground floor', ...CLAIMS })
    expect(allowed).toMatchObject({ result: { invoked: true, id: 31, readBack: { performed: true } } })
  })

  it('4: a hundred commits of one token at once execute once', async () => {
    const target = hardware(120) === 0 ? 255 : 0
    const token = await prepared(house, 'hs4.devices.set', { ref: 120, value: target, ...CLAIMS })
    const answers = await Promise.all(Array.from({ length: 100 }, () => insist(house, 'hs4.change.commit', { token })))
    expect(answers.filter((answer) => at(answer, 'result', 'committed') === true)).toHaveLength(1)
    expect(deeds()).toEqual(['control'])
    const others = new Set(answers.map((answer) => at(answer, 'error', 'code')))
    expect(others).toEqual(new Set(['BAD_REQUEST', undefined]))
  })

  it('5: staged arguments are checked when they are staged', async () => {
    const wrongType = await house.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args: { ref: 'abc' } })
    expect(at(wrongType, 'error', 'code')).toBe('BAD_REQUEST')
    expect(at(wrongType, 'error', 'details', 'issues', 0, 'path')).toEqual(['args', 'ref'])
    const noRef = await house.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args: { ref: 4711, value: 1 } })
    expect(at(noRef, 'error', 'code')).toBe('NOT_FOUND')
    const noTool = await house.call('hs4.change.prepare', { toolName: 'hs4.admin.users.anything', args: {} })
    expect(at(noTool, 'error', 'code')).toBe('BAD_REQUEST')
  })

  it('6: a control that HomeSeer refuses is a failure, and the stored value is not written instead', async () => {
    world.simulator.faults.refused.add(111)
    const answer = await house.call('hs4.devices.set', { ref: 111, value: 255, ...CLAIMS })
    world.simulator.faults.refused.clear()
    expect(answer).toMatchObject({ error: { code: 'HS4_ERROR', details: { applied: false } } })
    expect(world.simulator.system.deeds.map(({ kind, done }) => [kind, done])).toEqual([['control', false]])
    expect(world.simulator.house.stored(111)?.value).toBe(0)
  })

  it('7: set_status on a dimmer is switched to control, on payloads as HomeSeer sends them', async () => {
    const answer = await house.call('hs4.devices.set', { ref: 131, mode: 'set_status', value: 99, ...CLAIMS })
    expect(answer).toMatchObject({ result: { applied: true, requestedMode: 'set_status', mode: 'control_value' } })
    expect(typeof at(answer, 'result', 'modeAutoSwitch')).toBe('string')
    expect(hardware(131)).toBe(99)
    const found = await house.call('hs4.resolve.devices', { query: 'hall lamp' })
    expect(at(found, 'result', 'items', 0)).toMatchObject({
      ref: 101,
      actionability: { parentRef: 100, controlPairCount: 4, role: 'endpoint' },
    })
  })

  it('8: prompts take their arguments as text', async () => {
    const answer = await house.gateway.bus.call(
      'hs4_diagnostics',
      undefined,
      { symptom: 'dark', suspectedRef: '101' },
      { caller: AGENT, channel: 'mcp-http' },
    )
    expect(JSON.stringify(answer)).toContain('device 101')
  })

  it('9: no read and no resource runs code on HomeSeer', async () => {
    await using careful = await openHouse(world, {
      homeseer: { safeMode: 'read_only', allow: { scripts: ['nothing'] }, admin: { ...ADMIN_OPEN } },
    })
    const listed = await careful.call('hs4.admin.users.list')
    expect(at(listed, 'error', 'details', 'rules')).toEqual(['safe-mode', 'script-list'])
    for (const offer of careful.gateway.bus.offers())
      if (offer.family.name === 'homeseer' && offer.effect === 'reads' && offer.face.kind !== 'prompt')
        await careful.call(offer.name, READ_ARGUMENTS[offer.name] ?? {})
    expect(world.simulator.system.deeds).toEqual([])
  })

  it('10: without an installed adapter nothing is applied', async () => {
    world.simulator.faults.adapterMissing = true
    await using admin = await openHouse(world, { homeseer: { admin: { ...ADMIN_OPEN } }, config: ADMIN_TRUSTED })
    const answer = await admin.call('hs4.admin.users.create', { username: 'eve', ...ADMIN_CLAIMS })
    world.simulator.faults.adapterMissing = false
    expect(answer).toMatchObject({
      error: { code: 'UNSUPPORTED_ON_TARGET', details: { envelope: { result: 'failed', rollback: 'not_needed' } } },
    })
    expect(world.simulator.system.users.some(({ username }) => username === 'eve')).toBe(false)
  })

  it('11: mode direct performs only operations for which HomeSeer has a request', async () => {
    const direct = { ...ADMIN_OPEN, executionMode: 'direct', directFallback: false }
    await using admin = await openHouse(world, { homeseer: { admin: direct }, config: ADMIN_TRUSTED })
    const user = await admin.call('hs4.admin.users.create', { username: 'eve', ...ADMIN_CLAIMS })
    expect(at(user, 'error', 'code')).toBe('UNSUPPORTED_ON_TARGET')
    const note = { ref: 120, property: 'UserNote', value: 'by the window' }
    const named = await admin.call('hs4.admin.config.device_metadata.set', { ...note, ...ADMIN_CLAIMS })
    expect(named).toMatchObject({
      result: { result: 'applied', after: { userNote: 'by the window' }, diff: { changedKeys: ['userNote'] } },
    })
    expect(at(named, 'result', 'precheck')).toContainEqual({ check: 'change_ticket', status: 'pass', required: true })
    expect(deeds()).toEqual(['property'])
    const number = await admin.call('hs4.admin.config.device_metadata.set', { ...note, value: 7, ...ADMIN_CLAIMS })
    expect(number).toMatchObject({ result: { result: 'applied', after: { userNote: '7' } } })
  })

  it('12: the lists of users, plug-ins, interfaces and categories hold for direct calls', async () => {
    const lists = {
      allowedUserIds: ['anna'],
      allowedPluginIds: ['Hue'],
      allowedInterfaceIds: ['hue-1'],
      allowedCategoryIds: ['Hall'],
    }
    await using admin = await openHouse(world, {
      homeseer: { admin: { ...ADMIN_OPEN, ...lists } },
      config: ADMIN_TRUSTED,
    })
    const refused = [
      await admin.call('hs4.admin.users.delete', { userId: 'resident', ...ADMIN_CLAIMS }),
      await admin.call('hs4.admin.plugins.restart', { pluginId: 'Z-Wave', ...ADMIN_CLAIMS }),
      await admin.call('hs4.admin.interfaces.restart', { interfaceId: 'zwave-1', ...ADMIN_CLAIMS }),
      await admin.call('hs4.admin.config.category.delete', { category: 'Garden', ...ADMIN_CLAIMS }),
    ]
    expect(refused.map((answer) => at(answer, 'error', 'details', 'rules'))).toEqual([
      ['user-list'],
      ['plugin-list'],
      ['interface-list'],
      ['category-list'],
    ])
    expect(deeds()).toEqual([])
    const allowed = await admin.call('hs4.admin.plugins.restart', { pluginId: 'Hue', ...ADMIN_CLAIMS })
    expect(at(allowed, 'result', 'result')).toBe('applied')
  })

  it('13: health reports which admin domains are enabled', async () => {
    const answer = await house.call('hs4.health.get')
    expect(answer).toMatchObject({ result: { admin: { enabled: false, domains: { users: false, config: false } } } })
  })

  it('14: resources are recorded, and the summary answers while HomeSeer fails', async () => {
    world.simulator.faults.bareError = true
    const options = { caller: AGENT, channel: 'mcp-http' } as const
    const summary = await house.gateway.bus.call('hs4://state/summary', undefined, {}, options)
    world.simulator.faults.bareError = false
    expect(summary).toMatchObject({ ok: true, value: { data: { warnings: [expect.any(String)] } } })
    const audit = await house.call('hs4.audit.query', { tool: 'hs4://state/summary' })
    expect(at(audit, 'result', 'entries', 0)).toMatchObject({ result: 'success', principal: 'agent' })
  })

  it('15: an operation that HomeSeer does not support directly is remembered across requests', async () => {
    await using admin = await openHouse(world, {
      homeseer: { admin: { ...ADMIN_OPEN, executionMode: 'auto' } },
      config: ADMIN_TRUSTED,
    })
    const first = await admin.call('hs4.admin.plugins.restart', { pluginId: 'Hue', ...ADMIN_CLAIMS })
    expect(at(first, 'result', 'steps', 0)).toMatchObject({ route: 'direct', status: 'unsupported' })
    const second = await admin.call('hs4.admin.plugins.restart', { pluginId: 'Hue', ...ADMIN_CLAIMS })
    expect(at(second, 'result', 'steps', 0)).toMatchObject({ route: 'direct', status: 'skipped' })
    expect(at(second, 'result', 'steps', 1)).toMatchObject({ route: 'adapter', fallbackFrom: 'direct', status: 'ok' })
  })

  it('15: an unsupported argument does not mark the whole operation as unsupported', async () => {
    await using admin = await openHouse(world, {
      homeseer: { admin: { ...ADMIN_OPEN, executionMode: 'auto' } },
      config: ADMIN_TRUSTED,
    })
    const labelled = await admin.call('hs4.admin.system.backup.start', { label: 'before', ...ADMIN_CLAIMS })
    expect(at(labelled, 'result', 'steps', 0)).toMatchObject({ route: 'direct', status: 'unsupported' })
    const plain = await admin.call('hs4.admin.system.backup.start', { ...ADMIN_CLAIMS })
    expect(at(plain, 'result', 'steps', 0)).toMatchObject({ route: 'direct', status: 'ok' })
  })

  it('16: passwords are nowhere: not in the audit, not in staged arguments, not in the ledger', async () => {
    await using admin = await openHouse(world, { homeseer: { admin: { ...ADMIN_OPEN } }, config: ADMIN_TRUSTED })
    const secret = 'correct-horse-battery'
    const args = { username: 'mia', password: secret, ...ADMIN_CLAIMS }
    const token = await prepared(admin, 'hs4.admin.users.create', args)
    const done = await admin.call('hs4.change.commit', { token })
    expect(at(done, 'result', 'data', 'result')).toBe('applied')
    expect(JSON.stringify(done)).not.toContain(secret)
    const audit = JSON.stringify(await admin.call('hs4.audit.query', { limit: 50 }))
    expect(audit).toContain('mia')
    expect(audit).not.toContain(secret)
    expect(audit).not.toContain(token)
    const { ledger } = admin.gateway
    const everything = Array.from({ length: ledger.size() }, (_, seq) =>
      JSON.stringify([ledger.entry(seq)?.entry, ledger.body(seq)]),
    )
    expect(everything.join('\n')).not.toContain(secret)
    expect(world.simulator.system.users.find(({ username }) => username === 'mia')?.password).toBe(secret)
  })

  it('17: the name of a group does not identify an event', async () => {
    const answer = await house.call('hs4.resolve.events', { query: 'Evening' })
    expect(at(answer, 'result', 'verdict', 'kind')).not.toBe('act')
    const run = await house.call('hs4.intent.event_run_by_name', { query: 'Evening', execute: true, ...CLAIMS })
    expect(at(run, 'result', 'asks')).toBe(true)
    expect(deeds()).toEqual([])
  })

  it('18: staging accepts tool names without dots', async () => {
    const token = await prepared(house, 'hs4_devices_set', { ref: 120, value: 0, ...CLAIMS })
    expect(token).toMatch(/^chg_/)
  })
})

const READ_ARGUMENTS: Readonly<Record<string, JsonObject>> = {
  'hs4.help.route': { goal: 'list the users' },
  'hs4.resolve.devices': { query: 'lamp' },
  'hs4.resolve.events': { query: 'movie' },
  'hs4.resolve.cameras': { query: 'driveway' },
  'hs4.devices.get': { refs: [101] },
  'hs4.events.get': { id: 31 },
  'hs4.events.definition.get': { id: 31 },
  'hs4.cameras.snapshot.get': { camId: 1 },
  'hs4.admin.interfaces.diagnostics': { level: 'full' },
}
