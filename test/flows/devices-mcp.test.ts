/** Devices from boot to a model's call: virtual firmware on one side, the SDK's own client on the other, us between. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FirmwareProfileName } from '../../src/sim/devices/firmware-profile.ts'
import { openDeviceHome } from '../device-home.ts'
import type { DeviceHome } from '../device-home.ts'
import { connectHttp } from '../gateway-process.ts'

const PROFILES: readonly FirmwareProfileName[] = ['fw-1.9', 'fw-2.4', 'fw-next', 'py']

describe.each(['websocket', 'mqtt'] as const)('devices over %s, through MCP', (transport) => {
  let house: DeviceHome
  beforeAll(async () => {
    // Photos ask a person; the owner trusts this camera.
    house = await openDeviceHome({ guard: `rules: [{ tool: 'device.porch.self.camera.take_photo', says: trust }]` })
  })
  afterAll(() => house.stop())

  it.each(PROFILES)('%s enrols, and is listed and called by clients of both eras', async (profile) => {
    const slug = `lamp-${profile.replace('.', '-')}`
    const lamp = await house.enrol(`Lamp ${profile}`, { transport, profile, kind: 'lamp' })
    for (const era of ['modern', 'legacy'] as const) {
      const client = await connectHttp(house.url, era, '/mcp/devices')
      const { tools } = await client.listTools()
      const turnOn = tools.find(({ name }) => name === `device.${slug}.self.lamp.turn_on`)
      expect(turnOn?.description).toBe(`On the device "Lamp ${profile}" (${slug}). The device says: Turns the lamp on.`)
      expect(turnOn?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true })
      const rgb = { r: '1', g: 2, b: 3 }
      const called = await client.callTool({ name: `device.${slug}.self.light.set_rgb`, arguments: rgb })
      expect(called).toMatchObject({
        content: [{ type: 'text', text: 'true' }],
        structuredContent: { device: slug, value: true },
      })
      expect(lamp.state()).toMatchObject({ rgb: { r: 1, g: 2, b: 3 } })
      const wrong = await client.callTool({ name: `device.${slug}.self.light.set_rgb`, arguments: { ...rgb, g: 256 } })
      expect(wrong).toMatchObject({ isError: true, structuredContent: { error: { code: 'schema_mismatch' } } })
      expect(JSON.stringify(wrong.content)).toContain('g: must be at most 255, got 256')
      await client.close()
    }
    lamp.stop()
  })

  it('returns the photo of a camera as an image', async () => {
    const camera = await house.enrol('Porch', { transport, kind: 'camera' })
    const client = await connectHttp(house.url, 'modern')
    const photo = await client.callTool({
      name: 'device.porch.self.camera.take_photo',
      arguments: { question: 'who?' },
    })
    expect(photo).toMatchObject({
      content: [
        { type: 'image', mimeType: 'image/jpeg', data: expect.stringMatching(/^\/9j\/4A/) },
        { type: 'text', text: expect.stringContaining('"success":true') },
      ],
      structuredContent: { device: 'porch', value: { success: true }, images: 1 },
    })
    expect(camera.state()).toMatchObject({ photos: 1 })
    await client.close()
    camera.stop()
  })

  it('returns the error message of a device', async () => {
    const robot = await house.enrol('Otto', { transport, kind: 'robot' })
    const client = await connectHttp(house.url, 'legacy')
    const answer = await client.callTool({
      name: 'device.otto.self.otto.set_trim',
      arguments: { servo: 'tail', degrees: 5 },
    })
    expect(answer).toMatchObject({ isError: true, content: [{ type: 'text', text: expect.stringContaining('tail') }] })
    await client.close()
    robot.stop()
  })
})
