/** What the owner types about devices, against a gateway and devices that are really there. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDeviceSimulator } from '../../src/sim/devices/device-client.ts'
import { createNumberedIdentity } from '../../src/sim/devices/identity.ts'
import type { SimulatedDevice } from '../../src/sim/devices/simulated-device.ts'
import { openDeviceHome } from '../device-home.ts'
import type { DeviceHome } from '../device-home.ts'
import { runCommand } from '../gateway-process.ts'

const IDENTITY = createNumberedIdentity(4_711)

let house: DeviceHome
let device: SimulatedDevice | undefined
beforeAll(async () => {
  house = await openDeviceHome()
})
afterAll(async () => {
  device?.stop()
  await house.stop()
})

async function hearthbus(...words: string[]): Promise<{ readonly said: string; readonly exit: number | null }> {
  const { code, said, stdout } = await runCommand(house.home, ['devices', ...words])
  return { said: code === 0 ? stdout : said, exit: code }
}

describe('hearthbus devices', () => {
  it('approves a device by its code, shows it, and revokes it', async () => {
    const none = await hearthbus('list')
    expect(none.said).toMatch(
      /^No devices yet\. Only this machine can reach the listener, at http:\/\/127\.0\.0\.1:\d+\/xiaozhi\/ota\/: set devices\.host/,
    )

    const { promise: shown, resolve: onCode } = Promise.withResolvers<string>()
    const timing = { activateMs: 20, activateErrorMs: 50, reconnectMs: 50, helloMs: 60_000 }
    const started = startDeviceSimulator({
      profile: 'fw-2.4',
      kind: 'lamp',
      identity: IDENTITY,
      ota: house.ota,
      awake: true,
      timing,
      onCode,
    })
    const code = await shown
    expect((await hearthbus('list')).said).toContain(`${code}  bread-compact-wifi 2.4.2  ${IDENTITY.deviceId}`)
    expect(await hearthbus('approve', '000000')).toMatchObject({ exit: 1 })
    const approved = await hearthbus('approve', code, '--name', 'Reading lamp', '--transport', 'mqtt')
    expect(approved.said).toContain('reading-lamp is let in.')
    device = await started
    await house.until('reading-lamp', ({ phase }) => phase === 'ready')

    expect((await hearthbus('list')).said).toMatch(/reading-lamp +online +mqtt/)
    expect((await hearthbus('show', 'reading-lamp')).said).toMatch(
      /device\.reading-lamp\.self\.lamp\.turn_on +writes +Turns the lamp on\./,
    )
    const nothing = await hearthbus('approve-tools', 'reading-lamp')
    expect(nothing).toEqual({ said: 'Nothing of reading-lamp is withheld.\n', exit: 1 })

    const told = await hearthbus('doctor', 'reading-lamp')
    // On the loopback of a test no real device could follow, and the doctor says so.
    expect(told).toMatchObject({ exit: 1, said: expect.stringContaining('127.0.0.1 is this machine') })
    expect(told.said).toContain('lets nobody in without credentials')

    expect((await hearthbus('revoke', 'reading-lamp')).said).toBe('reading-lamp is turned away.\n')
    expect((await hearthbus('list')).said).toMatch(/reading-lamp +revoked/)
    expect((await hearthbus('show', 'reading-lamp')).said).toMatch(/^reading-lamp was turned away: its credentials/)
    expect((await hearthbus('forget', 'reading-lamp')).said).toBe('reading-lamp is forgotten.\n')
    expect((await hearthbus('list')).said).not.toContain('reading-lamp')
    // Nothing is left of it that the log does not know any more.
    expect(await runCommand(house.home, ['ledger', 'verify'])).toMatchObject({
      code: 0,
      said: expect.stringContaining('all in order'),
    })
  })
})
