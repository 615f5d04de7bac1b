import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EnrolStore } from '../../../src/devices/enrol/enrol-store.ts'
import { createDeviceFleet } from '../../../src/devices/session/fleet-runner.ts'
import { createNumberedIdentity } from '../../../src/sim/devices/identity.ts'
import type { FirmwareTool } from '../../../src/sim/devices/firmware-tool.ts'
import type { House } from './house.ts'
import { nextEvent, openHouse } from './house.ts'

const VOLUME = 'self.audio_speaker.set_volume'
const SLOW: FirmwareTool = { name: 'self.slow', description: '', properties: [], takesMs: 150, run: () => 'slow' }

let house: House
beforeAll(async () => {
  house = await openHouse({ fleet: { settings: { queueLimit: 4 } } })
})
afterAll(() => house.stop())

const volume = (id: string, value: number, options = {}) => house.fleet.call(id, VOLUME, { volume: value }, options)

describe.each(['websocket', 'mqtt'] as const)('device faults over %s', (transport) => {
  it('a late answer is not given to another call', async () => {
    const device = await house.enrol(transport)
    const id = device.identity.deviceId
    device.faults.lateMs = 120
    expect(await volume(id, 1, { timeoutMs: 40 })).toEqual({
      ok: false,
      fault: { kind: 'timed-out', afterMs: expect.any(Number) },
    })
    device.faults.lateMs = 0
    const status = await house.fleet.call(id, 'self.get_device_status', {})
    expect(status).toMatchObject({ ok: true, value: { structured: { audio_speaker: { volume: 1 } } } })
    expect(house.fleet.stats().ignored).toMatchObject({ 'late-answer': expect.any(Number) })
  })

  it('a device that disconnects during a call leaves no call pending', async () => {
    const device = await house.enrol(transport)
    const id = device.identity.deviceId
    device.faults.dropOnCall = true
    const answers = await Promise.all([1, 2, 3].map((value) => volume(id, value)))
    expect(answers).toEqual([
      { ok: false, fault: { kind: 'disconnected', sent: true } },
      { ok: false, fault: { kind: 'disconnected', sent: false } },
      { ok: false, fault: { kind: 'disconnected', sent: false } },
    ])
    expect(house.fleet.stats().pendingCalls).toBe(0)
  })

  it('an answer that is not JSON ends in a timeout, and the next call works', async () => {
    const device = await house.enrol(transport)
    const id = device.identity.deviceId
    device.faults.garbled = true
    expect(await volume(id, 1, { timeoutMs: 60 })).toMatchObject({ fault: { kind: 'timed-out' } })
    device.faults.garbled = false
    expect(await volume(id, 2)).toMatchObject({ ok: true })
  })

  it('a tool too large to list is missing, and all other tools are listed', async () => {
    const device = await house.enrol(transport, { faults: { oversizedTool: true } })
    const view = house.fleet.device(device.identity.deviceId)
    expect(view?.tools.map(({ name }) => name)).toContain(VOLUME)
    expect(view?.warnings).toEqual([
      'the list is incomplete: Failed to add tool self.huge because of payload size limit',
    ])
  })

  it('a device that stops answering tools/list keeps its tools, and is asked again', async () => {
    // Only here: whoever is in a hurry gives up on a device that a busy machine keeps waiting.
    const hurried = await openHouse({ fleet: { settings: { requestMs: 200, retryMs: 10, relistMs: 200 } } })
    const device = await hurried.enrol(transport)
    const id = device.identity.deviceId
    await hurried.until(id, ({ warnings: said, phase }) => phase === 'ready' && said.length === 0)
    device.faults.silent = true
    hurried.fleet.relist(id)
    const { warnings, tools } = await hurried.until(id, ({ warnings: said }) => said.length > 0)
    expect(warnings).toEqual(['the list is incomplete: tools/list was not answered'])
    expect(tools.length).toBeGreaterThan(0)
    device.faults.silent = false
    await hurried.until(id, ({ warnings: said, phase }) => phase === 'ready' && said.length === 0)
    await hurried.stop()
  })

  it('calls beyond the queue limit are refused at once', async () => {
    const device = await house.enrol(transport, { tools: [SLOW] })
    const id = device.identity.deviceId
    const answers = await Promise.all(Array.from({ length: 7 }, () => house.fleet.call(id, 'self.slow', {})))
    expect(answers.filter(({ ok }) => ok)).toHaveLength(5)
    expect(answers.at(-1)).toEqual({ ok: false, fault: { kind: 'queue-full', limit: 4 } })
  })

  it('a cancelled call is answered at once, and its late answer is ignored', async () => {
    const device = await house.enrol(transport, { tools: [SLOW] })
    const id = device.identity.deviceId
    const abort = new AbortController()
    const call = house.fleet.call(id, 'self.slow', {}, { signal: abort.signal })
    abort.abort()
    expect(await call).toEqual({ ok: false, fault: { kind: 'cancelled', sent: true } })
    expect(await volume(id, 9)).toMatchObject({ ok: true })
    expect(await house.fleet.call(id, 'self.slow', {}, { signal: AbortSignal.abort() })).toMatchObject({
      fault: { kind: 'cancelled', sent: false },
    })
  })

  it('a device that floods the gateway is disconnected, and other devices are served', async () => {
    const mad = await house.enrol(transport, { timing: { reconnectMs: 60_000 } })
    const calm = await house.enrol(transport)
    const gone = nextEvent(house, 'offline')
    for (let each = 0; each < 600; each++) mad.say('{"type":"listen"}')
    expect(await gone).toMatchObject({ device: mad.identity.deviceId })
    expect(await volume(calm.identity.deviceId, 3)).toMatchObject({ ok: true })
  })

  it('audio frames do not disturb a tool call', async () => {
    const device = await house.enrol(transport)
    await device.speak(50)
    expect(await volume(device.identity.deviceId, 4)).toMatchObject({ ok: true })
  })
})

