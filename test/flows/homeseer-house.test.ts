/**
 * The house of hard cases, seen through the real link, catalog and resolver over sockets: each trap comes out right.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { HomeseerCatalogClient } from '../../src/homeseer/catalog/catalog-client.ts'
import {
  buildEventGraph,
  traceEventConsequences,
} from '../../src/homeseer/catalog/device-catalog-and-event-consequences.ts'
import {
  chooseControlPair,
  createDeviceControlHttpRequest,
  computeControlExpectation,
  compareWithExpectation,
} from '../../src/homeseer/catalog/control-choice-and-read-back.ts'
import { EventFileReader } from '../../src/homeseer/catalog/event-file-store.ts'
import type { HomeseerDeviceCatalog } from '../../src/homeseer/catalog/device-catalog-and-event-consequences.ts'
import type { Alias } from '../../src/homeseer/resolve/alias.ts'
import { resolveCameras, resolveDevices, resolveEvents } from '../../src/homeseer/resolve/name-resolver.ts'
import { NameResolverCache } from '../../src/homeseer/resolve/name-resolver-cache.ts'
import { createHomeseerLink, type HomeseerLink } from '../../src/homeseer/wire/homeseer-link-client.ts'
import { HARD_CASE_DEVICE_REFS } from '../../src/sim/homeseer/hard-case-devices.ts'
import { startHomeseerSimulator, type HomeseerSimulator } from '../../src/sim/homeseer/homeseer-server.ts'
import { createSimulatedHomeseerDevice } from '../../src/sim/homeseer/simulated-homeseer-device.ts'

let directory: string
let simulator: HomeseerSimulator
let link: HomeseerLink
let catalog: HomeseerCatalogClient
let requests: string[]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearthbus-homeseer-'))
  simulator = await startHomeseerSimulator({
    host: '127.0.0.1',
    httpPort: 0,
    asciiPort: 0,
    sensors: 2_500,
    dataDirectory: directory,
  })
  requests = []
  link = createHomeseerLink({
    json: {
      baseUrl: `http://127.0.0.1:${simulator.httpPort}`,
      credentials: { user: 'default', password: 'default' },
      authentication: 'basic',
      timeoutMs: 10_000,
      readRetries: 2,
      readRetryBackoffMs: 10,
      allTriesMs: 25_000,
      restMs: 0,
      maxReplyBytes: 32_000_000,
      onAttempt: ({ request }) => requests.push(request),
    },
    ascii: { host: '127.0.0.1', port: simulator.asciiPort, pingMs: 60_000, patienceMs: 5_000 },
    webhookKey: undefined,
    mirror: { pollMs: 60_000, resyncMs: 60_000 },
    clock: systemClock,
  })
  link.start()
  catalog = new HomeseerCatalogClient({ ...link, clock: systemClock, listsHoldMs: 60_000, controlsHoldMs: 60_000 })
})

afterAll(async () => {
  link.close()
  await simulator.stop()
  await rm(directory, { recursive: true })
})

async function house(): Promise<HomeseerDeviceCatalog> {
  const result = await catalog.devices()
  if (!result.ok) throw new Error(result.fault.kind)
  return result.value
}

async function device(ref: number) {
  const found = (await house()).byRef.get(ref)
  if (found === undefined) throw new Error(`no device ${ref}`)
  return found
}

describe('catalog of the hard-case house', () => {
  it('contains every device with its controls after two requests', async () => {
    const { devices } = await house()
    expect(devices).toHaveLength(simulator.house.refs.length)
    expect(devices.every((one) => one.controlsKnown)).toBe(true)
    expect(requests.filter((request) => request === 'getcontrol')).toHaveLength(1)
  })

  it('distinguishes roots, features and wrappers', async () => {
    expect(await device(HARD_CASE_DEVICE_REFS.hallLampRoot)).toMatchObject({ wrapper: true, childRefs: [101] })
    expect(await device(HARD_CASE_DEVICE_REFS.hallLamp)).toMatchObject({ wrapper: false, parentRef: 100 })
    expect(await device(HARD_CASE_DEVICE_REFS.porchMaster)).toMatchObject({ wrapper: true })
    expect((await device(HARD_CASE_DEVICE_REFS.thermostatRoot)).childRefs).toEqual([161, 162, 163, 164, 165])
  })

  it('derives the capabilities of every device, including a battery shown as a percentage', async () => {
    const capabilities = async (ref: number) => (await device(ref)).capabilities
    expect(await capabilities(HARD_CASE_DEVICE_REFS.kitchenSwitch)).toEqual(['on_off'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.diningDimmer)).toEqual(['on_off', 'dimmer'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.frontDoorLock)).toEqual(['lock'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.garageDoor)).toEqual(['cover'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.gardenValve)).toEqual(['on_off'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.heatSetpoint)).toEqual(['setpoint'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.thermostatMode)).toEqual(['thermostat_mode'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.thermostatFan)).toEqual(['fan'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.thermostatBattery)).toEqual(['battery'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.windowContact)).toEqual(['contact'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.messageBoard)).toEqual(['text'])
    expect(await capabilities(HARD_CASE_DEVICE_REFS.moodLight)).toEqual(['color'])
  })

  it('marks the sensitive devices', async () => {
    const reasons = async (ref: number) => (await device(ref)).sensitivity
    expect(await reasons(HARD_CASE_DEVICE_REFS.frontDoorLock)).toEqual(['lock', 'door-or-gate', 'voice-confirm'])
    expect(await reasons(HARD_CASE_DEVICE_REFS.frontDoorRoot)).toEqual(['voice-confirm'])
    expect(await reasons(HARD_CASE_DEVICE_REFS.frontDoorBattery)).toEqual(['relative'])
    expect(await reasons(HARD_CASE_DEVICE_REFS.garageDoor)).toEqual(['door-or-gate'])
    const careful = (await house()).devices.filter((one) => one.sensitivity.length > 0).map((one) => one.ref)
    expect(careful).toEqual([140, 141, 142, 150])
  })

  it('chooses controls that HomeSeer accepts, and refuses those it would refuse', async () => {
    const { controls } = await device(HARD_CASE_DEVICE_REFS.gardenValve)
    const on = chooseControlPair(controls, { kind: 'use', use: 'On' })
    if (!on.ok) throw new Error(on.fault.kind)
    expect(await link.json.call(createDeviceControlHttpRequest(on.value))).toMatchObject({ ok: true })
    expect(simulator.house.hardware(HARD_CASE_DEVICE_REFS.gardenValve)?.value).toBe(0)
    const dimmer = await device(HARD_CASE_DEVICE_REFS.diningDimmer)
    expect(chooseControlPair(dimmer.controls, { kind: 'value', value: 100 })).toMatchObject({ ok: false })
  })

  it('distinguishes a lamp that came on from one that is stuck', async () => {
    const tryOn = async (ref: number, timeoutMs: number) => {
      const { controls } = await device(ref)
      const choice = chooseControlPair(controls, { kind: 'label', label: 'On' })
      if (!choice.ok) throw new Error(choice.fault.kind)
      const before = link.mirror.entries.get(ref)?.record ?? { value: undefined, status: '' }
      const expected = computeControlExpectation(choice.value, controls)
      await link.json.call(createDeviceControlHttpRequest(choice.value))
      const entry = await link.mirror.waitFor(ref, ({ live }) => live.value === 255, { timeoutMs })
      return compareWithExpectation(expected, before, { value: entry?.live.value ?? before.value, status: '' })
    }
    expect(await tryOn(HARD_CASE_DEVICE_REFS.kitchenSwitch, 60_000)).toBe('reached')
    expect(await tryOn(HARD_CASE_DEVICE_REFS.stuckLamp, 400)).toBe('elsewhere')
  })

  it('adds a new device by requesting that one only', async () => {
    const before = requests.filter((request) => request === 'getcontrol').length
    const built = await house()
    simulator.house.add(
      createSimulatedHomeseerDevice({ ref: 300, name: 'New Plug', pairs: [{ label: 'On', value: 255, use: 'On' }] }),
    )
    expect(await house()).toBe(built)
    await link.mirror.refresh()
    expect(await device(300)).toMatchObject({ controls: [{ label: 'On' }] })
    expect(requests.filter((request) => request === 'getcontrol').length).toBe(before + 1)
    expect((await catalog.freshControls(300)).ok).toBe(true)
  })

  it('assesses events by their definitions in HomeSeer’s event files', async () => {
    if (simulator.eventFiles === undefined) throw new Error('no event files')
    const files = await new EventFileReader(simulator.eventFiles).read()
    const events = await catalog.events()
    if (!files.ok || !events.ok) throw new Error('events cannot be read')
    const home = await house()
    const graph = buildEventGraph(files.value.definitions)
    const reasons = events.value.map((event) => {
      const definition = files.value.definitions.find(({ id }) => id === event.id)
      if (definition === undefined) throw new Error(`no definition of ${event.id}`)
      const { refs, doubts, security } = traceEventConsequences(graph, { event: definition }, () => [])
      const sensitive = refs.filter((ref) => (home.byRef.get(ref)?.sensitivity.length ?? 1) > 0)
      return [event.id, [...sensitive, ...doubts, ...(security ? ['security'] : [])]] as const
    })
    expect(Object.fromEntries(reasons)).toEqual({
      31: [],
      32: [],
      33: [],
      34: ['runs-script'],
      35: [141, 'security'],
      36: [],
    })
  })
})

describe('name resolver of the hard-case house', () => {
  async function resolver() {
    const client = new NameResolverCache({ catalog, configured: [], learned: () => [] })
    const current = await client.current()
    if (!current.ok) throw new Error(current.fault.kind)
    return current.value.resolver
  }

  it('finds the right device among thousands, or asks', async () => {
    const names = await resolver()
    const first = (query: string) => {
      const { candidates, verdict } = resolveDevices(names, query)
      return [candidates[0]?.target.ref, verdict.kind]
    }
    expect(first('hall lamp')).toEqual([HARD_CASE_DEVICE_REFS.hallLamp, 'act'])
    expect(first('porch')).toEqual([HARD_CASE_DEVICE_REFS.porch, 'act'])
    expect(first('turn on the kitchen lamp please')).toEqual([HARD_CASE_DEVICE_REFS.kitchenSwitch, 'act'])
    expect(first('front door')).toEqual([HARD_CASE_DEVICE_REFS.frontDoorLock, 'act'])
    expect(first('Küchentheke, links')).toEqual([HARD_CASE_DEVICE_REFS.kitchenCounter, 'act'])
    expect(first('kuchentheke links')).toEqual([HARD_CASE_DEVICE_REFS.kitchenCounter, 'ask'])
    expect(first('bedroom lamp')[1]).toBe('ask')
    expect(first('temperature sensor 1')).toEqual([10_000, 'act'])
    expect(first('temperature sensor')[1]).toBe('ask')
  })

  it('distinguishes events, groups, devices and cameras of one name', async () => {
    const names = await resolver()
    expect(resolveEvents(names, 'movie night').verdict).toEqual({ kind: 'ask', reason: 'several-exact' })
    expect(resolveEvents(names, 'evening').candidates.every((one) => one.match === 'fuzzy')).toBe(true)
    expect(resolveDevices(names, 'evening').verdict).toEqual({ kind: 'act' })
    expect(resolveCameras(names, 'driveway').verdict).toEqual({ kind: 'act' })
  })

  it('reports which source could not be read, and resolves with the others', async () => {
    const client = new NameResolverCache({ catalog, configured: [], learned: () => [] })
    catalog.forget()
    simulator.faults.failWith = { status: 404, times: 1 }
    const current = await client.current()
    expect(current).toMatchObject({ ok: true, value: { warnings: [{ fault: { kind: 'http-status', status: 404 } }] } })
  })

  it('is reused until the catalog or an alias changes', async () => {
    let learned: readonly Alias[] = []
    const client = new NameResolverCache({ catalog, configured: [], learned: () => learned })
    const resolverNow = async () => {
      const current = await client.current()
      return current.ok ? current.value.resolver : undefined
    }
    const first = await resolverNow()
    expect(await resolverNow()).toBe(first)
    learned = [{ kind: 'device', id: HARD_CASE_DEVICE_REFS.porch, text: 'veranda', origin: 'confirmed' }]
    const second = await resolverNow()
    expect(second).not.toBe(first)
    expect(second && resolveDevices(second, 'veranda').verdict).toEqual({ kind: 'act' })
  })
})
