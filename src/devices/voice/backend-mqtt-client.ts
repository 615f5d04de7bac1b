/**
 * Backend MQTT client: connects to a voice backend's broker as the device would, and carries audio over UDP with the
 * keys of the backend's hello.
 *
 *   CONNECT ▸ publish hello ▸ hello with key and nonce ▸ UDP both ways ▸ goodbye
 *
 * Like the device, it subscribes to no topic: such a backend publishes to the connection directly.
 */
import { createSocket } from 'node:dgram'
import type { Socket } from 'node:dgram'
import { connect } from 'mqtt'
import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { parseBoundedJsonObject } from '../wire/bounded-json.ts'
import type { MqttSettings } from '../wire/ota.ts'
import type { UdpAudioKeys } from '../wire/udp-audio.ts'
import { decodeUdpAudio, encodeUdpAudio } from '../wire/udp-audio.ts'
import { VOICE_BACKEND_PING_INTERVAL_MS, MAX_UNANSWERED_PINGS } from './voice-backend.ts'
import type { VoiceBackendHandlers, VoiceBackendLink } from './voice-backend.ts'

const CONNECT_MS = 7_000
const KEEPALIVE_SECONDS = 240
const TLS_PORT = '8883'

interface Channel {
  readonly socket: Socket
  readonly keys: UdpAudioKeys
  readonly server: string
  readonly port: number
  sent: number
  lastReceived: number
}

export function connectVoiceBackendOverMqtt(settings: MqttSettings, handlers: VoiceBackendHandlers): VoiceBackendLink {
  const [host = '', port = TLS_PORT] = settings.endpoint.split(':')
  let isEnded = false
  let channel: Channel | undefined
  const closeChannel = () => {
    channel?.socket.close()
    channel = undefined
  }
  let unansweredPings = 0
  const end = (isClean: boolean, reason: string) => {
    clearInterval(beat)
    closeChannel()
    client.end(true)
    if (isEnded) return
    isEnded = true
    handlers.closed(isClean, reason)
  }
  // Uses TLS for the same port as the firmware.
  const client = connect(`${port === TLS_PORT ? 'mqtts' : 'mqtt'}://${host}:${port}`, {
    protocolVersion: 4,
    clean: true,
    reconnectPeriod: 0,
    connectTimeout: CONNECT_MS,
    keepalive: KEEPALIVE_SECONDS,
    clientId: settings.clientId,
    username: settings.username,
    password: settings.password,
  })
  // Runs while a conversation is open; between conversations the keep-alive of the protocol is enough.
  const beat = setInterval(() => {
    if (channel === undefined || !client.connected) return
    if (unansweredPings >= MAX_UNANSWERED_PINGS) {
      end(false, 'it does not answer')
      return
    }
    unansweredPings++
    client.sendPing()
  }, VOICE_BACKEND_PING_INTERVAL_MS)
  beat.unref()
  client.on('packetreceive', () => (unansweredPings = 0))
  client.on('connect', () => handlers.opened())
  client.on('message', (_topic, payload) => {
    const text = payload.toString('utf8')
    const message = parseBoundedJsonObject(text)
    if (message?.['type'] === 'hello') {
      closeChannel()
      channel = openChannel(message, handlers)
    }
    handlers.text(text)
    if (message?.['type'] === 'goodbye') closeChannel()
  })
  client.on('error', (error) => end(false, error.message))
  client.on('close', () => end(false, 'the connection is gone'))
  return {
    send: (text) => {
      if (client.connected) client.publish(settings.publishTopic, text, { qos: 0 }, () => undefined)
    },
    sendAudio: ({ timestampMs, opus }) => {
      if (channel === undefined) return
      channel.sent++
      const packet = encodeUdpAudio(channel.keys, { timestampMs, sequence: channel.sent, opus })
      channel.socket.send(packet, channel.port, channel.server, () => undefined)
    },
    close: () => {
      isEnded = true
      clearInterval(beat)
      closeChannel()
      client.end(true)
    },
  }
}

/** A hello without complete keys means no audio, as for the device itself. */
function openChannel(hello: JsonObject, { audio }: VoiceBackendHandlers): Channel | undefined {
  const { udp } = hello
  if (!isJsonObject(udp)) return undefined
  const { server, port, key, nonce } = udp
  const isHex = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{32}$/i.test(value)
  if (typeof server !== 'string' || typeof port !== 'number' || !isHex(key) || !isHex(nonce)) return undefined
  const socket = createSocket('udp4')
  socket.on('error', () => undefined)
  socket.unref()
  const opened: Channel = { socket, keys: { keyHex: key, nonceHex: nonce }, server, port, sent: 0, lastReceived: 0 }
  socket.on('message', (bytes) => {
    const packet = decodeUdpAudio(key, bytes)
    if (!packet.ok || packet.value.sequence <= opened.lastReceived) return
    opened.lastReceived = packet.value.sequence
    audio({ timestampMs: packet.value.timestampMs, opus: packet.value.opus })
  })
  return opened
}
