/**
 * A house that changes while the gateway runs: devices and events that come, go and are renamed at HomeSeer itself, and
 * what is said of them at the very next question.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import {
  BINARY_SWITCH_CONTROLS,
  createSimulatedHomeseerDevice,
} from '../../src/sim/homeseer/simulated-homeseer-device.ts'
import { at, CLAIMS, openHouse, openWorld } from '../homeseer-rig.ts'
import type { Answer, House, World } from '../homeseer-rig.ts'
import { listenLocally } from '../local-port.ts'

let world: World
let house: House

beforeAll(async () => {
  world = await openWorld()
  house = await openHouse(world)
})

afterAll(async () => {
  await house.stop()
  await world.close()
})

const ACTS = { result: { verdict: { kind: 'act' } } }

function set(ref: number, wish: JsonObject): Promise<Answer> {
  return house.call('hs4.devices.set', { ref, ...wish, ...CLAIMS })
}

describe('names that changed in HomeSeer', () => {
  it('find a device and an event as soon as they are renamed', async () => {
    await using house = await openHouse(world)
    const { house: simulated, system } = world.simulator
    const { events } = system
    const [first] = events
    if (first === undefined) throw new Error('the house has no events')
    expect(await house.call('hs4.resolve.devices', { query: 'Hall Lamp' })).toMatchObject(ACTS)
    simulated.add(
      createSimulatedHomeseerDevice({
        ref: 701,
        name: 'Heron Lantern',
        location: 'Porch',
        pairs: BINARY_SWITCH_CONTROLS,
      }),
    )
    system.events = [...events, { ...first, id: 901, group: 'Garden', name: 'Heron Evening' }]
    try {
      const wish = { query: 'Heron Lantern', value: 255, execute: true, ...CLAIMS }
      expect(await house.call('hs4.intent.device_set_by_name', wish)).toMatchObject({ result: { execute: true } })
      expect(simulated.hardware(701)).toMatchObject({ value: 255 })
      expect(await house.call('hs4.resolve.events', { query: 'Heron Evening' })).toMatchObject(ACTS)
    } finally {
      simulated.remove(701)
      system.events = events
    }
  })
})

describe('lists while HomeSeer changes', () => {
  it('show HomeSeer’s raw fields consistent with the value beside them', async () => {
    const shown = async (tool: string, path: readonly string[], args: JsonObject = {}): Promise<unknown> => {
      const devices = at(await house.call(tool, args), 'result', ...path) as readonly JsonObject[]
      return devices.find(({ ref }) => ref === 120)
    }
    for (const value of [0, 255, 0]) {
      await set(120, { value })
      const both = { value, raw: { value } }
      const raw = { includeRaw: true }
      expect(await shown('hs4.devices.get', ['items'], { refs: [120], ...raw })).toMatchObject(both)
      expect(await shown('hs4.devices.list', ['items'], raw)).toMatchObject(both)
      expect(await shown('hs4.devices.status.get', ['snapshot', 'devices'], raw)).toMatchObject(both)
      expect(await shown('hs4://devices/catalog/full', ['devices'])).toMatchObject(both)
    }
  })

  it('contain a device as soon as HomeSeer does, and drop it as soon', async () => {
    const { house: simulated } = world.simulator
    const porch = createSimulatedHomeseerDevice({
      ref: 700,
      name: 'Porch Lamp',
      location: 'Porch',
      pairs: BINARY_SWITCH_CONTROLS,
    })
    const shown = { result: { returnedDevices: 1, missing: [] } }
    const gone = { result: { returnedDevices: 0, missing: [700] } }
    for (const [tool, how] of [
      ['hs4.devices.get', {}],
      ['hs4.devices.status.get', {}],
      ['hs4.devices.status.get', { fresh: true }],
      ['hs4.devices.status.get', { includeRaw: true }],
    ] as const) {
      simulated.add(porch)
      expect(await house.call(tool, { refs: [700], ...how })).toMatchObject(shown)
      simulated.remove(700)
      const look = { refs: [700], fresh: true }
      expect(await house.call('hs4.devices.status.get', look)).toMatchObject(gone)
      expect(await house.call(tool, { refs: [700], ...how })).toMatchObject(gone)
    }
    simulated.add(porch)
    expect(await set(700, { value: 255 })).toMatchObject({ result: { applied: true } })
    simulated.remove(700)
    expect(await set(700, { value: 0 })).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })

  it('contain an event as soon as HomeSeer does', async () => {
    const { system } = world.simulator
    const { events } = system
    const [first] = events
    if (first === undefined) throw new Error('the house has no events')
    expect(await house.call('hs4.events.get', { id: 900 })).toMatchObject({ error: { code: 'NOT_FOUND' } })
    system.events = [...events, { ...first, id: 900, group: 'New', name: 'Just Made' }]
    expect(await house.call('hs4.events.get', { id: 900 })).toMatchObject({ result: { name: 'Just Made' } })
    system.events = events
  })

  it('distinguish two events of the same name by id', async () => {
    const path = world.simulator.eventFiles?.events ?? ''
    const kept = readFileSync(path, 'utf8')
    const events = JSON.parse(kept) as readonly { evRef: number }[]
    const twin = { ...events.find(({ evRef }) => evRef === 31), evRef: 902 }
    writeFileSync(path, JSON.stringify([...events, twin]))
    try {
      const named = { group: 'Evening', name: 'Dim Ground Floor' }
      expect(await house.call('hs4.events.definition.get', named)).toMatchObject({
        error: { code: 'BAD_REQUEST', details: { ids: [31, 902] } },
      })
      expect(await house.call('hs4.events.definition.get', { id: 902 })).toMatchObject({
        result: { event: { id: 902 } },
      })
    } finally {
      writeFileSync(path, kept)
    }
  })
})

/** The simulated HomeSeer, except for a question about controls that `meets` wants: `answer` decides about that one. */
async function homeseerBehind(
  meets: RegExp,
  answer: (response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly asked: string[]; readonly [Symbol.dispose]: () => void }> {
  const { httpPort } = world.simulator
  const asked: string[] = []
  const server = createServer(({ url = '', headers }, response) => {
    asked.push(url)
    if (meets.test(url)) return answer(response)
    const login = { authorization: headers.authorization ?? '' }
    return void fetch(`http://127.0.0.1:${httpPort}${url}`, { headers: login })
      .then((reply) => reply.text())
      .then((text) => response.end(text))
  })
  const url = `http://127.0.0.1:${await listenLocally(server)}`
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  return { url, asked, [Symbol.dispose]: close }
}

describe('hs4.selftest.run', () => {
  it('fails when HomeSeer does not list the controls of its devices', async () => {
    using mute = await homeseerBehind(/request=getcontrol(&|$)/, (response) => response.end('error\r\n'))
    await using house = await openHouse(world, { homeseer: { url: mute.url, push: {} } })
    expect(await house.call('hs4.devices.list')).toMatchObject({ error: { code: 'HS4_ERROR' } })
    const { checks } = at(await house.call('hs4.selftest.run'), 'result') as { checks: readonly JsonObject[] }
    expect(checks).toContainEqual(expect.objectContaining({ check: 'devices_read', status: 'pass' }))
    expect(checks).toContainEqual(
      expect.objectContaining({ check: 'controls_read', status: 'fail', code: 'HS4_ERROR' }),
    )
    expect(checks).toContainEqual(
      expect.objectContaining({ check: 'alias_refresh', status: 'warn', missing: ['devices'] }),
    )
  })
})

describe('a HomeSeer without push', () => {
  it('is asked for one device and its relatives only, when one of them is requested', async () => {
    const { house: simulated } = world.simulator
    using homeseer = await homeseerBehind(/^$/, () => undefined)
    const quiet = { url: homeseer.url, push: { pollSeconds: 86_400 }, statusCacheMs: 0 }
    const root = { ref: 710, name: 'Tower', relationship: 2 }
    const feature = { name: 'Tower Lamp', relationship: 4, associatedRefs: [710], pairs: BINARY_SWITCH_CONTROLS }
    simulated.add(createSimulatedHomeseerDevice({ ...root, associatedRefs: [711] }))
    simulated.add(createSimulatedHomeseerDevice({ ...feature, ref: 711 }))
    try {
      await using house = await openHouse(world, { homeseer: quiet })
      expect(await house.call('hs4.devices.list', { limit: 1 })).toMatchObject({ result: { total: 40 } })
      homeseer.asked.length = 0
      const get = () => house.call('hs4.devices.get', { refs: [710] })
      expect(await get()).toMatchObject({ result: { resolvedRefs: [710, 711] } })
      simulated.remove(710)
      simulated.add(createSimulatedHomeseerDevice({ ...root, associatedRefs: [711, 712] }))
      simulated.add(createSimulatedHomeseerDevice({ ...feature, ref: 712 }))
      expect(await get()).toMatchObject({ result: { resolvedRefs: [710, 711, 712] } })
      simulated.remove(712)
      expect(await get()).toMatchObject({ result: { resolvedRefs: [710, 711] } })
      expect(homeseer.asked.filter((url) => !url.includes('ref='))).toEqual([])
      expect(homeseer.asked.length).toBeGreaterThan(0)
    } finally {
      for (const ref of [710, 711, 712]) simulated.remove(ref)
    }
  })
})

describe('a HomeSeer that is too slow to list all controls', () => {
  it('has its devices shown and set all the same, and its lock needs an approval', async () => {
    using slow = await homeseerBehind(/request=getcontrol2?$/, () => undefined)
    const homeseer = { url: slow.url, push: {}, timeoutMs: 6_000, readRetries: 0 }
    await using house = await openHouse(world, { homeseer })
    expect(await house.call('hs4.devices.list', { limit: 1 })).toMatchObject({ result: { total: 38 } })
    expect(await house.call('hs4.devices.get', { refs: [120], includeControls: true })).toMatchObject({
      result: { items: [{ capabilities: ['on_off'], controlPairs: [{ label: 'Off' }, { label: 'On' }] }] },
    })
    expect(await house.call('hs4.devices.set', { ref: 120, value: 255, ...CLAIMS })).toMatchObject({
      result: { applied: true },
    })
    expect(await house.call('hs4.devices.set', { ref: 141, value: 0, ...CLAIMS })).toMatchObject({
      error: { code: 'POLICY_DENY', details: { approval: { state: 'requested' } } },
    })
    expect(await house.call('hs4.devices.controls.get', {})).toMatchObject({
      error: { code: 'TIMEOUT', fixHint: expect.stringContaining('refs') },
    })
  })
})
