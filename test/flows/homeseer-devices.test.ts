/**
 * Setting devices of the house of hard cases: what is sent, what is refused before it is sent, and what is believed
 * afterwards. Intents, prepared changes and administration where they meet trouble.
 */
import { createServer } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { freePort, listenLocally } from '../local-port.ts'
import type { CallerInteraction } from '../../src/bus/call.ts'
import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import { HARD_CASE_DEVICE_REFS } from '../../src/sim/homeseer/hard-case-devices.ts'
import { ADMIN_CLAIMS, ADMIN_OPEN, ADMIN_TRUSTED, AGENT, at, CLAIMS, openHouse, openWorld } from '../homeseer-rig.ts'
import type { Answer, House, World } from '../homeseer-rig.ts'

let world: World
let house: House

beforeAll(async () => {
  world = await openWorld({ sensors: 600 })
  house = await openHouse(world, { homeseer: { admin: ADMIN_OPEN }, config: ADMIN_TRUSTED })
})

afterAll(async () => {
  await house.stop()
  await world.close()
})

beforeEach(() => {
  world.simulator.system.deeds.length = 0
})

function set(ref: number, wish: JsonObject): Promise<Answer> {
  return house.call('hs4.devices.set', { ref, ...wish, ...CLAIMS })
}

function hardware(ref: number): unknown {
  return world.simulator.house.hardware(ref)
}

