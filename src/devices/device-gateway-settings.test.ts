import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { listenLocally } from '../../test/local-port.ts'
import { devicesConfigSchema } from '../config/devices.ts'
import { openUdpAudioServer } from './session/udp-audio-server.ts'
import { startMqttDeviceServer } from './session/mqtt-server.ts'
import { explainDeviceListenFault } from './device-gateway-settings.ts'

const HOST = '127.0.0.1'
const config = (ports: { port?: number; mqtt?: { port?: number; udpPort?: number } }) =>
  devicesConfigSchema.parse({ enabled: true, host: HOST, ...ports })
const failure = (opening: Promise<unknown>) => opening.then(() => undefined).catch((error: unknown) => error)

describe('the message about a device port that cannot be opened', () => {
  it('names devices.mqtt.udpPort for a UDP port in use', async () => {
    const somebody = createSocket('udp4').bind(0, HOST)
    await once(somebody, 'listening')
    const { port } = somebody.address()
    const error = await failure(openUdpAudioServer({ host: HOST, port }))
    expect(explainDeviceListenFault(error, config({ mqtt: { udpPort: port } }))).toBe(
      `UDP port ${port} belongs to another program. Stop that, or set devices.mqtt.udpPort.`,
    )
    somebody.close()
  })

  it('names devices.mqtt.port or devices.port for a TCP port in use', async () => {
    const somebody = createServer()
    const port = await listenLocally(somebody)
    const mqtt = { host: HOST, port, acceptor: { attach: () => expect.unreachable() }, udp: undefined }
    const error = await failure(startMqttDeviceServer({ ...mqtt, admit: () => Promise.resolve(undefined) }))
    expect(explainDeviceListenFault(error, config({ mqtt: { port } }))).toBe(
      `Port ${port} belongs to another program. Stop that, or set devices.mqtt.port.`,
    )
    expect(explainDeviceListenFault(error, config({ port }))).toBe(
      `Port ${port} belongs to another program. Stop that, or set devices.port.`,
    )
    somebody.close()
  })

  it('explains a port that only root may use, and quotes other errors', () => {
    const forbidden = Object.assign(new Error('listen EACCES'), { code: 'EACCES', syscall: 'listen', port: 80 })
    expect(explainDeviceListenFault(forbidden, config({ port: 80 }))).toBe(
      'Port 80 may only be used by root. Set devices.port to one above 1023.',
    )
    expect(explainDeviceListenFault(new Error('out of files'), config({}))).toBe(
      'Port 7421 of 127.0.0.1 cannot be opened (out of files). Check devices.host and devices.port.',
    )
  })
})
