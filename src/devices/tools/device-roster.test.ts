import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Capability } from '../../bus/capability.ts'
import type { ManualClock } from '../../../test/manual-clock.ts'
import { manualClock } from '../../../test/manual-clock.ts'
import { Database } from '../../core/database-store.ts'
import { ok } from '../../core/result.ts'
import { Ledger } from '../../ledger/ledger.ts'
import { ledgerMigrations } from '../../ledger/ledger-tables-store.ts'
import { createLogSigner } from '../../ledger/note-key.ts'
import { rememberedDevicesMigrations, EnrolStore } from '../enrol/enrol-store.ts'
import type { FleetDevice } from '../session/fleet.ts'
import { DEFAULT_TOOL_TIMEOUTS } from '../session/tool-timeout.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import { computeWithheldToolsDigest } from './tool-pins.ts'
import { DeviceToolCaller } from './device-tool-caller.ts'
import { deviceToolsMigrations, ToolPinStore } from './tool-pin-store.ts'
import { DeviceRoster } from './device-roster.ts'

const ORIGIN = 'hearthbus.test/ledger'
const DEVICE = '02:00:00:00:00:01'
const tool = (description: string, name = 'self.lamp.on'): DeviceTool => ({
  name,
  description,
  inputSchema: { type: 'object', properties: {} },
  userOnly: false,
})

let directory: string
let clock: ManualClock
let database: Database
let ledger: Ledger
let enrolled: EnrolStore
let roster: DeviceRoster
let registered: Capability[]
let view: FleetDevice
let onTrouble: (error: unknown) => void

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'roster-'))
  clock = manualClock()
  database = new Database({
    path: ':memory:',
    migrations: [ledgerMigrations, rememberedDevicesMigrations, deviceToolsMigrations],
  })
  const signer = createLogSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey)
  ledger = await Ledger.open({ database, origin: ORIGIN, signer, lastSignedPath: join(directory, 'signed'), clock })
  enrolled = new EnrolStore(database, ledger)
  await enrol(DEVICE, 'Den')
  registered = []
  onTrouble = (error) => {
    throw error
  }
  const fleet = { device: () => view, call: () => Promise.reject(new Error('nobody calls')) }
  roster = new DeviceRoster({
    fleet,
    registrar: { device: (id) => enrolled.device(id), devices: () => enrolled.devices() },
    store: new ToolPinStore(database, ledger),
    calls: new DeviceToolCaller(fleet, {
      toolTimes: DEFAULT_TOOL_TIMEOUTS,
      whenAsleep: 'fail',
      waitMs: 0,
      bootedAtMs: () => undefined,
      now: () => 0,
    }),
    bus: {
      registerCapability: (capability) => {
        registered.push(capability)
        return ok(undefined)
      },
      deregister: () => undefined,
    },
    rules: {
      effects: { readTools: [], sensitiveTools: [] },
      urls: [],
      userToolsForAgents: [],
      offlineTools: 'listed',
    },
    monotonic: clock.monotonic,
    report: (error) => onTrouble(error),
  })
})
afterEach(() => {
  database.close()
  rmSync(directory, { recursive: true })
})

async function enrol(deviceId: string, name: string): Promise<void> {
  await enrolled.approve({
    deviceId,
    clientId: '00000001-0000-4000-8000-000000000000',
    name,
    transport: 'mqtt',
    board: 'lamp',
    firmware: '2.4.2',
    approvedBy: 'the test',
  })
}

/** The device says hello and lists these. */
const lists = (...tools: readonly DeviceTool[]) => looks(true, tools)

async function looks(online: boolean, tools: readonly DeviceTool[]): Promise<void> {
  view = {
    id: DEVICE,
    online,
    phase: online ? 'ready' : 'asleep',
    transport: 'mqtt',
    remoteAddress: undefined,
    info: undefined,
    tools,
    warnings: [],
    queued: 0,
    lastSeenMs: undefined,
  }
  await roster.sync(DEVICE)
}

const lines = () =>
  ledger.entries(0, 1_000).flatMap(({ entry }) => (entry.kind === 'device.tools.withheld' ? [entry['changes']] : []))