describe('hs4.devices.set', () => {
  it('accepts a value, a label that contains a value, or a control use', async () => {
    expect(await set(131, { value: 42 })).toMatchObject({ result: { applied: true, controlUse: 'Dim', value: 42 } })
    expect(await set(131, { label: 'Dim 17%' })).toMatchObject({ result: { value: 17 } })
    expect(await set(131, { controlUse: 'off' })).toMatchObject({ result: { value: 0, label: 'Off' } })
    expect(await set(155, { controlUse: 'On' })).toMatchObject({ result: { value: 0 } })
    expect(await set(161, { value: 21.5 })).toMatchObject({ result: { applied: true, controlUse: 'HeatSetPoint' } })
    expect(await set(175, { text: 'Dinner, at 7' })).toMatchObject({
      result: { applied: true, text: 'Dinner, at 7', verification: { checks: { changed: true } } },
    })
    expect(hardware(175)).toMatchObject({ text: 'Dinner, at 7' })
  })

  it('treats null arguments as absent, and a null confirm as missing', async () => {
    const unsaid = { mode: null, label: null, controlUse: null, text: null, verify: null, dryRun: null }
    expect(await set(131, { value: 43, ...unsaid })).toMatchObject({ result: { applied: true, value: 43 } })
    const unconfirmed = { ref: 131, value: 44, ...unsaid, confirm: null, intent: null, reason: null }
    expect(await house.call('hs4.devices.set', unconfirmed)).toMatchObject({
      error: { code: 'BAD_REQUEST', details: { rules: ['confirm', 'intent', 'reason'] } },
    })
    expect(hardware(131)).toMatchObject({ value: 43 })
  })

  it.each([
    [131, { value: 100 }, 'value'],
    [131, { value: 41.5 }, 'value'],
    [161, { value: 20.25 }, 'value'],
    [120, { label: 'Dim' }, 'label'],
    [120, { controlUse: 'DoorUnLock' }, 'controlUse'],
    [120, { controlUse: 'Sesame' }, 'controlUse'],
    [131, { controlUse: 'Dim' }, 'value'],
    [120, { text: 'on' }, 'text'],
    [120, { value: 255, label: 'On' }, 'value'],
    [120, {}, 'value'],
    [120, { mode: 'set_status' }, 'value'],
    [HARD_CASE_DEVICE_REFS.windowContact, { value: 255 }, 'ref'],
  ] as const)('refuses %i %j before anything is sent', async (ref, wish, argument) => {
    const answer = await set(ref, wish)
    expect(answer).toMatchObject({ error: { code: 'BAD_REQUEST', details: { issues: [{ path: [argument] }] } } })
    expect(world.simulator.system.deeds).toEqual([])
  })

  it('suggests the features of a root device instead of choosing one', async () => {
    const answer = await set(160, { value: 21 })
    const next = at(answer, 'error', 'suggestedNextToolCalls') as readonly JsonObject[]
    expect(next.map((call) => at(call, 'args', 'ref'))).toEqual([161, 162, 163, 164, 165])
    expect(next[0]).toMatchObject({ name: 'hs4.devices.set', args: { value: 21, dryRun: true } })
  })

  it('reports a device that is stuck or falls back as failed', async () => {
    for (const ref of [HARD_CASE_DEVICE_REFS.stuckLamp, HARD_CASE_DEVICE_REFS.flappingPlug]) {
      const answer = await set(ref, { value: 255 })
      expect(answer).toMatchObject({ error: { code: 'HS4_ERROR', details: { verification: { matched: false } } } })
    }
  })

  it('waits until a slow blind has arrived', async () => {
    expect(await set(HARD_CASE_DEVICE_REFS.slowBlind, { value: 255 })).toMatchObject({
      result: { applied: true, verification: { outcome: 'reached' } },
    })
  })

  it('accepts a device that shows another value than it was sent', async () => {
    expect(await set(HARD_CASE_DEVICE_REFS.stairLight, { value: 255 })).toMatchObject({
      result: { applied: true, raw: { value: 99, status: 'On' }, verification: { observed: { value: 99 } } },
    })
    for (const value of [1, 0, 1])
      expect(await set(HARD_CASE_DEVICE_REFS.heatingMode, { value })).toMatchObject({
        result: { applied: true, verification: { matched: true, observed: { value: value === 1 ? 17 : 0 } } },
      })
  })

  it('reports that a scene has no state to verify', async () => {
    expect(await set(HARD_CASE_DEVICE_REFS.colourScene, { value: 1 })).toMatchObject({
      result: { applied: true, note: expect.stringContaining('no state'), verification: { matched: false } },
    })
  })

  it('reports a device as still moving, and later as arrived', async () => {
    await using impatient = await openHouse(world, { homeseer: { verifyWaitSeconds: 2 } })
    const { bedroomBlind: ref, radiatorValve } = HARD_CASE_DEVICE_REFS
    const blind = await impatient.call('hs4.devices.set', { ref, label: 'Open', ...CLAIMS })
    expect(blind).toMatchObject({ result: { pending: 'still_moving', verification: { matched: false } } })
    const shown = async () =>
      at(await impatient.call('hs4.devices.get', { refs: [ref] }), 'result', 'items', 0, 'lastCommand')
    expect(await shown()).toMatchObject({ wanted: 'Open', outcome: 'pending' })
    await vi.waitFor(async () => expect(await shown()).toMatchObject({ outcome: 'arrived' }), {
      timeout: 120_000,
      interval: 250,
    })
    // The record of the call keeps its end; a later entry points to it, and the list of changes has both.
    const { changes } = at(await impatient.call('ledger_changes', { text: 'hs4.devices.set' }), 'data') as JsonObject
    const [change] = changes as readonly JsonObject[]
    expect(change).toMatchObject({
      result: 'done',
      later: { outcome: 'reached', observed: { value: at(hardware(ref), 'value') } },
    })
    expect(at(change, 'later', 'log_index')).toBeGreaterThan(Number(change?.['end_log_index']))
    // Told something else meanwhile, it is waited for no longer, and the log has that at once.
    await impatient.call('hs4.devices.set', { ref, label: 'Close', ...CLAIMS })
    expect(await shown()).toMatchObject({ wanted: 'Close', outcome: 'pending' })
    await impatient.call('hs4.devices.set', { ref, label: 'Open', ...CLAIMS, verify: false })
    expect(await shown()).toBeUndefined()
    const second = async () =>
      at(await impatient.call('ledger_changes', { text: 'hs4.devices.set' }), 'data', 'changes', 1, 'later')
    await vi.waitFor(async () => expect(await second()).toMatchObject({ outcome: 'not-reached', source: 'read' }))
    // On batteries: it hears of it when it wakes up next.
    const asleep = await impatient.call('hs4.devices.set', { ref: radiatorValve, value: 21, ...CLAIMS })
    expect(asleep).toMatchObject({ result: { applied: false, pending: 'unreported' } })
  })

  it('reports further evidence of the change: the push and the time of the last change', async () => {
    const value = at(hardware(120), 'value') === 255 ? 0 : 255
    const answer = await set(120, { value })
    expect(at(answer, 'result', 'verification', 'checks')).toEqual({
      deviceFound: true,
      valueMatch: true,
      changed: true,
      lastChangeMoved: true,
      pushHeard: true,
    })
    const again = await set(120, { value })
    expect(at(again, 'result', 'verification', 'checks')).toMatchObject({ valueMatch: true, changed: false })
  })

  it('writes HomeSeer’s stored value only in mode set_status, and reports that nothing moved', async () => {
    const before = hardware(HARD_CASE_DEVICE_REFS.windowContact)
    const answer = await set(HARD_CASE_DEVICE_REFS.windowContact, { mode: 'set_status', value: 255 })
    expect(answer).toMatchObject({
      result: { applied: false, stored: true, mode: 'set_status', controlPath: 'status_only' },
    })
    expect(hardware(HARD_CASE_DEVICE_REFS.windowContact)).toEqual(before)
    expect(world.simulator.system.deeds).toMatchObject([{ kind: 'store', done: true }])
  })

  it('plans without sending when dryRun is set, and skips verification when verify is false', async () => {
    const dry = await house.call('hs4.devices.set', { ref: 120, value: 255, dryRun: true })
    expect(dry).toMatchObject({ result: { dryRun: true, target: { id: 'homeseer:ref:120' } } })
    expect(world.simulator.system.deeds).toEqual([])
    const blind = await set(120, { value: 255, verify: false })
    expect(blind).toMatchObject({ result: { applied: true, verification: { performed: false } } })
  })

  it('confirms a change whose answer was lost only by a new state', async () => {
    await set(120, { value: 0 })
    await using polled = await openHouse(world, { homeseer: { push: { pollSeconds: 3_600 } } })
    await polled.call('hs4.devices.get', { refs: [120] })
    // The question before the command is answered, the command itself is not.
    const lose = loseAnswerTo(world, 'control')
    const made = await polled.call('hs4.devices.set', { ref: 120, value: 255, ...CLAIMS })
    lose.end()
    expect(made).toMatchObject({ result: { applied: true, verification: { matched: true } } })
    world.simulator.faults.stuck.add(120)
    const again = loseAnswerTo(world, 'control')
    const lost = await polled.call('hs4.devices.set', { ref: 120, value: 0, ...CLAIMS })
    again.end()
    world.simulator.faults.stuck.clear()
    expect(lost).toMatchObject({ error: { code: 'UNKNOWN', retryable: false } })
    expect(world.simulator.system.deeds.filter(({ kind }) => kind === 'control')).toHaveLength(3)
  })

  it('waits longer for a lock at its intermediate value, after an approval', async () => {
    const wish = { ref: 141, controlUse: 'DoorUnLock', ...CLAIMS }
    expect(await house.call('hs4.devices.set', wish)).toMatchObject({ error: { code: 'POLICY_DENY' } })
    await house.approveAll()
    expect(await house.call('hs4.devices.set', wish)).toMatchObject({ result: { applied: true, value: 0 } })
  })

  it('tries the equivalent control once when a written status did not hold', async () => {
    const forgetful = await startForgetfulHomeseer()
    await using old = await openHouse(world, { homeseer: { url: forgetful.url, push: {} } })
    const answer = await old.call('hs4.devices.set', { ref: 7, mode: 'set_status', statusText: 'Open', ...CLAIMS })
    forgetful.stop()
    expect(answer).toMatchObject({
      result: { applied: true, requestedMode: 'set_status', mode: 'control_value', fallback: { from: 'set_status' } },
    })
    expect(forgetful.heard.filter((request) => request.includes('device'))).toEqual([
      'setdevicestatus',
      'controldevicebyvalue',
    ])
  })
})

