import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { concatBytes, toHex, toUtf8 } from '../../../src/core/bytes.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import {
  encodeMqttConnect,
  encodeMqttPublish,
  encodeMqttSubscribe,
} from '../../../src/devices/wire/mqtt-broker-packet.ts'
import { encodeMultipart } from '../../../src/devices/wire/multipart.ts'
import { startDeviceSimulator } from '../../../src/sim/devices/device-client.ts'
import type { SimulatedIdentity } from '../../../src/sim/devices/identity.ts'
import { createNumberedIdentity } from '../../../src/sim/devices/identity.ts'
import { encodeJpeg } from '../../../src/sim/jpeg.ts'
import type { DeviceAdmissionRefusal } from '../../../src/devices/session/device-admission-refusal.ts'
import type { SimulatedDevice } from '../../../src/sim/devices/simulated-device.ts'
import type { House } from './house.ts'
import { openHouse } from './house.ts'

const VOLUME = 'self.audio_speaker.set_volume'
const STRANGER = 'ffffffff-0000-4000-8000-ffffffffffff'

let house: House
/** What the owner gets to see of it. */
const refusals: DeviceAdmissionRefusal[] = []
beforeAll(async () => {
  house = await openHouse({ onRefused: (refusal) => refusals.push(refusal) })
})
/** Who was turned away since the last time that somebody looked. */
const turnedAway = (): readonly string[] =>
  refusals.splice(0).map(({ door, why, deviceId, remoteAddress }) => `${door} ${why} ${deviceId} ${remoteAddress}`)
afterAll(() => house.stop())

/** What happens to somebody who dials with this identity and token: welcome, or a status line. */
async function dial(identity: SimulatedIdentity, token: string): Promise<string> {
  const url = `ws://127.0.0.1:${house.httpPort}/xiaozhi/v1/`
  const device = await startDeviceSimulator({ profile: 'fw-2.4', kind: 'speaker', identity, websocket: { url, token } })
  try {
    await device.wake()
    return 'welcome'
  } catch (error) {
    return error instanceof Error ? error.message : 'failed'
  } finally {
    device.stop()
  }
}

function tokenOf(device: SimulatedDevice): string {
  const { token = '' } = (device.otaAnswer()?.['websocket'] ?? {}) as { token?: string }
  return token
}

function mqttOf(device: SimulatedDevice): { clientId: string; username: string; password: string } {
  const told = device.otaAnswer()?.['mqtt'] as { client_id: string; username: string; password: string }
  return { clientId: told.client_id, username: told.username, password: told.password }
}

async function ask(path: string, identity: SimulatedIdentity, { headers = {}, body = '{}' } = {}) {
  const response = await fetch(`http://127.0.0.1:${house.httpPort}${path}`, {
    method: 'POST',
    headers: { 'Device-Id': identity.deviceId, 'Client-Id': identity.clientId, ...headers },
    body,
  })
  const text = await response.text()
  return { status: response.status, body: (text.startsWith('{') ? JSON.parse(text) : {}) as JsonObject }
}

/** Sends bytes to the broker and returns everything it says until it hangs up or has said `enough` bytes. */
function talkMqtt(bytes: Uint8Array, enough: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(house.mqttPort ?? 0, '127.0.0.1', () => void socket.write(bytes))
    let heard: Uint8Array = new Uint8Array(0)
    const end = () => {
      socket.destroy()
      resolve(toHex(heard))
    }
    socket.on('data', (chunk) => {
      heard = concatBytes(heard, chunk)
      if (heard.length >= enough) end()
    })
    socket.on('error', () => undefined)
    socket.on('close', end)
  })
}

const connectAs = (who: { clientId: string; username?: string; password?: string }) =>
  encodeMqttConnect({ username: undefined, password: undefined, ...who, keepAliveSeconds: 240 })

/** CONNACK with return code 5: not authorized. */
const REFUSED = '20020005'
const WELCOME = '20020000'

