/**
 * No voice backend: virtual devices of every generation are woken at a real gateway, over real sockets, and what leaves
 * their microphones is looked at on the wire. The behaviour of the devices is that of firmware 2.4.2 in the captured runs
 * ws-without-backend and mqtt-udp-nobody.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ListenMode } from '../../../src/devices/wire/device-frame.ts'
import { FIRMWARE_PROFILES } from '../../../src/sim/devices/firmware-profile.ts'
import type { FirmwareProfileName } from '../../../src/sim/devices/firmware-profile.ts'
import { openHouse } from './house.ts'
import type { House } from './house.ts'

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house.stop())

const NAMES = Object.keys(FIRMWARE_PROFILES) as readonly FirmwareProfileName[]
const MODES: readonly ListenMode[] = ['auto', 'manual', 'realtime']
const CASES = NAMES.flatMap((profile) =>
  (['websocket', 'mqtt'] as const).flatMap((transport) => MODES.map((mode) => [profile, transport, mode] as const)),
)
const STATUS = 'self.get_device_status'

describe('a wake word without a voice backend', () => {
  it.each(CASES)('%s over %s in mode %s: closes the microphone, and shows an alert on the device', async (...which) => {
    const [profile, transport, listens] = which
    const device = await house.enrol(transport, { profile, awake: false, listens })
    if (transport === 'mqtt') await device.wake()
    await expect.poll(() => device.voice().microphoneOpen).toBe(false)
    await expect.poll(() => device.shown().join()).toContain('No voice service is set up')
    const before = { packets: house.udp?.packets(), said: device.transcript().length }
    await delay(200)
    expect(house.udp?.packets()).toBe(before.packets)
    expect(device.voice().microphoneOpen).toBe(false)
    // Only where speech does not shut a microphone is the connection closed; all others do what they are asked.
    const isClosed = transport === 'websocket' && listens === 'realtime'
    await expect.poll(() => device.connected()).toBe(!isClosed)
    const called = await house.fleet.call(device.identity.deviceId, STATUS, {})
    expect(called.ok).toBe(!isClosed)
  })

  it('while the device is speaking opens the microphone only briefly', async () => {
    const device = await house.enrol('websocket', { awake: false, listens: 'auto' })
    await expect.poll(() => device.voice().state).toBe('speaking')
    await device.wake()
    await expect.poll(() => device.voice()).toEqual({ state: 'speaking', microphoneOpen: false })
    device.press()
    await expect.poll(() => device.connected()).toBe(false)
  })

  it('followed by audio that does not stop ends the WebSocket connection', async () => {
    const device = await house.enrol('websocket', { awake: false })
    device.say(JSON.stringify({ session_id: device.sessionId(), type: 'listen', state: 'start', mode: 'auto' }))
    const stubborn = setInterval(() => void device.speak(1), 60)
    await expect.poll(() => device.connected()).toBe(false)
    clearInterval(stubborn)
  })
})
