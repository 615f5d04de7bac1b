/** Devices from boot to a model's call: virtual firmware on one side, the SDK's own client on the other, us between. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProfileName } from '../../src/sim/devices/profile.ts'
import { openDeviceHome } from '../device-home.ts'
import type { DeviceHome } from '../device-home.ts'
import { connectHttp } from '../gateway-process.ts'

const PROFILES: readonly ProfileName[] = ['fw-1.9', 'fw-2.4', 'fw-next', 'py']

describe.each(['websocket', 'mqtt'] as const)('devices over %s', (transport) => {
  let house: DeviceHome
  beforeAll(async () => {
    house = await openDeviceHome()
  })
  afterAll(() => house.stop())

  it.each(PROFILES)('%s enrols, is listed and is called by clients of both eras', async (profile) => {
    const slug = `lamp-${profile.replace('.', '-')}`
    const lamp = await house.enrol(`Lamp ${profile}`, { transport, profile, kind: 'lamp' })
    for (const era of ['modern', 'legacy'] as const) {
      const client = await connectHttp(house.url, era, '/mcp/devices')
      const { tools } = await client.listTools()
      const turnOn = tools.find(({ name }) => name === `device.${slug}.self.lamp.turn_on`)
      expect(turnOn?.description).toBe(`On the device "Lamp ${profile}" (${slug}). The device says: Turns the lamp on.`)
      expect(turnOn?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true })
      const called = await client.callTool({
        name: `device.${slug}.self.light.set_rgb`,
        arguments: { r: '1', g: 2, b: 3 },
      })
      expect(called).toMatchObject({
        content: [{ type: 'text', text: 'true' }],
        structuredContent: { device: slug, value: true },
      })
      expect(lamp.state()).toMatchObject({ rgb: { r: 1, g: 2, b: 3 } })
      await client.close()
    }
    lamp.stop()
  })
})