describe('impersonation over WebSocket', () => {
  let device: SimulatedDevice
  beforeAll(async () => {
    device = await house.enrol('websocket')
  })

  it('with a known device id and no valid token is refused', async () => {
    expect(await dial(device.identity, '')).toBe('HTTP/1.1 401 Unauthorized')
    expect(await dial(device.identity, 'test-token')).toBe('HTTP/1.1 401 Unauthorized')
    const { deviceId } = device.identity
    expect(turnedAway()).toEqual([
      `websocket no-credentials ${deviceId} 127.0.0.1`,
      `websocket wrong-credentials ${deviceId} 127.0.0.1`,
    ])
  })

  it('with the token of another device is refused', async () => {
    const other = await house.enrol('websocket')
    expect(await dial(device.identity, tokenOf(other))).toBe('HTTP/1.1 401 Unauthorized')
    expect(turnedAway()).toEqual([`websocket wrong-credentials ${device.identity.deviceId} 127.0.0.1`])
  })

  it('with the right token and another client id is refused', async () => {
    const pretender = { ...device.identity, clientId: STRANGER }
    expect(await dial(pretender, tokenOf(device))).toBe('HTTP/1.1 401 Unauthorized')
    expect(turnedAway()).toEqual([`websocket wrong-credentials ${device.identity.deviceId} 127.0.0.1`])
  })

  it('with an invalid device id is refused', async () => {
    expect(await dial({ ...device.identity, deviceId: '__proto__' }, 'x')).toBe('HTTP/1.1 401 Unauthorized')
    expect(turnedAway()).toEqual(['websocket no-identity undefined 127.0.0.1'])
  })

  it('does not disturb the real device when refused', async () => {
    expect(device.connected()).toBe(true)
    expect(await house.fleet.call(device.identity.deviceId, VOLUME, { volume: 1 })).toMatchObject({ ok: true })
  })

  it('with valid credentials replaces the older connection', async () => {
    const real = await house.enrol('websocket', { timing: { reconnectMs: 60_000 } })
    await real.duplicate()
    await expect.poll(() => real.connected()).toBe(false)
    expect(house.fleet.device(real.identity.deviceId)?.online).toBe(true)
  })

  it('from a web page of another origin is refused', async () => {
    const upgrade = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      Authorization: `Bearer ${tokenOf(device)}`,
      'Device-Id': device.identity.deviceId,
      'Client-Id': device.identity.clientId,
      Origin: 'http://evil.example',
    }
    const lines = Object.entries(upgrade).map(([name, value]) => `${name}: ${value}\r\n`)
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(house.httpPort, '127.0.0.1', () =>
        socket.write(`GET /xiaozhi/v1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n`),
      )
      socket.once('data', (chunk) => {
        socket.destroy()
        resolve(chunk.toString('latin1').split('\r\n', 1)[0] ?? '')
      })
    })
    expect(answer).toBe('HTTP/1.1 403 Forbidden')
    for (const path of ['/xiaozhi/ota/', '/xiaozhi/ota/activate', '/xiaozhi/vision/explain'])
      expect(await ask(path, device.identity, { headers: { Origin: 'http://evil.example' } })).toMatchObject({
        status: 403,
      })
    const { deviceId } = device.identity
    expect(turnedAway()).toEqual([
      `websocket foreign-origin ${deviceId} 127.0.0.1`,
      ...Array.from({ length: 3 }, () => `http foreign-origin ${deviceId} 127.0.0.1`),
    ])
  })
})