describe('UDP audio of an MQTT device without a backend', () => {
  it('arrives at the address named in the hello, and is dropped', async () => {
    const device = await house.enrol('mqtt')
    const before = house.udp?.packets() ?? 0
    await device.speak(5)
    await expect.poll(() => house.udp?.packets()).toBe(before + 5)
  })
})

describe('a sleeping device', () => {
  it('fails a call at once, or holds a queued one until it wakes', async () => {
    const device = await house.enrol('websocket', { timing: { reconnectMs: 60_000 } })
    const id = device.identity.deviceId
    device.sleep()
    await house.until(id, ({ online }) => !online)
    expect(await volume(id, 1)).toEqual({ ok: false, fault: { kind: 'asleep', device: id, wakesItself: false } })
    const waiting = volume(id, 2, { whenAsleep: 'queue' })
    expect(await volume(id, 3, { whenAsleep: 'queue', waitMs: 30 })).toMatchObject({ fault: { kind: 'expired' } })
    await device.wake()
    expect(await waiting).toMatchObject({ ok: true })
    expect(device.state()).toMatchObject({ volume: 2 })
  })

  it('keeps its tools across a restart of the gateway', async () => {
    const device = await house.enrol('websocket')
    const id = device.identity.deviceId
    const kept = () => house.database.sql.prepare('SELECT device_id FROM device_memory').all()
    await expect.poll(() => kept().map((row) => row['device_id'])).toContain(id)
    const later = createDeviceFleet({ memory: new EnrolStore(house.database, house.log).memory(() => undefined) })
    expect(later.device(id)).toMatchObject({
      online: false,
      phase: 'asleep',
      transport: 'websocket',
      info: { version: '2.4.2' },
    })
    expect(later.device(id)?.tools.map(({ name }) => name)).toContain(VOLUME)
    expect(await later.call(id, VOLUME, { volume: 200 }, { whenAsleep: 'queue' })).toMatchObject({
      fault: { kind: 'invalid-arguments' },
    })
    later.close()
  })

  it('is unknown after it was forgotten, and waiting calls fail', async () => {
    const device = await house.enrol('websocket', { timing: { reconnectMs: 60_000 } })
    const id = device.identity.deviceId
    device.sleep()
    await house.until(id, ({ online }) => !online)
    const waiting = volume(id, 1, { whenAsleep: 'queue' })
    await house.registrar.forget(id, 'owner')
    house.fleet.forget(id)
    expect(await waiting).toEqual({ ok: false, fault: { kind: 'unknown-device', device: id } })
    expect(house.fleet.device(id)).toBeUndefined()
  })
})