describe('HomeSeer intents and staged changes', () => {
  const wish = { value: 255, execute: true, ...CLAIMS }

  it('ask which device is meant when several have the name or a master has it', async () => {
    const several = await house.call('hs4.intent.device_set_by_name', { query: 'Lamp', ...wish })
    expect(several).toMatchObject({ result: { asks: true, prepared: null, execute: false } })
    expect(at(several, 'result', 'choices', 0, 'call')).toEqual({
      name: 'hs4.devices.set',
      args: { ref: 190, value: 255, ...CLAIMS },
    })
    const master = await house.call('hs4.intent.device_set_by_name', { query: 'Porch Master', ...wish })
    expect(master).toMatchObject({
      error: { details: { warnings: [{ code: 'PARENT_OR_WRAPPER_TARGET', suggestedRef: 111 }] } },
    })
    expect(world.simulator.system.deeds).toEqual([])
  })

  it('ask the person through elicitation, act on the answer, and remember the alias', async () => {
    const query = 'the downstairs sleeping light'
    const can = { clientCapabilities: { elicitation: {} } }
    const asked = await intent({ query: 'Lamp Bedroom', ...wish }, can)
    const form = at(asked, 'inputRequired', 'requests', 'target', 'params')
    // To a person, not to the model.
    expect(at(form, 'message')).toBe('Nothing is called exactly that. Which one is meant? ("Lamp Bedroom")')
    const choices = at(form, 'requestedSchema', 'properties', 'choice', 'oneOf')
    expect(choices).toEqual(expect.arrayContaining([{ const: '191', title: 'Lamp (Bedroom, Below), ref 191' }]))
    const told = { ...can, inputResponses: { target: { action: 'accept', content: { choice: '191' } } } }
    const done = await intent({ query: 'Lamp Bedroom', ...wish }, told)
    expect(at(done, 'data', 'execute')).toBe(true)
    expect(hardware(191)).toMatchObject({ value: 255 })
    const next = await house.call('hs4.resolve.devices', { query: 'lamp bedroom' })
    expect(next).toMatchObject({ result: { recommendedRef: 191, verdict: { kind: 'act' } } })
    const declined = { ...can, inputResponses: { target: { action: 'decline' } } }
    expect(at(await intent({ query, ...wish }, declined), 'data', 'asks') ?? 'nothing').not.toBe(false)
  })

  it('refuse a choice that was not offered', async () => {
    const told = {
      clientCapabilities: { elicitation: {} },
      inputResponses: { target: { action: 'accept', content: { choice: '141' } } },
    }
    const answer = await intent({ query: 'Lamp', ...wish }, told)
    expect(at(answer, 'data', 'asks')).toBe(true)
    expect(world.simulator.system.deeds).toEqual([])
  })

  it('choose between event and device as preferPath says', async () => {
    const scene = (args: JsonObject): Promise<Answer> => house.call('hs4.intent.scene_activate', args)
    const auto = await scene({ objective: 'Movie Night' })
    expect(auto).toMatchObject({ result: { path: 'device_fallback', selection: { reason: 'auto_device_fallback' } } })
    const event = await scene({ objective: 'Dim Ground Floor', preferPath: 'event' })
    expect(event).toMatchObject({
      result: { path: 'event', selection: { reason: 'prefer_path_event', topEventScore: 1 } },
    })
    expect(await scene({ objective: 'Dining Dimmer', preferPath: 'event' })).toMatchObject({
      error: { code: 'NOT_FOUND', message: 'No event in this house is called anything like "Dining Dimmer".' },
    })
    const value = await scene({ objective: 'Dining Dimmer', preferPath: 'device_fallback', fallbackDeviceValue: 30 })
    expect(at(value, 'result', 'prepared', 'preview', 'after', 'value')).toBe(30)
  })

  it('suggest the confirmed call for a change that was staged without confirm', async () => {
    await using house = await openHouse(world)
    const staged = await house.call('hs4.intent.device_set_by_name', { query: 'Hall Lamp', value: 40, execute: true })
    // What is to be done and why follows from the name that was asked for.
    expect(at(staged, 'error', 'details', 'rules')).toEqual(['confirm'])
    const next = at(staged, 'error', 'suggestedNextToolCalls', 0) as { name: string; args: JsonObject }
    expect(next).toEqual({
      name: 'hs4.devices.set',
      args: {
        ref: 101,
        value: 40,
        confirm: true,
        intent: 'Hall Lamp → Hall Lamp (Hall, Ground), ref 101',
        reason: 'Asked for: Hall Lamp',
      },
    })
    expect(await house.call(next.name, next.args)).toMatchObject({ result: { applied: true } })
  })

  it('treat null in staged arguments as absent', async () => {
    const args = { ref: 120, value: 255, label: null, ...CLAIMS, dryRun: null }
    const staged = await house.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args, summary: null })
    expect(staged).toMatchObject({ result: { prepared: true, policy: { decision: 'allow', reasons: [] } } })
    const token = String(at(staged, 'result', 'token'))
    expect(await house.call('hs4.change.commit', { token })).toMatchObject({ result: { committed: true } })
  })

  it('take claims that are missing in the prepared change from its commit', async () => {
    await using house = await openHouse(world)
    const staged = await house.call('hs4.intent.device_set_by_name', { query: 'Hall Lamp', value: 41 })
    const token = String(at(staged, 'result', 'prepared', 'token'))
    const commit = (claims: JsonObject) => house.call('hs4.change.commit', { token, ...claims })
    expect(await commit({})).toMatchObject({
      error: {
        details: { rules: ['confirm'] },
        fixHint: 'Make the call in suggestedNextToolCalls, with words of your own for intent and reason.',
        suggestedNextToolCalls: [{ name: 'hs4.change.commit', args: { token, confirm: true } }],
      },
    })
    expect(await commit({ ...CLAIMS, confirm: false })).toMatchObject({ error: { details: { rules: ['confirm'] } } })
    expect(await commit({ ...CLAIMS, dryRun: true })).toMatchObject({ result: { committed: false, dryRun: true } })
    expect(await commit(CLAIMS)).toMatchObject({ result: { committed: true, data: { applied: true, value: 41 } } })
  })

  it('suggest the commit with the same claims when an approval is needed first', async () => {
    await using house = await openHouse(world)
    const args = { ref: 141, value: 0 }
    const staged = await house.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args })
    const token = String(at(staged, 'result', 'token'))
    const asked = await house.call('hs4.change.commit', { token, ...CLAIMS })
    const next = at(asked, 'error', 'suggestedNextToolCalls', 0) as { name: string; args: JsonObject }
    expect(next).toEqual({ name: 'hs4.change.commit', args: { token, ...CLAIMS } })
    expect(await house.approveAll()).toBe(1)
    expect(await house.call(next.name, next.args)).toMatchObject({ result: { committed: true } })
  })

  it('respect confirm: false of a commit, and keep a prepared dry run a dry run', async () => {
    const prepare = async (claims: JsonObject) => {
      const args = { ref: 120, value: 255, ...CLAIMS, ...claims }
      return String(
        at(await house.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args }), 'result', 'token'),
      )
    }
    const confirmed = await prepare({})
    expect(await house.call('hs4.change.commit', { token: confirmed, confirm: false })).toMatchObject({
      error: { code: 'POLICY_DENY', details: { rules: ['confirm'] } },
    })
    const planned = await prepare({ dryRun: true })
    expect(await house.call('hs4.change.commit', { token: planned, dryRun: false })).toMatchObject({
      result: { committed: false, dryRun: true },
    })
  })

  it('explain for an unknown token where tokens come from', async () => {
    expect(await house.call('hs4.change.commit', { token: 'chg_gone' })).toMatchObject({
      error: {
        code: 'NOT_FOUND',
        fixHint:
          'Prepare the change again: a token ends with its time, and is valid only for the caller that prepared it.',
        suggestedNextToolCalls: [{ name: 'hs4.help.route', args: { goal: 'use hs4.change.prepare' } }],
      },
    })
  })

  it('report for a used token what became of its change', async () => {
    const args = { ref: 120, value: 255, ...CLAIMS }
    const staged = await house.call('hs4.change.prepare', { toolName: 'hs4.devices.set', args })
    const token = String(at(staged, 'result', 'token'))
    expect(await house.call('hs4.change.commit', { token })).toMatchObject({ result: { committed: true } })
    expect(await house.call('hs4.change.commit', { token })).toMatchObject({
      error: {
        code: 'BAD_REQUEST',
        fixHint:
          'A token is good for one attempt; `details.state` says what became of it. Prepare the change again only if it is to happen once more.',
        details: { state: 'committed' },
      },
    })
  })

  it('suggest no call when only the owner’s settings prevent it', async () => {
    await using house = await openHouse(world, { homeseer: { safeMode: 'read_only' } })
    const wish = { query: 'Hall Lamp', value: 40, execute: true }
    const staged = await house.call('hs4.intent.device_set_by_name', { ...wish, ...CLAIMS })
    expect(at(staged, 'error', 'details', 'rules')).toEqual(['safe-mode'])
    expect(JSON.stringify(staged)).not.toContain('hs4.change.commit')
  })

  it('suggest the list of events when none was named', async () => {
    await using house = await openHouse(world)
    for (const name of ['hs4.events.get', 'hs4.events.definition.get'])
      expect(await house.call(name, {})).toMatchObject({
        error: { suggestedNextToolCalls: [{ name: 'hs4.events.list', args: { limit: 100 } }] },
      })
  })

  it('commit a sensitive change after its approval with the same token, once', async () => {
    const staged = await house.call('hs4.intent.device_set_by_name', {
      query: 'Garage Door',
      value: 100,
      execute: true,
      ...CLAIMS,
    })
    expect(staged).toMatchObject({ error: { code: 'POLICY_DENY', details: { approval: { state: 'requested' } } } })
    const token = String(at(staged, 'error', 'details', 'token'))
    expect(at(staged, 'error', 'suggestedNextToolCalls', 0)).toEqual({ name: 'hs4.change.commit', args: { token } })
    // However often it is tried meanwhile: nothing happens, and the token is none the worse for it.
    const early = await Promise.all(Array.from({ length: 10 }, () => house.call('hs4.change.commit', { token })))
    expect(new Set(early.map((answer) => at(answer, 'error', 'code')))).not.toContain(undefined)
    expect(hardware(150)).toMatchObject({ value: 0 })
    await house.approveAll()
    expect(await house.call('hs4.change.commit', { token })).toMatchObject({ result: { committed: true } })
    expect(at(await house.call('hs4.change.commit', { token }), 'error', 'code')).toBe('BAD_REQUEST')
    expect(hardware(150)).toMatchObject({ value: 100 })
  })

  async function intent(args: JsonObject, interaction: CallerInteraction): Promise<unknown> {
    const options = { caller: AGENT, channel: 'mcp-http', interaction } as const
    const outcome = await house.gateway.bus.call('hs4.intent.device_set_by_name', undefined, args, options)
    return outcome.ok ? outcome.value : outcome
  }
})