describe('impersonation over MQTT', () => {
  let device: SimulatedDevice
  beforeAll(async () => {
    device = await house.enrol('mqtt')
  })

  it('with a client id and no valid signature is refused', async () => {
    const { clientId, username } = mqttOf(device)
    expect(await talkMqtt(connectAs({ clientId }), 4)).toBe(REFUSED)
    expect(await talkMqtt(connectAs({ clientId, username, password: '' }), 4)).toBe(REFUSED)
    expect(await talkMqtt(connectAs({ clientId, username, password: 'AAAA' }), 4)).toBe(REFUSED)
    const twoParts = clientId.split('@@@').slice(0, 2).join('@@@')
    expect(await talkMqtt(connectAs({ clientId: twoParts, username, password: 'x' }), 4)).toBe(REFUSED)
    const { deviceId } = device.identity
    expect(turnedAway()).toEqual([
      `mqtt no-credentials ${deviceId} 127.0.0.1`,
      `mqtt no-credentials ${deviceId} 127.0.0.1`,
      `mqtt wrong-credentials ${deviceId} 127.0.0.1`,
      `mqtt wrong-credentials ${deviceId} 127.0.0.1`,
    ])
  })

  it('with the signature of another device is refused', async () => {
    const other = await house.enrol('mqtt')
    const { username, password } = mqttOf(other)
    expect(await talkMqtt(connectAs({ clientId: mqttOf(device).clientId, username, password }), 4)).toBe(REFUSED)
    expect(turnedAway()).toEqual([`mqtt wrong-credentials ${device.identity.deviceId} 127.0.0.1`])
  })

  it('does not disturb the real device when refused', async () => {
    expect(device.connected()).toBe(true)
    expect(await house.fleet.call(device.identity.deviceId, VOLUME, { volume: 2 })).toMatchObject({ ok: true })
  })

  it('by subscribing or publishing to another device’s topic has no effect', async () => {
    const other = await house.enrol('mqtt', { profile: 'py' })
    const before = other.transcript().length
    const topic = `devices/p2p/${other.identity.deviceId.replaceAll(':', '_')}`
    const said = concatBytes(
      connectAs(mqttOf(device)),
      encodeMqttPublish(topic, toUtf8('{"type":"system","command":"reboot"}')),
      encodeMqttSubscribe(1, topic, 0),
      encodeMqttSubscribe(2, '#', 0),
    )
    const heard = await talkMqtt(said, 400)
    expect(heard.startsWith(WELCOME)).toBe(true)
    expect(heard).toContain('9003000180')
    expect(heard).toContain('9003000280')
    expect(other.transcript()).toHaveLength(before)
  })

  it('with a packet over the limit for unauthenticated clients ends the connection', async () => {
    expect(await talkMqtt(concatBytes(Uint8Array.of(0x10, 0xff, 0xff, 0x7f), new Uint8Array(64)), 1)).toBe('')
  })

  it('with valid credentials replaces the older connection', async () => {
    const real = await house.enrol('mqtt', { timing: { reconnectMs: 60_000 } })
    await real.duplicate()
    await expect.poll(() => real.connected()).toBe(false)
    expect(house.fleet.device(real.identity.deviceId)?.online).toBe(true)
  })
})

describe('impersonation at the OTA endpoint', () => {
  it('with a known device id and another client id gets a code, and a token that works only after the approval', async () => {
    const device = await house.enrol('websocket')
    const pretender = { ...device.identity, clientId: STRANGER }
    const { status, body } = await ask('/xiaozhi/ota/', pretender)
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['server_time', 'activation', 'websocket'])
    const { token } = body['websocket'] as { token: string }
    expect(await dial(pretender, token)).toBe('HTTP/1.1 401 Unauthorized')
    expect(await dial(device.identity, token)).toBe('HTTP/1.1 401 Unauthorized')
    const { deviceId } = device.identity
    expect(house.registrar.pending()).toMatchObject([{ deviceId, clientId: STRANGER, replaces: true }])
    expect(turnedAway()).toHaveLength(2)
    expect(device.connected()).toBe(true)
  })

  it('with an activation code works once', async () => {
    const identity = createNumberedIdentity(9_001)
    const { body } = await ask('/xiaozhi/ota/', identity)
    const { code } = body['activation'] as { code: string }
    expect(await ask('/xiaozhi/ota/activate', identity)).toMatchObject({ status: 202 })
    expect(await house.registrar.approve(code, { by: 'the test' })).toMatchObject({ ok: true })
    expect(await house.registrar.approve(code, { by: 'the test' })).toEqual({
      ok: false,
      fault: { kind: 'unknown-code', code },
    })
  })

  it('by replaying an activation is refused', async () => {
    const identity = { ...createNumberedIdentity(9_002), serialNumber: 's'.repeat(32) }
    const first = (await ask('/xiaozhi/ota/', identity)).body['activation'] as { code: string; challenge: string }
    const signed = JSON.stringify({ algorithm: 'hmac-sha256', challenge: first.challenge, hmac: '00' })
    await house.registrar.approve(first.code, { by: 'the test' })
    expect(await ask('/xiaozhi/ota/activate', identity, { body: '{"challenge":"another"}' })).toMatchObject({
      status: 404,
    })
    expect(await ask('/xiaozhi/ota/activate', identity, { body: signed })).toMatchObject({ status: 200 })
    expect((await ask('/xiaozhi/ota/', identity)).body).toHaveProperty('websocket')
    expect(await ask('/xiaozhi/ota/activate', identity, { body: signed })).toMatchObject({ status: 404 })
    const pretender = { ...identity, clientId: STRANGER }
    expect(await ask('/xiaozhi/ota/activate', pretender, { body: signed })).toMatchObject({ status: 404 })
    expect(turnedAway()).toEqual(Array.from({ length: 3 }, () => `http no-activation ${identity.deviceId} 127.0.0.1`))
  })
})

