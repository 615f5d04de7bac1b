/**
 * A stranger's client: `homebridge-homeseer4`, as published, inside Homebridge, takes the simulated HomeSeer for a real
 * one. HomeKit's side is played over Homebridge's own HTTP interface, which `-I` opens to whoever knows the setup code.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePort } from '../local-port.ts'
import { HARD_CASE_DEVICE_REFS } from '../../src/sim/homeseer/hard-case-devices.ts'
import { startHomeseerSimulator, type HomeseerSimulator } from '../../src/sim/homeseer/homeseer-server.ts'

const PIN = '031-45-154'
/** HomeKit's short names for the characteristics used here. */
const ON = '25'
const BRIGHTNESS = '8'
const LOCK_TARGET = '1E'
const LOCK_CURRENT = '1D'
const SERIAL_NUMBER = '30'

let simulator: HomeseerSimulator
let homebridge: ChildProcess
let directory: string
let base: string
let log = ''

beforeAll(async () => {
  simulator = await startHomeseerSimulator({ host: '127.0.0.1', httpPort: 0, asciiPort: 0 })
  directory = await mkdtemp(join(tmpdir(), 'hearthbus-homebridge-'))
  const port = await freePort()
  base = `http://127.0.0.1:${port}`
  await writeFile(join(directory, 'config.json'), JSON.stringify(configuration(port)))
  const require = createRequire(import.meta.url)
  const program = join(dirname(require.resolve('homebridge/package.json')), 'bin/homebridge')
  const plugin = ['-P', dirname(require.resolve('homebridge-homeseer4/package.json')), '--strict-plugin-resolution']
  homebridge = spawn(process.execPath, [program, '-I', '-Q', '-T', '-U', directory, ...plugin], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: directory },
  })
  homebridge.stdout?.on('data', (piece: Buffer) => (log += piece.toString()))
  homebridge.stderr?.on('data', (piece: Buffer) => (log += piece.toString()))
  await vi.waitUntil(() => log.includes('Successfully authorized Telnet port'), { timeout: 250_000 })
  // Homebridge loads slowly on a machine that others use, too.
})

afterAll(async () => {
  // Homebridge waits five seconds before it obeys a polite request.
  homebridge.kill('SIGKILL')
  if (homebridge.exitCode === null && homebridge.signalCode === null) await once(homebridge, 'exit')
  await simulator.stop()
  await rm(directory, { recursive: true, force: true })
})

function configuration(port: number) {
  return {
    bridge: {
      name: 'Hearthbus Test',
      username: '0E:22:3D:E3:CE:30',
      port,
      pin: PIN,
      bind: ['127.0.0.1'],
      advertiser: 'ciao',
    },
    platforms: [
      {
        platform: 'HomeSeer',
        name: 'HomeSeer',
        host: `http://127.0.0.1:${simulator.httpPort}`,
        login: 'default',
        password: 'default',
        ASCIIport: simulator.asciiPort,
        accessories: [
          { type: 'DimmingLight', ref: HARD_CASE_DEVICE_REFS.hallLamp },
          { type: 'Switch', ref: HARD_CASE_DEVICE_REFS.kitchenSwitch },
          { type: 'Lock', ref: HARD_CASE_DEVICE_REFS.frontDoorLock },
        ],
        events: [{ eventGroup: 'Evening', eventName: 'Dim Ground Floor' }],
      },
    ],
  }
}

interface Characteristic {
  readonly aid: number
  readonly iid: number
  readonly type: string
  readonly value?: string | number | boolean
}

async function characteristics(): Promise<readonly Characteristic[]> {
  const answer = await fetch(`${base}/accessories`, { headers: { Authorization: PIN } })
  const { accessories } = (await answer.json()) as {
    accessories: readonly {
      aid: number
      services: readonly { characteristics: readonly Omit<Characteristic, 'aid'>[] }[]
    }[]
  }
  return accessories.flatMap(({ aid, services }) =>
    services.flatMap((service) => service.characteristics.map((characteristic) => ({ aid, ...characteristic }))),
  )
}

/** The characteristic of the accessory whose serial number ends so. */
async function find(serial: string, type: string): Promise<Characteristic> {
  const all = await characteristics()
  const owner = all.find((one) => one.type === SERIAL_NUMBER && String(one.value).endsWith(serial))
  const found = all.find((one) => one.aid === owner?.aid && one.type === type)
  if (found === undefined) throw new Error(`no ${type} of ${serial} in HomeKit`)
  return found
}

async function set(serial: string, type: string, value: number | boolean): Promise<void> {
  const { aid, iid } = await find(serial, type)
  const answer = await fetch(`${base}/characteristics`, {
    method: 'PUT',
    headers: { Authorization: PIN, 'Content-Type': 'application/json' },
    body: JSON.stringify({ characteristics: [{ aid, iid, value }] }),
  })
  if (!answer.ok) throw new Error(`HomeKit answered ${answer.status}`)
}

const hardware = (ref: number) => simulator.house.hardware(ref)?.value

describe('homebridge-homeseer4 and the simulated HomeSeer', () => {
  it('discovers the devices with names, models and values', async () => {
    const serials = async () =>
      (await characteristics()).filter((one) => one.type === SERIAL_NUMBER).map((one) => one.value)
    // It publishes them after it has logged in.
    await expect
      .poll(serials)
      .toEqual(
        expect.arrayContaining([
          'HS DimmingLight ref 101',
          'HS Switch ref 120',
          'HS Lock ref 141',
          'HS Event Evening Dim Ground Floor',
        ]),
      )
    await expect.poll(async () => (await find('ref 101', BRIGHTNESS)).value).toBe(35)
    // 99, not 100: the client read HomeSeer's interface name and pairs.
    expect(await find('ref 101', BRIGHTNESS)).toMatchObject({ maxValue: 99 })
  })

  it('switches a lamp on and off', async () => {
    await set('ref 120', ON, true)
    await expect.poll(() => hardware(HARD_CASE_DEVICE_REFS.kitchenSwitch)).toBe(255)
    await set('ref 120', ON, false)
    await expect.poll(() => hardware(HARD_CASE_DEVICE_REFS.kitchenSwitch)).toBe(0)
  })

  it('dims a lamp', async () => {
    await set('ref 101', BRIGHTNESS, 42)
    await expect.poll(() => hardware(HARD_CASE_DEVICE_REFS.hallLamp)).toBe(42)
  })

  it('unlocks the door, through the intermediate value', async () => {
    await set('ref 141', LOCK_TARGET, 0)
    await expect.poll(() => hardware(HARD_CASE_DEVICE_REFS.frontDoorLock)).toBe(0)
    await expect.poll(async () => (await find('ref 141', LOCK_CURRENT)).value).toBe(0)
  })

  it('shows a change that HomeSeer pushes', async () => {
    simulator.move(HARD_CASE_DEVICE_REFS.hallLamp, 60)
    await expect.poll(async () => (await find('ref 101', BRIGHTNESS)).value).toBe(60)
    simulator.move(HARD_CASE_DEVICE_REFS.kitchenSwitch, 255)
    await expect.poll(async () => Boolean((await find('ref 120', ON)).value)).toBe(true)
  })

  it('runs an event', async () => {
    await set('Dim Ground Floor', ON, true)
    await expect.poll(() => hardware(HARD_CASE_DEVICE_REFS.diningDimmer)).toBe(20)
  })

  it('logs no unexpected data and no error', () => {
    expect(log).not.toContain('Unexpected Data Received')
    expect(log).not.toContain('Error Received on Telnet port')
  })
})
