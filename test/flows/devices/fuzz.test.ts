import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { concatBytes, toUtf8 } from '../../../src/core/bytes.ts'
import { stepSession } from '../../../src/devices/session/session-machine.ts'
import type { SessionInput, DeviceSession } from '../../../src/devices/session/session.ts'
import { DEFAULT_SESSION_SETTINGS, newDeviceSession } from '../../../src/devices/session/session.ts'
import {
  encodeMqttConnect,
  encodeMqttPublish,
  encodeMqttSubscribe,
} from '../../../src/devices/wire/mqtt-broker-packet.ts'
import type { SimulatedDevice } from '../../../src/sim/devices/simulated-device.ts'
import { encodeWebSocketFrame } from '../../../src/sim/devices/websocket-frame.ts'
import type { House } from './house.ts'
import { openHouse } from './house.ts'
import { seeded } from '../../seeded-random.ts'
import { mutatedBytes, mutatedFrame } from './mutation.ts'

const VOLUME = 'self.audio_speaker.set_volume'
/** Over each transport; HEARTHBUS_FUZZ_FRAMES=50000 makes it a hundred thousand over real sockets. */
const FRAMES = Number(process.env['HEARTHBUS_FUZZ_FRAMES'] ?? 5_000)
const BATCH = 250

describe('mutated frames', () => {
  it('leave a session consistent after ninety thousand of them', { timeout: 600_000 }, () => {
    const random = seeded(5)
    let session: DeviceSession = newDeviceSession('a0:b1:c2:d3:e4:f5', { ...DEFAULT_SESSION_SETTINGS, firstId: 1 })
    let atMs = 0
    let answered = 0
    let called = 0
    const feed = (input: SessionInput) => {
      const next = stepSession(session, input)
      session = next.session
      answered += next.effects.filter((effect) => effect.kind === 'answer').length
    }
    for (let each = 0; each < 90_000; each++) {
      atMs += 10
      // A few hundred frames to a connection, each of which begins its ids where the last one ended.
      if (each % 300 === 0) {
        session = { ...session, nextId: 1 }
        const transport = (['websocket', 'mqtt', 'mqtt-broker'] as const)[(each / 300) % 3] ?? 'mqtt'
        feed({ kind: 'connected', atMs, transport, seed: 's', vision: undefined, udp: undefined })
      }
      feed({ kind: 'text', atMs, text: mutatedFrame(random) })
      if (each % 7 === 0) feed({ kind: 'tick', atMs })
      if (each % 11 === 0) {
        called++
        const request = { call: called, tool: 't', arguments: { volume: 1 }, timeoutMs: 500, waitMs: 2_000 }
        feed({ kind: 'call', atMs, request: { ...request, outlastsSleep: each % 2 === 0 } })
      }
    }
    feed({ kind: 'disconnected', atMs, reason: 'end' })
    feed({ kind: 'tick', atMs: atMs + 10_000 })
    expect(answered).toBe(called)
    expect(session.queue).toEqual([])
    expect(session.tools.length).toBeLessThanOrEqual(DEFAULT_SESSION_SETTINGS.maxTools)
    expect(session.warnings.length).toBeLessThanOrEqual(16)
  })
})