describe('after revocation or rotation', () => {
  it.each(['websocket', 'mqtt'] as const)('a revoked device is disconnected and refused over %s', async (transport) => {
    const device = await house.enrol(transport, { timing: { reconnectMs: 60_000 } })
    const { deviceId } = device.identity
    await house.registrar.revoke(deviceId, 'owner')
    await house.until(deviceId, ({ online }) => !online)
    const again =
      transport === 'websocket'
        ? await dial(device.identity, tokenOf(device))
        : await talkMqtt(connectAs(mqttOf(device)), 4)
    expect(['HTTP/1.1 401 Unauthorized', REFUSED]).toContain(again)
    expect(turnedAway()).toEqual([`${transport} wrong-credentials ${deviceId} 127.0.0.1`])
    expect(Object.keys((await ask('/xiaozhi/ota/', device.identity)).body)).toEqual(['server_time'])
  })

  it('rotated credentials are refused, and the next boot issues new ones', async () => {
    const device = await house.enrol('websocket', { timing: { reconnectMs: 60_000 } })
    await house.registrar.rotate(device.identity.deviceId, 'owner')
    expect(await dial(device.identity, tokenOf(device))).toBe('HTTP/1.1 401 Unauthorized')
    const { websocket } = (await ask('/xiaozhi/ota/', device.identity)).body as { websocket: { token: string } }
    expect(await dial(device.identity, websocket.token)).toBe('welcome')
    expect(turnedAway()).toEqual([`websocket wrong-credentials ${device.identity.deviceId} 127.0.0.1`])
  })
})

describe('impersonation at the photo upload endpoint', () => {
  const form = Buffer.from(
    encodeMultipart('b', [
      { name: 'file', filename: 'camera.jpg', contentType: 'image/jpeg', bytes: encodeJpeg(1, 1, () => [1, 2, 3]) },
    ]),
  )
  const upload = async (identity: SimulatedIdentity, token: string) => {
    const response = await fetch(`http://127.0.0.1:${house.httpPort}/xiaozhi/vision/explain`, {
      method: 'POST',
      headers: {
        'Device-Id': identity.deviceId,
        'Client-Id': identity.clientId,
        Authorization: `Bearer ${token}`,
        'Content-Type': 'multipart/form-data; boundary=b',
      },
      body: form,
    })
    await response.arrayBuffer()
    return response.status
  }
  const visionToken = (device: SimulatedDevice) =>
    /"token":"([\w-]+)"/.exec(device.transcript().find(({ text }) => text.includes('"initialize"'))?.text ?? '')?.[1] ??
    ''

  it('fails: a token works once, for the device that it was issued to', async () => {
    const [device, other] = [await house.enrol('websocket'), await house.enrol('websocket')]
    const token = visionToken(device)
    expect(await upload(other.identity, token)).toBe(401)
    expect(await upload({ ...device.identity, clientId: STRANGER }, token)).toBe(401)
    expect(await upload(device.identity, token)).toBe(200)
    expect(await upload(device.identity, token)).toBe(401)
    expect(await upload(device.identity, '')).toBe(401)
    const refused = (why: string, { deviceId }: SimulatedIdentity) => `http ${why} ${deviceId} 127.0.0.1`
    expect(turnedAway()).toEqual([
      refused('wrong-picture-token', other.identity),
      refused('wrong-picture-token', device.identity),
      refused('wrong-picture-token', device.identity),
      refused('no-credentials', device.identity),
    ])
  })
})
