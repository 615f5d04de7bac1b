/**
 * A stranger's client: HomeSeer's own Node-RED nodes, as published, inside Node-RED's runtime, take the simulated
 * HomeSeer for a real one. They put labels into the query as they are, with blanks and percent signs.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createHardCaseDevices, HARD_CASE_DEVICE_REFS } from '../../src/sim/homeseer/hard-case-devices.ts'
import { startHomeseerSimulator, type HomeseerSimulator } from '../../src/sim/homeseer/homeseer-server.ts'
import { createSimulatedHomeseerDevice } from '../../src/sim/homeseer/simulated-homeseer-device.ts'
import { at } from '../homeseer-rig.ts'

/** Buttons as plug-ins name them: `Dim 20%`, and `00%` in DJF3's Postman collection. */
const PERCENT_LABELS = [
  { label: '00%', value: 0 },
  { label: 'Dim 20%', value: 20 },
  { label: '5%', value: 5 },
  { label: '100% On', value: 100 },
]
const STEPS = 600

let simulator: HomeseerSimulator
let nodeRed: ChildProcess
let directory: string
let said: unknown[] = []
let log = ''

beforeAll(async () => {
  simulator = await startHomeseerSimulator({
    host: '127.0.0.1',
    httpPort: 0,
    asciiPort: 0,
    parts: [
      ...createHardCaseDevices(),
      createSimulatedHomeseerDevice({ ref: STEPS, name: 'Steps', pairs: PERCENT_LABELS }),
    ],
  })
  directory = await mkdtemp(join(tmpdir(), 'hearthbus-node-red-'))
  const program = join(import.meta.dirname, '../node-red-process.ts')
  nodeRed = fork(program, [directory], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { PATH: process.env['PATH'], HOME: directory },
  })
  nodeRed.stdout?.on('data', (piece: Buffer) => (log += piece.toString()))
  nodeRed.stderr?.on('data', (piece: Buffer) => (log += piece.toString()))
  nodeRed.on('message', (message) => said.push(message))
  await heard('ready')
  nodeRed.send({ flows: flows(), credentials: { house: { username: 'default', password: 'default' } } })
  await heard('deployed')
})

afterAll(async () => {
  nodeRed.kill('SIGKILL')
  if (nodeRed.exitCode === null && nodeRed.signalCode === null) await once(nodeRed, 'exit')
  await simulator.stop()
  await rm(directory, { recursive: true, force: true })
})

/** As Node-RED's editor would save them. Wires lead to nobody: the runtime tells what is sent along them. */
function flows(): readonly object[] {
  const device = (id: string, ref: number) => ({
    id,
    z: 'tab',
    type: 'hs-device',
    server: 'house',
    device: ref,
    feature: 0,
    reportonstartup: false,
    wires: [['nobody']],
  })
  return [
    {
      id: 'house',
      type: 'hs-server',
      host: '127.0.0.1',
      port: simulator.httpPort,
    },
    { id: 'tab', type: 'tab', label: 'Hearthbus' },
    device('lamp', HARD_CASE_DEVICE_REFS.hallLamp),
    device('steps', STEPS),
    device('switch', HARD_CASE_DEVICE_REFS.kitchenSwitch),
    { id: 'event', z: 'tab', type: 'hs-event', server: 'house', event: 31, wires: [['nobody']] },
  ]
}

/** The first message that has this member, taken out of what was said. */
async function heard(member: string): Promise<unknown> {
  const isThere = (message: unknown): boolean => at(message, member) !== undefined
  await vi.waitFor(
    () => {
      if (!said.some(isThere)) throw new Error(`Node-RED said no ${member}: ${log}`)
    },
    { timeout: 120_000 },
  )
  const found = said.find(isThere)
  said = said.filter((message) => message !== found)
  return at(found, member)
}

async function told(node: string, msg: object): Promise<unknown> {
  said = []
  const tell = (): void => void nodeRed.send({ input: { node, msg } })
  tell()
  // The nodes forget a message whose connection was cut, as happens when the machine stands still for seconds.
  const again = setInterval(tell, 10_000)
  try {
    return at(await heard('sent'), 'msg', 'payload')
  } finally {
    clearInterval(again)
  }
}

describe('HomeSeer’s own Node-RED nodes', () => {
  it('control a device by value, and receive its record', async () => {
    const answer = await told('switch', { payload: { value: 255 } })
    expect(answer).toMatchObject({ ref: HARD_CASE_DEVICE_REFS.kitchenSwitch, name: 'Kitchen Lamp' })
    await expect.poll(() => simulator.house.hardware(HARD_CASE_DEVICE_REFS.kitchenSwitch)?.value).toBe(255)
  })

  it.each(PERCENT_LABELS)('control a device by the label $label', async ({ label, value }) => {
    const answer = await told('steps', { topic: 'control', payload: { status: label } })
    expect(answer).toMatchObject({ ref: STEPS })
    await expect.poll(() => simulator.house.hardware(STEPS)?.value).toBe(value)
  })

  it('write HomeSeer’s stored value and status text of a device', async () => {
    expect(await told('lamp', { topic: 'update', payload: { value: 7 } })).toBe('ok')
    expect(simulator.house.record(HARD_CASE_DEVICE_REFS.hallLamp, false)).toMatchObject({ value: 7 })
    expect(await told('lamp', { topic: 'update', payload: { status: '100 % sure' } })).toBe('ok')
    expect(simulator.house.record(HARD_CASE_DEVICE_REFS.hallLamp, false)).toMatchObject({ status: '100 % sure' })
  })

  it('read a device again', async () => {
    expect(await told('switch', { topic: 'sync' })).toMatchObject({
      ref: HARD_CASE_DEVICE_REFS.kitchenSwitch,
      status: 'On',
    })
  })

  it('run an event', async () => {
    const before = simulator.system.deeds.length
    await told('event', { topic: 'run' })
    expect(simulator.system.deeds.slice(before)).toContainEqual(expect.objectContaining({ kind: 'event' }))
  })

  it('receive changes through HomeSeer’s web hook', async () => {
    said = []
    nodeRed.send({
      hook: { type: 'devicechange', data: { ref: HARD_CASE_DEVICE_REFS.kitchenSwitch, value: 0, status: 'Off' } },
    })
    expect(at(await heard('sent'), 'msg', 'payload')).toMatchObject({
      ref: HARD_CASE_DEVICE_REFS.kitchenSwitch,
      status: 'Off',
    })
  })

  it('receive an error for a label that the device does not have', async () => {
    said = []
    nodeRed.send({ input: { node: 'lamp', msg: { payload: { status: 'No such label' } } } })
    expect(at(await heard('failed'), 'node')).toBe('lamp')
  })
})