const withheld = () => roster.find(DEVICE)?.withheld.map((each) => each.tool.description)

describe('devices that change at the same moment', () => {
  it('are registered in one turn of the event loop each, so that calls are not delayed', async () => {
    const others = [2, 3, 4, 5].map((number) => `02:00:00:00:00:0${number}`)
    for (const id of others) await enrol(id, `Lamp ${id}`)
    await lists(tool('on'))
    await roster.syncAll()
    registered = []
    view = { ...view, online: false, phase: 'asleep' }
    const looks = [DEVICE, ...others].map((id) => roster.sync(id))
    const perTurn: number[] = []
    for (let before = 0; registered.length < 5; before = registered.length) {
      await new Promise(setImmediate)
      perTurn.push(registered.length - before)
    }
    await Promise.all(looks)
    expect(perTurn).toEqual([1, 1, 1, 1, 1])
  })

  it('are removed from the bus at once when their credentials are voided', async () => {
    await lists(tool('on'))
    await enrolled.voidCredentials(DEVICE, 'the test', 'revoked')
    void roster.sync(DEVICE)
    expect(roster.devices()).toEqual([])
  })
})

describe('a device that disconnects and reconnects', () => {
  it('reuses the registration of its tools', async () => {
    await lists(tool('on'))
    await looks(false, [tool('on')])
    await lists(tool('on'))
    const [there, away, back] = registered
    expect(away?.offer.description).toContain('Offline now.')
    expect(back).toBe(there)
  })

  it('is registered with a new description when the name of another tool in it changes', async () => {
    const on = tool('see self.lamp.on_for')
    const added = tool('', 'self.lamp.on_for')
    await lists(on)
    await looks(false, [on, added])
    const device = roster.find(DEVICE)
    if (device === undefined) throw new Error('the device is not there')
    await roster.approve(device, computeWithheldToolsDigest(device.withheld) ?? '', 'owner')
    await lists(on, added)
    const described = registered.findLast(({ offer }) => offer.name === 'device.den.self.lamp.on')?.offer.description
    expect(described).toContain('see device.den.self.lamp.on_for')
  })

  it('is synchronised again when it connected during a failed synchronisation', async () => {
    database.sql.exec('ALTER TABLE device_pin RENAME TO away')
    const failures: unknown[] = []
    onTrouble = (error) => {
      failures.push(error)
      database.sql.exec('ALTER TABLE away RENAME TO device_pin')
      void roster.sync(DEVICE)
    }
    await lists(tool('on'))
    expect(failures).toHaveLength(1)
    expect(registered.map(({ offer }) => offer.name)).toEqual(['device.den.self.lamp.on'])
  })
})

describe('a device whose tool descriptions change at every connection', () => {
  it('has its tools withheld at once, and is recorded every ten minutes with the number of changes', async () => {
    await lists(tool('as it was'))
    for (let round = 1; round <= 50; round++) {
      await lists(tool(`wording ${round}`))
      expect(withheld()).toEqual([`wording ${round}`])
    }
    expect(lines()).toEqual([1])
    clock.advance(600_000)
    await lists(tool('wording 50'))
    expect(lines()).toEqual([1, 49])
    await lists(tool('wording 50'))
    expect(lines()).toEqual([1, 49])
  })

  it('is not recorded more often when it sends the original descriptions in between', async () => {
    await lists(tool('as it was'))
    for (let round = 1; round <= 10; round++) {
      await lists(tool('other'))
      await lists(tool('as it was'))
      expect(withheld()).toEqual([])
    }
    expect(lines()).toEqual([1])
    clock.advance(600_000)
    await lists(tool('other'))
    expect(lines()).toEqual([1, 10])
  })

  it('is recorded at once after a person has approved its tools', async () => {
    await lists(tool('as it was'))
    await lists(tool('new'))
    const device = roster.find(DEVICE)
    if (device === undefined) throw new Error('the device is not there')
    expect(await roster.approve(device, computeWithheldToolsDigest(device.withheld) ?? '', 'owner')).toEqual(
      ok(['self.lamp.on']),
    )
    await lists(tool('newer'))
    expect(lines()).toEqual([1, 1])
  })
})
