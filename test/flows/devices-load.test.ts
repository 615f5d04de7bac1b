/** A small form of bench/devices: many devices at once, called through a model's client. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { startSimulatedFleet } from '../../src/sim/devices/simulated-fleet.ts'
import type { FirmwareTool } from '../../src/sim/devices/firmware-tool.ts'
import { openDeviceHome } from '../device-home.ts'
import type { DeviceHome } from '../device-home.ts'
import { connectHttp } from '../gateway-process.ts'

describe('a hundred devices', () => {
  const COUNT = 100
  let house: DeviceHome
  beforeAll(async () => {
    house = await openDeviceHome({
      devices: `waitingPerAddress: ${COUNT}`,
      guard: 'callsPerMinute: 100000, writesPerMinute: 100000',
    })
  })
  afterAll(() => house.stop())

  it('each return their own answers to concurrent calls of a model', async () => {
    const echo = (deviceId: string): FirmwareTool => ({
      name: 'self.echo',
      description: 'Echoes.',
      properties: [{ name: 'nonce', type: 'string' }],
      run: ({ nonce }) => `${deviceId} ${String(nonce)}`,
    })
    let approved = 0
    const fleet = await startSimulatedFleet({
      count: COUNT,
      first: 9_000,
      ota: house.ota,
      awake: true,
      timing: { activateMs: 50, activateErrorMs: 50, reconnectMs: 100, helloMs: 60_000 },
      kind: 'speaker',
      profile: 'fw-2.4',
      settings: ({ deviceId }) => ({ tools: [echo(deviceId)] }),
      onDeviceCode: (_, code) => {
        const transport = approved++ % 2 === 0 ? 'websocket' : 'mqtt'
        void house.asOwner('devices.enrolment.approve', { code, transport, name: 'Echo' })
      },
    })
    const client = await connectHttp(house.url, 'modern')
    try {
      await expect
        .poll(
          async () =>
            ((await house.asOwner('devices.list', { limit: 500, online: true })).structured as JsonObject)['devices'],
        )
        .toHaveLength(COUNT)
      const devices = fleet.devices.map(({ identity }) => identity.deviceId)
      const calls = Array.from({ length: 300 }, async (_none, index) => {
        const device = devices[(index * 7) % COUNT] ?? ''
        const answer = await client.callTool({
          name: 'devices.call',
          arguments: { device, tool: 'self.echo', arguments: { nonce: `n${index}` } },
        })
        return { said: (answer.structuredContent as JsonObject)['value'], expected: `${device} n${index}` }
      })
      for (const { said, expected } of await Promise.all(calls)) expect(said).toBe(expected)
    } finally {
      fleet.stop()
      await client.close()
    }
  })
})
