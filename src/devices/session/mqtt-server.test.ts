import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { connectAsync } from 'mqtt'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { concatBytes, toHex, toUtf8 } from '../../core/bytes.ts'
import { encodeMqttConnect, encodeMqttPublish, PINGREQ_PACKET } from '../wire/mqtt-broker-packet.ts'
import type { DeviceLink, DeviceLinkHandlers } from './fleet.ts'
import type { MqttDeviceServer } from './mqtt-server.ts'
import { startMqttDeviceServer } from './mqtt-server.ts'
import type { DeviceAdmissionRefusal } from './device-admission-refusal.ts'

const DEVICE = 'a0:b1:c2:d3:e4:f5'
const CLIENT_ID = 'GID_x@@@a0_b1_c2_d3_e4_f5@@@7b94d69a-9808-4c59-9c9b-704333b38aff'
const CONNACK = '20020000'

let devices: MqttDeviceServer
let links: DeviceLink[]
let texts: string[]
let closed: string[]
let refusals: DeviceAdmissionRefusal[]
let sockets: Socket[]
let stirred: number

/** Nothing of these tests is about audio. */
const UDP = {
  port: 4_000,
  packets: () => 0,
  open: () => ({ send: () => undefined, close: () => undefined }),
  close: () => Promise.resolve(),
}

beforeEach(async () => {
  ;[links, texts, closed, refusals, sockets] = [[], [], [], [], []]
  stirred = 0
  const ears: DeviceLinkHandlers = {
    text: (text) => texts.push(text),
    audio: () => undefined,
    stir: () => void stirred++,
    closed: (reason) => closed.push(reason),
  }
  devices = await startMqttDeviceServer({
    host: '127.0.0.1',
    port: 0,
    udp: { host: undefined, server: UDP },
    acceptor: {
      attach: (_identity, link) => {
        links.push(link)
        return ears
      },
    },
    admit: async (claim) =>
      claim.kind === 'mqtt' && claim.credentials.password === 'right' ? { deviceId: DEVICE, clientId: 'c' } : undefined,
    maxConnections: 8,
    maxStrangers: 4,
    onRefused: (refusal) => refusals.push(refusal),
  })
})
afterEach(async () => {
  vi.useRealTimers()
  for (const socket of sockets) socket.destroy()
  await devices.close()
})

/** A device that says these bytes after its CONNECT, and everything that it hears. */
function dial(password: string, ...more: readonly Uint8Array[]) {
  let bytes: Uint8Array = new Uint8Array(0)
  const socket = connect(devices.port, '127.0.0.1')
  sockets.push(socket)
  const opening = encodeMqttConnect({ clientId: CLIENT_ID, username: 'u', password, keepAliveSeconds: 240 })
  socket.write(concatBytes(opening, ...more))
  socket.on('data', (chunk: Buffer) => {
    bytes = concatBytes(bytes, chunk)
  })
  socket.on('error', () => undefined)
  return { socket, replies: () => toHex(bytes) }
}

/** PUBLISH to topic `t` with packet id 7 and `{}`, MQTT 3.1.1 § 3.3. */
const publishWithQos = (qos: 1 | 2) => Uint8Array.of(0x30 | (qos << 1), 7, 0, 1, 0x74, 0, 7, 0x7b, 0x7d)

