/** The rest between two changes of one actuator, as the clients of a house with the usual 250 ms meet it. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDeviceHome } from '../device-home.ts'
import type { DeviceHome } from '../device-home.ts'
import { connectHttp } from '../gateway-process.ts'

const VOLUME = 'device.kitchen.self.audio_speaker.set_volume'

describe('the rate limit of a voice device', () => {
  let house: DeviceHome
  let client: Client

  beforeAll(async () => {
    house = await openDeviceHome({ restMs: 250 })
    await house.enrol('Kitchen', { transport: 'mqtt' })
    client = await connectHttp(house.url, 'modern')
  })
  afterAll(async () => {
    await client.close()
    await house.stop()
  })

  const answerOf = async (name: string, args: Record<string, unknown>): Promise<unknown> =>
    (await client.callTool({ name, arguments: args })).structuredContent

  it('serves calls of three different tools at once, ten times in a row', async () => {
    for (let turn = 0; turn < 10; turn++) {
      const answers = await Promise.all([
        answerOf(VOLUME, { volume: turn }),
        answerOf('device.kitchen.self.screen.set_brightness', { brightness: turn }),
        answerOf('device.kitchen.self.screen.set_theme', { theme: turn % 2 === 0 ? 'light' : 'dark' }),
      ])
      for (const answer of answers) expect(answer).toMatchObject({ device: 'kitchen', value: true })
    }
  })

  it('serves every change of one tool, each after the pause', async () => {
    const answers = await Promise.all([10, 20, 30, 40, 50].map((volume) => answerOf(VOLUME, { volume })))
    for (const answer of answers) expect(answer).toMatchObject({ device: 'kitchen', value: true })
  })

  it('reports invalid arguments before the pause applies', async () => {
    await answerOf(VOLUME, { volume: 1 })
    expect(await answerOf(VOLUME, { volume: 101 })).toMatchObject({ error: { code: 'schema_mismatch' } })
    expect(await answerOf('devices.announce', { devices: ['nowhere'], message: 'x' })).toMatchObject({
      error: { code: 'unknown_device' },
    })
  })
})
