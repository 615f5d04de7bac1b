import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SimulatedFleet } from '../../../src/sim/devices/simulated-fleet.ts'
import { startSimulatedFleet } from '../../../src/sim/devices/simulated-fleet.ts'
import type { FirmwareTool } from '../../../src/sim/devices/firmware-tool.ts'
import type { House } from './house.ts'
import { openHouse, QUICK } from './house.ts'

const COUNT = 100
const CALLS = 1_000

/** Says who answers and what was asked, so that a crossed reply shows. */
const echo = (deviceId: string): FirmwareTool => ({
  name: 'self.echo',
  description: '',
  properties: [{ name: 'nonce', type: 'string' }],
  run: ({ nonce }) => `${deviceId} ${String(nonce)}`,
})

describe('a hundred devices, half WebSocket, half MQTT', () => {
  let house: House
  let fleet: SimulatedFleet
  beforeAll(async () => {
    const pendingDevices = { places: COUNT, placesPerAddress: COUNT, stayMs: 60_000 }
    house = await openHouse({ registrar: { pendingDevices } })
    // A device that got no answer in time asks again, with another code.
    const transports = new Map<string, 'websocket' | 'mqtt'>()
    fleet = await startSimulatedFleet({
      count: COUNT,
      first: 5_000,
      ota: house.ota,
      awake: true,
      timing: QUICK,
      settings: ({ deviceId }) => ({ tools: [echo(deviceId)] }),
      onDeviceCode: ({ deviceId }, code) => {
        const transport = transports.get(deviceId) ?? (transports.size % 2 === 0 ? 'websocket' : 'mqtt')
        transports.set(deviceId, transport)
        void house.registrar.approve(code, { by: 'the test', transport })
      },
    })
    for (const { identity } of fleet.devices) await house.until(identity.deviceId, ({ phase }) => phase === 'ready')
  })
  afterAll(async () => {
    fleet.stop()
    await house.stop()
  })

  const call = async (index: number) => {
    const { deviceId } = fleet.devices[(index * 7) % COUNT]?.identity ?? { deviceId: '' }
    const nonce = `n${index}`
    const answer = await house.fleet.call(deviceId, 'self.echo', { nonce })
    return { answer, expected: `${deviceId} ${nonce}` }
  }

  it('answer a thousand concurrent calls, each with its own reply', async () => {
    const replies = await Promise.all(Array.from({ length: CALLS }, (_none, index) => call(index)))
    const texts = replies.map(({ answer }) => (answer.ok ? answer.value.content[0] : answer.fault))
    expect(texts).toEqual(replies.map(({ expected }) => ({ type: 'text', text: expected })))
    const transports = house.fleet.devices().map(({ transport }) => transport)
    expect(transports.filter((transport) => transport === 'mqtt')).toHaveLength(COUNT / 2)
  })

  it('disconnect at once during calls, and no call stays pending', async () => {
    const calls = Array.from({ length: CALLS }, (_none, index) => call(index))
    for (const device of fleet.devices) device.cut()
    const outcomes = await Promise.all(calls)
    for (const { answer } of outcomes)
      expect(answer.ok ? 'answered' : answer.fault.kind).toMatch(/^(?:answered|disconnected|asleep)$/)
    expect(house.fleet.stats().pendingCalls).toBe(0)
    await expect.poll(() => house.fleet.stats().connected).toBe(COUNT)
    for (const { identity } of fleet.devices) await house.until(identity.deviceId, ({ phase }) => phase === 'ready')
    const { answer, expected } = await call(1)
    expect(answer).toMatchObject({ ok: true, value: { content: [{ text: expected }] } })
  })
})