describe('HomeSeer lists', () => {
  it('report requested devices that do not exist as missing', async () => {
    for (const how of [{}, { includeRaw: true }]) {
      const answer = await house.call('hs4.devices.status.get', { refs: [101, 9_999], ...how })
      expect(answer).toMatchObject({ result: { returnedDevices: 1, missing: [9_999] } })
    }
    expect(at(await house.call('hs4.devices.status.get', {}), 'result', 'missing')).toBeUndefined()
  })

  it('return all devices by cursor, each once', async () => {
    const refs: number[] = []
    let cursor: string | undefined
    do {
      const answer = await house.call('hs4.devices.list', { limit: 100, ...(cursor === undefined ? {} : { cursor }) })
      refs.push(...(at(answer, 'result', 'items') as readonly { ref: number }[]).map(({ ref }) => ref))
      cursor = (at(answer, 'result', 'nextCursor') as string | null) ?? undefined
    } while (cursor !== undefined)
    expect(refs).toEqual([...world.simulator.house.refs].toSorted((left, right) => left - right))
    const last = await house.call('hs4.devices.list', { offset: refs.length - 1, limit: 10 })
    expect(last).toMatchObject({ result: { returned: 1, items: [{ ref: refs.at(-1) }] } })
  })

  it('refuse a cursor of another list', async () => {
    const first = await house.call('hs4.devices.list', { limit: 1 })
    const cursor = String(at(first, 'result', 'nextCursor'))
    const other = await house.call('hs4.devices.list', { limit: 1, capability: 'lock', cursor })
    expect(at(other, 'error', 'code')).toBe('BAD_REQUEST')
  })
})

