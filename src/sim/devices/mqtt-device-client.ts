/**
 * MQTT device client: MQTT 3.1.1 as a device speaks it. It connects, publishes to one topic, and subscribes to none.
 */
import { connect } from 'node:net'
import { concatBytes, fromUtf8, toUtf8 } from '../../core/bytes.ts'
import type { MqttBrokerPacket } from '../../devices/wire/mqtt-broker-packet.ts'
import {
  decodeMqttBrokerPacket,
  encodeMqttConnect,
  encodeMqttPublish,
  encodeMqttSubscribe,
  PINGREQ_PACKET,
} from '../../devices/wire/mqtt-broker-packet.ts'
import type { MqttSettings } from '../../devices/wire/ota.ts'
import type { DeviceConnection, DeviceConnectionEvents } from './device-connection.ts'

export interface SimulatedMqttConnectOptions {
  readonly settings: MqttSettings
  /** True for py-xiaozhi only. */
  readonly subscribes: boolean
  readonly timeoutMs: number
  readonly keepAliveSeconds: number
  readonly events: DeviceConnectionEvents
}

/** Rejects with the CONNACK return code when the broker refuses the device. */
export function connectSimulatedDeviceOverMqtt(options: SimulatedMqttConnectOptions): Promise<void> {
  const { settings, events, keepAliveSeconds } = options
  // Without a port the firmware means MQTT over TLS.
  const [host = '', port = '8883'] = settings.endpoint.split(':')
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host)
    socket.setNoDelay(true)
    let buffer: Uint8Array = new Uint8Array(0)
    let connected = false
    let pinging: NodeJS.Timeout | undefined
    const write = (bytes: Uint8Array) => {
      if (!socket.destroyed) socket.write(bytes)
    }
    const end = (reason: string) => {
      clearTimeout(timer)
      clearInterval(pinging)
      socket.destroy()
      if (connected) events.closed(reason)
      else reject(new Error(reason))
    }
    const timer = setTimeout(() => end('no CONNACK'), options.timeoutMs)
    const line: DeviceConnection = {
      send: (text) => write(encodeMqttPublish(settings.publishTopic, toUtf8(text))),
      sendAudio: () => undefined,
      destroy: () => socket.destroy(),
    }
    const welcome = () => {
      clearTimeout(timer)
      connected = true
      if (options.subscribes && settings.subscribeTopic !== 'null')
        write(encodeMqttSubscribe(1, settings.subscribeTopic, 1))
      // Twice per keep-alive, so that one lost ping does not end the session.
      pinging = setInterval(() => write(PINGREQ_PACKET), keepAliveSeconds * 500)
      pinging.unref()
      events.opened(line)
      resolve()
    }
    const handle = (packet: MqttBrokerPacket) => {
      if (packet.kind === 'connack') {
        if (packet.returnCode === 0) welcome()
        else end(`CONNACK ${packet.returnCode}`)
      } else if (packet.kind === 'publish') {
        // Messages on any topic are accepted.
        events.data()
        const text = fromUtf8(packet.payload)
        if (text !== undefined) events.text(text)
      }
    }
    socket.once('connect', () => {
      const { clientId, username, password } = settings
      write(encodeMqttConnect({ clientId, username, password, keepAliveSeconds }))
    })
    socket.on('data', (chunk) => {
      buffer = buffer.length === 0 ? chunk : concatBytes(buffer, chunk)
      for (;;) {
        const decoded = decodeMqttBrokerPacket(buffer)
        if (decoded === undefined) return
        if (decoded === 'malformed') {
          end('malformed packet')
          return
        }
        buffer = buffer.subarray(decoded.size)
        handle(decoded.packet)
      }
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => end('the connection is gone'))
  })
}