describe('mutated bytes over real sockets', () => {
  let house: House
  let calm: readonly SimulatedDevice[]
  let sessions: readonly string[]
  /** Texts that a session was fed, by device. */
  const heard = new Map<string, number>()
  beforeAll(async () => {
    const onStep = (device: string, { kind }: SessionInput) => {
      if (kind === 'text') heard.set(device, (heard.get(device) ?? 0) + 1)
    }
    house = await openHouse({ fleet: { onStep } })
    calm = [await house.enrol('websocket'), await house.enrol('mqtt')]
    sessions = calm.map((device) => device.sessionId())
  })
  afterAll(() => house.stop())

  /** The last of a batch: what was sent before it has been taken, too. Who sends too much is hung up on before that. */
  const endOf = async (device: string, method: string) => {
    for await (const event of house.fleet.subscribe(AbortSignal.timeout(60_000))) {
      if (event.kind === 'missed' || event.device !== device) continue
      if (event.kind === 'offline') return event.reason
      if (event.kind === 'notification' && event.method === method) return 'heard'
    }
    throw new Error(`${method} was not heard, and ${JSON.stringify(house.fleet.device(device))}`)
  }

  /** Whether every other device still answers. */
  const isCalm = async () => {
    const calls = calm.map((device) => house.fleet.call(device.identity.deviceId, VOLUME, { volume: 5 }))
    return (await Promise.all(calls)).every(({ ok }) => ok)
  }

  const patience = { timeout: 300_000 + FRAMES * 10 }
  it.each(['websocket', 'mqtt'] as const)(
    'as frames over %s do not disturb other devices',
    patience,
    async (transport) => {
      const random = seeded(7)
      const mad = await house.enrol(transport)
      const ends = new Set<string>()
      for (let batch = 0; batch < FRAMES / BATCH; batch++) {
        await mad.wake().catch(() => undefined)
        const end = endOf(mad.identity.deviceId, `batch/${batch}`)
        for (let each = 0; each < BATCH; each++) mad.say(mutatedFrame(random))
        mad.notify(`batch/${batch}`, {})
        ends.add(await end)
        expect(await isCalm()).toBe(true)
        // A fresh connection has a fresh budget; without it the gateway would hang up on a device this talkative.
        const gone = house.until(mad.identity.deviceId, ({ online }) => !online)
        mad.cut()
        await gone
        await house.until(mad.identity.deviceId, ({ phase }) => phase === 'ready')
      }
      expect(await house.fleet.call(mad.identity.deviceId, VOLUME, { volume: 5 })).toMatchObject({ ok: true })
      // Some were too long for a device to send at all.
      expect(heard.get(mad.identity.deviceId)).toBeGreaterThan(FRAMES * 0.95)
      expect(ends).toContain('heard')
    },
  )

  const strew = async (port: number, make: (random: () => number) => Uint8Array) => {
    const random = seeded(11)
    for (let each = 0; each < 400; each++)
      await new Promise<void>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => socket.end(make(random)))
        socket.on('error', () => undefined)
        socket.on('data', () => undefined)
        socket.on('close', () => resolve())
      })
  }

  it('as MQTT packets do not disturb other devices', async () => {
    const told = calm[1]?.otaAnswer()?.['mqtt'] as { client_id: string; username: string; password: string }
    const opening = encodeMqttConnect({
      clientId: told.client_id.replace(/.$/, '0'),
      username: told.username,
      password: told.password,
      keepAliveSeconds: 1,
    })
    const talk = concatBytes(
      opening,
      encodeMqttSubscribe(1, '#', 0),
      encodeMqttPublish('device-server', toUtf8('{"type":"hello"}')),
    )
    await strew(house.mqttPort ?? 0, (random) => mutatedBytes(talk, random))
    expect(await isCalm()).toBe(true)
  })

  it('as upgrades and WebSocket frames do not disturb other devices', async () => {
    const device = calm[0]
    const told = device?.otaAnswer()?.['websocket'] as { token: string }
    const head = toUtf8(
      `GET /xiaozhi/v1/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nDevice-Id: ${device?.identity.deviceId}\r\nClient-Id: ${device?.identity.clientId}\r\nAuthorization: Bearer ${told.token.slice(1)}\r\n\r\n`,
    )
    const talk = concatBytes(head, encodeWebSocketFrame('text', toUtf8('{"type":"hello"}'), Uint8Array.of(1, 2, 3, 4)))
    await strew(house.httpPort, (random) => mutatedBytes(talk, random))
    expect(await isCalm()).toBe(true)
  })

  it('leave the sessions of other devices open', () => {
    expect(calm.map((device) => device.sessionId())).toEqual(sessions)
    expect(house.fleet.stats().pendingCalls).toBe(0)
  })
})