describe('MQTT server', () => {
  it('admits a device while many unauthenticated connections stay silent', async () => {
    // Nobody's patience ends: whoever holds a connection holds it for ever.
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    dial('right')
    await vi.waitUntil(() => links.length === 1, { timeout: 30_000 })
    const silent = Array.from({ length: 40 }, () => connect(devices.port, '127.0.0.1').on('error', () => undefined))
    sockets.push(...silent)
    const gone = () => silent.filter(({ destroyed }) => destroyed).length
    await vi.waitUntil(() => gone() === 36, { timeout: 10_000 })
    dial('right')
    await vi.waitUntil(() => links.length === 2, { timeout: 30_000 })
    expect(refusals).toEqual([])
  })

  it('counts a ping as a sign of life', async () => {
    dial('right', PINGREQ_PACKET)
    await expect.poll(() => stirred).toBe(1)
  })

  it('delivers to a device that never subscribed, with QoS 0 and not retained', async () => {
    const { replies } = dial('right')
    await expect.poll(() => links).toHaveLength(1)
    links[0]?.send('{"a":1}')
    const topic = 'devices/p2p/a0_b1_c2_d3_e4_f5'
    const packet = encodeMqttPublish(topic, toUtf8('{"a":1}'))
    expect(packet[0]).toBe(0x30)
    await expect.poll(replies).toBe(`${CONNACK}${toHex(packet)}`)
  })

  it('accepts QoS 0 messages that a device publishes to any topic', async () => {
    dial('right', encodeMqttPublish('device-server', toUtf8('one')), encodeMqttPublish('elsewhere', toUtf8('two')))
    await expect.poll(() => texts).toEqual(['one', 'two'])
  })

  it('accepts a QoS 1 message and acknowledges it', async () => {
    const { replies } = dial('right', publishWithQos(1))
    await expect.poll(() => texts).toEqual(['{}'])
    await expect.poll(replies).toBe(`${CONNACK}40020007`)
  })

  it('disconnects a client that publishes with QoS 2', async () => {
    dial('right', publishWithQos(2))
    await expect.poll(() => closed).toHaveLength(1)
    expect(texts).toEqual([])
  })

  it('answers wrong credentials with CONNACK code 5, opens no session, and reports the claimed device', async () => {
    const { replies } = dial('wrong', encodeMqttPublish('device-server', toUtf8('x')))
    await expect.poll(replies).toBe('20020005')
    expect([links, texts]).toEqual([[], []])
    expect(refusals).toEqual([{ door: 'mqtt', why: 'wrong-credentials', deviceId: DEVICE, remoteAddress: '127.0.0.1' }])
  })

  it('offers the local address of the MQTT connection as the UDP audio server', async () => {
    dial('right')
    await expect.poll(() => links[0]?.udp).toEqual({ server: '127.0.0.1', port: 4_000 })
  })

  it('answers hundreds of pings at once, and disconnects a device that sends thousands', async () => {
    const { socket, replies } = dial('right')
    await expect.poll(() => links).toHaveLength(1)
    socket.write(concatBytes(...Array.from({ length: 900 }, () => PINGREQ_PACKET)))
    await expect.poll(replies).toBe(`${CONNACK}${'d000'.repeat(900)}`)
    expect(closed).toEqual([])
    socket.write(concatBytes(...Array.from({ length: 5_000 }, () => PINGREQ_PACKET)))
    await expect.poll(() => closed).toEqual(['too many packets'])
  })

  it('closes at once, even with an open unauthenticated connection', async () => {
    // Nobody's patience ends: what waits for a timer would wait for ever.
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const silent = connect(devices.port, '127.0.0.1').resume()
    sockets.push(silent)
    const gone = once(silent, 'close')
    // Whoever came later is in, so the silent one is, too.
    dial('right')
    await vi.waitUntil(() => links.length === 1, { timeout: 30_000 })
    await devices.close()
    await gone
    expect(devices.connections()).toBe(0)
  })

  it('reports the connection as closed when the socket of a device closes', async () => {
    const { socket } = dial('right')
    await expect.poll(() => devices.connections()).toBe(1)
    socket.destroy()
    await expect.poll(() => closed).toEqual(['MQTT connection closed'])
    expect(devices.connections()).toBe(0)
  })

  it('serves the mqtt library: grants only its own topic, carries messages both ways, ends cleanly', async () => {
    const { port } = devices
    const client = await connectAsync({
      host: '127.0.0.1',
      port,
      clientId: CLIENT_ID,
      username: 'u',
      password: 'right',
      protocolVersion: 4,
      reconnectPeriod: 0,
      keepalive: 60,
    })
    const received: string[] = []
    client.on('message', (topic, payload) => received.push(`${topic} ${payload.toString()}`))
    const own = 'devices/p2p/a0_b1_c2_d3_e4_f5'
    expect(await client.subscribeAsync(own, { qos: 1 })).toMatchObject([{ topic: own, qos: 1 }])
    await expect(client.subscribeAsync('devices/p2p/#')).rejects.toThrow('Subscribe error')
    await client.publishAsync('device-server', 'one', { qos: 1 })
    expect(texts).toEqual(['one'])
    links[0]?.send('{"a":1}')
    await expect.poll(() => received).toEqual([`${own} {"a":1}`])
    await client.unsubscribeAsync(own)
    await client.endAsync()
    await expect.poll(() => closed).toEqual(['MQTT connection closed'])
  })

  it.each([
    // MQTT 3.1.1 § 3.1.2.2: a level that is not spoken is answered with code 1. As `mosquitto_pub -V mqttv5` connects.
    ['another level of the protocol', '101200044d5154540502003c0321001400026162', '20020001'],
    // § 3.1: the first packet is a CONNECT.
    ['a message before CONNECT', '30050001747b7d', ''],
    ['a ping before CONNECT', 'c000', ''],
    ['a packet of a server', '20020000', ''],
  ])('closes the connection on %s', async (_name, sent, answer) => {
    const socket = connect(devices.port, '127.0.0.1')
    sockets.push(socket)
    let bytes = ''
    socket.on('data', (chunk: Buffer) => (bytes += chunk.toString('hex'))).on('error', () => undefined)
    const gone = once(socket, 'close')
    socket.write(Buffer.from(sent, 'hex'))
    await gone
    expect([bytes, links, texts]).toEqual([answer, [], []])
  })

  it('closes the connection on a second CONNECT', async () => {
    dial('right', encodeMqttConnect({ clientId: CLIENT_ID, username: 'u', password: 'right', keepAliveSeconds: 0 }))
    await expect.poll(() => closed).toEqual(['an MQTT packet was out of turn'])
  })

  it('reads a message that arrives byte by byte, and closes on a packet longer than the limit', async () => {
    const { socket } = dial('right')
    await expect.poll(() => links).toHaveLength(1)
    for (const byte of encodeMqttPublish('t', toUtf8('slowly'))) socket.write(Uint8Array.of(byte))
    await expect.poll(() => texts).toEqual(['slowly'])
    // The header of a packet of 131,073 bytes; nothing of it follows.
    socket.write(Uint8Array.of(0x30, 0x81, 0x80, 0x08))
    await expect.poll(() => closed).toEqual(['an MQTT packet is malformed or too long'])
  })
})
