import { createSocket } from 'node:dgram'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { concatBytes, fromHex, toHex, toUtf8 } from '../../core/bytes.ts'
import { encodeMqttPublish } from '../../devices/wire/mqtt-broker-packet.ts'
import { decodeUdpAudio } from '../../devices/wire/udp-audio.ts'
import { startDeviceSimulator } from './device-client.ts'
import { createNumberedIdentity } from './identity.ts'
import type { FirmwareProfileName } from './firmware-profile.ts'
import type { SimulatedDevice } from './simulated-device.ts'

const KEYS = { key: '000102030405060708090a0b0c0d0e0f', nonce: '01000000deadbeef0000000000000000' }

/** A broker of a few lines: welcomes everybody, writes down the bytes, pushes what a test says. */
describe('a simulated MQTT device', () => {
  let heard: Uint8Array = new Uint8Array(0)
  let socket: Socket | undefined
  let code = '20020000'
  const devices: SimulatedDevice[] = []
  const broker = createServer((connection) => {
    socket = connection
    connection.on('error', () => undefined)
    connection.once('data', () => connection.write(fromHex(code)))
    connection.on('data', (chunk) => {
      heard = concatBytes(heard, chunk)
    })
  })
  beforeAll(() => new Promise<void>((resolve) => void broker.listen(0, '127.0.0.1', resolve)))
  afterAll(() => {
    for (const device of devices) device.stop()
    broker.close()
  })
  const push = (message: object) => socket?.write(encodeMqttPublish('any/topic', toUtf8(JSON.stringify(message))))
  const start = async (profile: FirmwareProfileName) => {
    heard = new Uint8Array(0)
    const device = await startDeviceSimulator({
      profile,
      kind: 'speaker',
      identity: createNumberedIdentity(7),
      mqtt: {
        endpoint: `127.0.0.1:${(broker.address() as AddressInfo).port}`,
        clientId: 'c',
        username: 'u',
        password: 'p',
        publishTopic: 'device-server',
        subscribeTopic: 's',
      },
    })
    devices.push(device)
    return device
  }

  it('connects with MQTT 3.1.1, flags 0xC2 and 240 s, and subscribes to nothing', async () => {
    await start('fw-2.4')
    push({ type: 'mcp', payload: { jsonrpc: '2.0', method: 'ping', id: 1 } })
    await expect.poll(() => Buffer.from(heard).toString()).toContain('Method not implemented: ping')
    expect(toHex(heard.subarray(0, 21))).toBe('101300044d51545404c200f0000163000175000170')
    expect(toHex(heard.subarray(21, 22))).toBe('30')
    expect(toHex(heard)).not.toContain('8206')
  })

  it('subscribes with QoS 1 when it is py-xiaozhi', async () => {
    await start('py')
    await expect.poll(() => toHex(heard.subarray(21))).toBe('8206000100017301')
  })

  it('reports the CONNACK code that refused it', async () => {
    code = '20020005'
    await expect(start('fw-2.4')).rejects.toThrow('CONNACK 5')
    code = '20020000'
  })

  it('sends AES-CTR audio to the UDP address of the hello, and stops at a goodbye with its session id', async () => {
    const sink = createSocket('udp4')
    const packets: Uint8Array[] = []
    sink.on('message', (packet) => packets.push(Uint8Array.from(packet)))
    await new Promise<void>((resolve) => sink.bind(0, '127.0.0.1', resolve))
    const device = await start('fw-2.4')
    const udp = { server: '127.0.0.1', port: sink.address().port, ...KEYS }
    const opened = device.wake()
    await expect.poll(() => Buffer.from(heard).toString()).toContain('"transport":"udp"')
    push({ type: 'hello', transport: 'udp', session_id: 'S1', udp: { ...udp, key: 'short' } })
    push({ type: 'hello', transport: 'udp', session_id: 'S1', udp })
    await opened
    await device.speak(2)
    await expect.poll(() => packets).toHaveLength(2)
    expect(packets.map((packet) => decodeUdpAudio(KEYS.key, packet))).toEqual(
      [1, 2].map((sequence) => ({
        ok: true,
        value: {
          ssrc: 0xde_ad_be_ef,
          timestampMs: sequence * 60,
          sequence,
          opus: fromHex('f8fffe'),
        },
      })),
    )
    push({ type: 'goodbye', session_id: 'another' })
    push({ type: 'goodbye', session_id: 'S1' })
    await expect.poll(() => device.channelOpen()).toBe(false)
    expect(device.connected()).toBe(true)
    sink.close()
  })
})