describe('HomeSeer resources and their updates', () => {
  it('are announced as updated when a switch is operated by hand', async () => {
    const heard = new Promise<string>((resolve) => {
      const stop = house.gateway.bus.onResource((uri) => {
        stop()
        resolve(uri)
      })
    })
    const value = at(hardware(180), 'value') === 255 ? 0 : 255
    world.simulator.move(180, value)
    expect(await heard).toBe('hs4://devices/status')
    const status = await house.call('hs4.devices.status.get', { refs: [180] })
    expect(at(status, 'result', 'snapshot', 'devices', 0, 'value')).toBe(value)
  })
})

describe('connecting to HomeSeer', () => {
  it('does not prevent the start while HomeSeer is unreachable, and calls answer NETWORK', async () => {
    await using alone = await openHouse(world, { homeseer: { url: 'http://127.0.0.1:1', readRetries: 0, push: {} } })
    expect(await alone.call('hs4.devices.list')).toMatchObject({ error: { code: 'NETWORK', retryable: true } })
    expect(await alone.call('hs4.selftest.run')).toMatchObject({ result: { status: 'fail' } })
    const help = await alone.call('hs4.help.route', { goal: 'why is the lamp dark' })
    expect(at(help, 'result', 'routes', 0, 'route')).toBe('generic_diagnostics')
    const contract = await alone.gateway.bus.call(
      'hs4://agent/contract',
      undefined,
      {},
      { caller: AGENT, channel: 'api' },
    )
    expect(contract.ok).toBe(true)
  })

  it('accepts a web hook only with its key', async () => {
    const webhookPort = await freePort()
    const key = 'a-key-of-some-length'
    const push = { webhookKey: key, webhookHost: '127.0.0.1', webhookPort, pollSeconds: 3_600 }
    await using hooked = await openHouse(world, { homeseer: { push, statusCacheMs: 60_000 } })
    await hooked.call('hs4.devices.list', { limit: 1 })
    const post = (query: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${webhookPort}/${query}`, {
        method: 'POST',
        body: JSON.stringify({ type: 'devicechange', data: { ref: 111, value: 255, status: 'On' } }),
      })
    expect((await post('?key=wrong')).status).toBe(403)
    const shown = async () =>
      at(await hooked.call('hs4.devices.status.get', { refs: [111] }), 'result', 'snapshot', 'devices', 0, 'value')
    expect(await shown()).toBe(0)
    expect((await post(`?key=${key}`)).status).toBe(200)
    expect(await shown()).toBe(255)
  })
})

describe('admin operations', () => {
  it('repeat a request whose answer was lost with the same id, and act once', async () => {
    const lose = loseAnswerTo(world, 'admin')
    const answer = await house.call('hs4.admin.users.create', { username: 'zoe', ...ADMIN_CLAIMS })
    lose.end()
    expect(answer).toMatchObject({ result: { result: 'applied', rollback: 'available' } })
    expect(world.simulator.system.deeds).toEqual([{ kind: 'admin', op: 'users.create', done: true }])
  })

  it('need an approval to rename a door, or to create an event that opens one', async () => {
    const rename = { ref: 150, property: 'Name', value: 'Lamp', ...ADMIN_CLAIMS }
    const wired = { group: 'Test', name: 'Cosy', definition: { actions: [{ ref: 141, value: 0 }] }, ...ADMIN_CLAIMS }
    const strange = { group: 'Test', name: 'Cosy', definition: { script: 'x.vb' }, ...ADMIN_CLAIMS }
    await using untrusting = await openHouse(world, { homeseer: { admin: ADMIN_OPEN } })
    for (const [tool, args] of [
      ['hs4.admin.config.device_metadata.set', rename],
      ['hs4.admin.events.create', wired],
      ['hs4.admin.events.create', strange],
    ] as const)
      expect(await untrusting.call(tool, args)).toMatchObject({
        error: { code: 'POLICY_DENY', details: { approval: { state: 'requested' } } },
      })
    expect(world.simulator.system.deeds).toEqual([])
  })

  it('offer no rollback for changes that cannot be undone', async () => {
    const update = { userId: 'zoe', password: 'another-one', ...ADMIN_CLAIMS }
    expect(at(await house.call('hs4.admin.users.update', update), 'result', 'rollback')).toBe('not_needed')
    const gone = await house.call('hs4.admin.users.delete', { userId: 'zoe', hardDelete: true, ...ADMIN_CLAIMS })
    expect(gone).toMatchObject({ result: { result: 'applied', rollback: 'not_needed' } })
  })

  it('report an unknown user, and refuse to demote the last administrator', async () => {
    const nobody = await house.call('hs4.admin.users.delete', { userId: 'nobody', ...ADMIN_CLAIMS })
    expect(at(nobody, 'error', 'code')).toBe('NOT_FOUND')
    const last = await house.call('hs4.admin.users.set_role', { userId: 'default', role: 'guest', ...ADMIN_CLAIMS })
    expect(last).toMatchObject({
      error: { code: 'BAD_REQUEST', message: expect.stringContaining('last administrator') },
    })
  })

  it('fall back from the direct route to the adapter, and report it', async () => {
    await using direct = await openHouse(world, {
      homeseer: { admin: { ...ADMIN_OPEN, executionMode: 'direct' } },
      config: ADMIN_TRUSTED,
    })
    const answer = await direct.call('hs4.admin.system.config.set', {
      key: 'gLocLabel',
      value: 'Raum',
      ...ADMIN_CLAIMS,
    })
    expect(answer).toMatchObject({
      result: {
        result: 'applied',
        steps: [{ route: 'direct', status: 'unsupported' }, { route: 'adapter', fallbackFrom: 'direct' }, {}],
      },
    })
    const backup = await direct.call('hs4.admin.system.backup.start', ADMIN_CLAIMS)
    expect(at(backup, 'result', 'steps', 0)).toMatchObject({ route: 'direct', transport: 'page:backup', status: 'ok' })
  })
})

/** Cuts the connection after the first deed of that kind, before it is answered. */
function loseAnswerTo({ simulator }: World, kind: string): { readonly end: () => void } {
  const { deeds } = simulator.system
  const push = deeds.push.bind(deeds)
  deeds.push = (...more) => {
    if (more.some((deed) => deed.kind === kind) && simulator.faults.dropAfter === 0 && !used) {
      simulator.faults.dropAfter = 1
      used = true
    }
    return push(...more)
  }
  let used = false
  return {
    end: () => {
      Reflect.deleteProperty(deeds, 'push')
      simulator.faults.dropAfter = 0
    },
  }
}

/** One gate that forgets what it is told to remember, and whose control nobody had described at first. */
async function startForgetfulHomeseer(): Promise<{
  readonly url: string
  readonly heard: string[]
  readonly stop: () => void
}> {
  const heard: string[] = []
  let value = 0
  let described = false
  const pair = { Ref: 7, CCIndex: 0, Label: 'Open', ControlUse: 0, ControlValue: 5, ControlType: 5, Range: null }
  const device = (): JsonObject => ({
    ref: 7,
    name: 'Vent',
    value,
    status: value === 5 ? 'Open' : 'Closed',
    relationship: 0,
  })
  const answers: Readonly<Record<string, (query: URLSearchParams) => unknown>> = {
    getstatus: (query) => ({
      Devices: [
        { ...device(), ...(query.get('everything') === 'true' ? { ControlPairs: described ? [pair] : [] } : {}) },
      ],
    }),
    getcontrol: () => ({ Devices: [{ ref: 7, ControlPairs: [] }] }),
    setdevicestatus: () => {
      described = true
      return { Response: 'ok' }
    },
    controldevicebyvalue: (query) => {
      value = Number(query.get('value'))
      return { Devices: [device()] }
    },
  }
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams
    const name = query.get('request') ?? ''
    heard.push(name)
    const said: unknown = answers[name]?.(query) ?? { Response: 'Error, bad request' }
    response.end(JSON.stringify(isJsonObject(said) ? said : {}))
  })
  const port = await listenLocally(server)
  return { url: `http://127.0.0.1:${port}`, heard, stop: () => server.closeAllConnections() }
}

describe('hs4.areas.set', () => {
  it('reports which devices have reached the state, and that a blind is still moving', async () => {
    await using own = await openWorld().then(async (opened) => {
      const inside = await openHouse(opened)
      return {
        call: inside.call,
        [Symbol.asyncDispose]: async () => {
          await inside.stop()
          await opened.close()
        },
      }
    })
    const answer = await own.call('hs4.areas.set', { kind: 'blind', label: 'Open', ...CLAIMS })
    expect(answer).toMatchObject({
      result: {
        told: 1,
        devices: [{ ref: 204, told: true, matched: false }],
        verification: { performed: true, matched: false },
        note: expect.stringContaining('later'),
      },
    })
    const lastCommand = async (): Promise<unknown> =>
      at(await own.call('hs4.devices.get', { refs: [204] }), 'result', 'items', 0, 'lastCommand')
    await expect.poll(lastCommand).toMatchObject({ wanted: 'Open', outcome: 'arrived' })
    const changes = async (): Promise<unknown> => own.call('ledger_changes', { text: 'hs4.areas.set' })
    await expect
      .poll(async () => JSON.stringify(await changes()))
      .toContain('The 1 that were on their way have arrived.')
  })
})
