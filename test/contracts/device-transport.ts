/**
 * Device transport contract: what holds for a device whichever way it is connected.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mayDeviceHaveActed } from '../../src/devices/session/device-fault.ts'
import type { DeviceTransport } from '../../src/devices/session/session.ts'
import type { SimulatedDevice, DeviceSimulatorOptions } from '../../src/sim/devices/simulated-device.ts'
import type { FirmwareTool } from '../../src/sim/devices/firmware-tool.ts'
import type { House } from '../flows/devices/house.ts'
import { nextEvent } from '../flows/devices/house.ts'

const VOLUME = 'self.audio_speaker.set_volume'
const LARGE: FirmwareTool = { name: 'self.large', description: '', properties: [], run: () => 'é'.repeat(30_000) }

export interface Stage {
  readonly transport: DeviceTransport
  readonly device: Partial<DeviceSimulatorOptions>
  readonly open: () => Promise<{ readonly house: House; readonly close: () => Promise<void> }>
}

export function deviceTransportContract(name: string, { transport, device: options, open }: Stage): void {
  describe(`a device over ${name}`, () => {
    let house: House
    let close: () => Promise<void>
    const enrol = (more: Partial<DeviceSimulatorOptions> = {}) => house.enrol(transport, { ...options, ...more })
    const volume = (device: SimulatedDevice, value: number, timeoutMs = 60_000) =>
      house.fleet.call(device.identity.deviceId, VOLUME, { volume: value }, { timeoutMs })
    beforeAll(async () => {
      ;({ house, close } = await open())
    })
    afterAll(() => close())

    it('carries a call and its answer', async () => {
      const device = await enrol()
      expect(await volume(device, 33)).toMatchObject({ ok: true, value: { content: [{ text: 'true' }] } })
      expect(device.state()).toMatchObject({ volume: 33 })
      expect(house.fleet.device(device.identity.deviceId)).toMatchObject({ online: true, transport })
    })

    it('carries answers as large as firmware sends them, byte for byte', async () => {
      const device = await enrol({ tools: [LARGE] })
      const answer = await house.fleet.call(device.identity.deviceId, 'self.large', {})
      expect(answer).toMatchObject({ ok: true, value: { content: [{ text: 'é'.repeat(30_000) }] } })
    })

    it('sends the next request only after the previous one was answered', async () => {
      const device = await enrol()
      const before = device.transcript().length
      await Promise.all([1, 2, 3].map((value) => volume(device, value)))
      const order = device
        .transcript()
        .slice(before)
        .map(({ from }) => from)
      expect(order).toEqual(['backend', 'device', 'backend', 'device', 'backend', 'device'])
    })

    it('delivers a notification of the device to its listeners', async () => {
      const device = await enrol()
      const event = nextEvent(house, 'notification')
      device.notify('notifications/state_changed', { newState: 'idle' })
      expect(await event).toMatchObject({ device: device.identity.deviceId, params: { newState: 'idle' } })
    })

    it('delivers an announcement of the gateway to the device', async () => {
      const device = await enrol()
      const alert = { kind: 'alert', status: 'Door', message: 'Somebody rings', emotion: 'happy' } as const
      expect(house.fleet.announce(device.identity.deviceId, alert)).toEqual({ ok: true, value: 'sent' })
      await volume(device, 1)
      expect(device.shown()).toEqual(['Door / Somebody rings / happy'])
    })

    it('keeps the session open when the device sends malformed messages', async () => {
      const device = await enrol()
      for (const noise of ['', 'x', '{"type":"mcp"', '[]', '{"type":"listen","state":"start"}', '\u0000'])
        device.say(noise)
      expect(await volume(device, 5)).toMatchObject({ ok: true })
    })

    it('lists the tools again at every hello, and calls still work', async () => {
      const device = await enrol()
      const first = device.sessionId()
      const listed = nextEvent(house, 'tools')
      device.sleep()
      await device.wake()
      await listed
      expect(device.sessionId()).not.toBe(first)
      expect(await volume(device, 6)).toMatchObject({ ok: true })
    })

    it('answers a call with a failure when the device disconnects during it', async () => {
      const device = await enrol()
      device.faults.dropOnCall = true
      // Behind somebody else's broker nobody is told that it is gone: there its time has to be over.
      const answer = await volume(device, 7, 2_000)
      expect(answer.ok).toBe(false)
      expect(!answer.ok && mayDeviceHaveActed(answer.fault)).toBe(true)
    })

    it('serves a device again after its connection broke', async () => {
      const device = await enrol()
      const id = device.identity.deviceId
      const listed = nextEvent(house, 'tools')
      device.cut()
      await listed
      await house.until(id, ({ phase }) => phase === 'ready')
      expect(await volume(device, 8)).toMatchObject({ ok: true })
    })
  })
}