describe('user-only tools', () => {
  let owned: House
  beforeAll(async () => {
    owned = await openHouse({ fleet: { settings: { withUserTools: true } } })
  })
  afterAll(() => owned.stop())

  it('are listed from every page and marked when userTools is set', async () => {
    const device = await owned.enrol('websocket', { kind: 'robot' })
    const id = device.identity.deviceId
    const marked = owned.fleet.device(id)?.tools.filter(({ userOnly }) => userOnly)
    expect(marked?.map(({ name }) => name)).toEqual([
      'self.get_system_info',
      'self.reboot',
      'self.upgrade_firmware',
      'self.screen.get_info',
      'self.screen.snapshot',
      'self.screen.preview_image',
    ])
    const lists = device.transcript().filter(({ text }) => text.includes('"tools/list"'))
    expect(lists.every(({ text }) => text.includes('"withUserTools":true'))).toBe(true)
    expect(await owned.fleet.call(id, 'self.upgrade_firmware', {})).toEqual({
      ok: false,
      fault: { kind: 'invalid-arguments', problems: ['url is required'] },
    })
    expect(await owned.fleet.call(id, 'self.get_system_info', {})).toMatchObject({
      ok: true,
      value: { structured: { mac_address: id } },
    })
  })
})

describe('a WebSocket answer larger than the firmware can send', () => {
  it('ends in a timeout for the caller', async () => {
    const device = await house.enrol('websocket')
    const id = device.identity.deviceId
    device.faults.oversizedReply = true
    expect(await volume(id, 1, { timeoutMs: 60 })).toMatchObject({ fault: { kind: 'timed-out' } })
    expect(device.shown()).toContain('server error')
    expect(device.channelOpen()).toBe(false)
  })
})

describe.each(['websocket', 'mqtt'] as const)('a board that connects twice over %s', (transport) => {
  it('is served on its newest connection, without losing a call', async () => {
    // Its second connection answers nothing, so every request of the discovery there takes its whole time.
    const other = await openHouse({ fleet: { settings: { requestMs: 200, retryMs: 20 } } })
    const timing = { reconnectMs: 60_000 }
    const device = await other.enrol(transport, { timing, faults: { duplicate: true } })
    await expect.poll(() => device.connected()).toBe(false)
    expect(other.fleet.device(device.identity.deviceId)?.online).toBe(true)
    expect(other.fleet.stats().pendingCalls).toBe(0)
    await other.stop()
  })
})

describe('a board that does not answer pings', () => {
  it('stays connected as long as it sends messages', async () => {
    const device = await house.enrol('websocket', { faults: { noPong: true } })
    await expect.poll(() => volume(device.identity.deviceId, 1)).toMatchObject({ ok: true })
  })
})

it('an internal error caused by a device message is reported', async () => {
  const reports: string[] = []
  const other = await openHouse({
    fleet: {
      onStep: (_device, input) => {
        if (input.kind === 'text' && input.text.includes('tools')) throw new Error('boom')
      },
    },
    onError: (error, message) => reports.push(`${message}: ${String(error)}`),
  })
  const { deviceId } = createNumberedIdentity(4_200)
  void other.enrol('mqtt', { identity: createNumberedIdentity(4_200) }).catch(() => undefined)
  await expect
    .poll(() => reports)
    .toContain(`the device ${deviceId} sent something that caused an internal error, and was disconnected: Error: boom`)
  await other.stop()
})
