import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FirmwareProfileName } from '../../../src/sim/devices/firmware-profile.ts'
import type { House } from './house.ts'
import { openHouse } from './house.ts'

const VERSIONS: Readonly<Record<FirmwareProfileName, string>> = {
  'fw-1.9': '1.9.4',
  'fw-2.4': '2.4.2',
  'fw-next': '2.5.0',
  py: '2.1.1',
}
const CASES = (['websocket', 'mqtt'] as const).flatMap((transport) =>
  (['fw-1.9', 'fw-2.4', 'fw-next', 'py'] as const).map((profile) => ({ transport, profile })),
)

describe.each(CASES)('a device with $profile over $transport', ({ transport, profile }) => {
  let house: House
  beforeAll(async () => {
    house = await openHouse()
  })
  afterAll(() => house.stop())

  it('enrols with a code, connects, lists its tools and is called', async () => {
    const device = await house.enrol(transport, { profile, kind: 'lamp' })
    const id = device.identity.deviceId
    expect(house.fleet.device(id)).toMatchObject({
      online: true,
      transport,
      info: { name: 'bread-compact-wifi', version: VERSIONS[profile] },
      warnings: [],
    })
    const answer = await house.fleet.call(id, 'self.lamp.turn_on', {})
    expect(answer).toMatchObject({ ok: true, value: { content: [{ type: 'text', text: 'true' }] } })
    expect(device.state()).toMatchObject({ power: true })
    expect(await house.fleet.call(id, 'self.light.set_rgb', { R: '1', g: 2.9, b: 3 })).toMatchObject({ ok: true })
    expect(device.state()).toMatchObject({ rgb: { r: 1, g: 2, b: 3 } })
    expect(house.fleet.stats()).toMatchObject({ connected: 1, pendingCalls: 0, ignored: {} })
  })

  it('lists more tools than fit into one page', async () => {
    const device = await house.enrol(transport, { profile, kind: 'robot' })
    const view = house.fleet.device(device.identity.deviceId)
    expect(view?.tools.map(({ name }) => name)).toContain('self.otto.get_status')
    expect(view?.tools.map(({ name }) => name)).not.toContain('self.reboot')
    const lists = device.transcript().filter(({ text }) => text.includes('"tools/list"'))
    expect(lists.length).toBeGreaterThan(1)
  })

  it('returns an error message with quotes', async () => {
    const device = await house.enrol(transport, { profile, kind: 'robot' })
    const args = { servo: 'tail', degrees: 5 }
    const answer = await house.fleet.call(device.identity.deviceId, 'self.otto.set_trim', args)
    expect(JSON.stringify(answer)).toContain(String.raw`no servo \"tail\"`)
    expect(answer.ok).toBe(profile === 'py')
  })

  it('takes a photo that is returned as an image', async () => {
    const device = await house.enrol(transport, { profile, kind: 'camera' })
    const id = device.identity.deviceId
    for (const question of ['who?', 'and now?']) {
      const answer = await house.fleet.call(id, 'self.camera.take_photo', { question })
      expect(answer).toMatchObject({
        ok: true,
        value: {
          content: [
            { type: 'image', mimeType: 'image/jpeg', data: expect.stringMatching(/^\/9j\/4A/) },
            { type: 'text', text: expect.stringMatching(/"success":true.*"receipt":"[\w-]{12}"/) },
          ],
        },
      })
    }
    expect(device.state()).toMatchObject({ photos: 2 })
  })

  it('has its nested image returned as a standard one', async () => {
    const device = await house.enrol(transport, { profile, kind: 'camera' })
    const answer = await house.fleet.call(device.identity.deviceId, 'self.camera.preview', {})
    expect(answer).toMatchObject({ ok: true, value: { content: [{ type: 'image', mimeType: 'image/jpeg' }] } })
  })
})
