/**
 * MQTT server: devices connect to it and publish to it; it publishes to them whether they subscribed or not, because
 * stock firmware never subscribes.
 *
 *   CONNECT ▸ admit ▸ CONNACK ▸ attach ▸ PUBLISH …
 *
 * No message is passed on to another client, so there is no broker: every topic that a device publishes to means this
 * server, and nothing is retained, stored or seen by another device. QoS 0 and 1 are supported; QoS 2 is not.
 *
 * The limit on a packet's length is small until the sender is known, and pings have a rate.
 */
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { toUtf8 } from '../../core/bytes.ts'
import { systemClock } from '../../core/clock.ts'
import { startListening } from '../../core/listen-server.ts'
import { ConnectionLimiter } from '../../toolbox/connection-limiter.ts'
import { takeToken, omitFullBucket } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import type { AudioFrame } from '../wire/audio-frame.ts'
import type { MqttClientPacket } from '../wire/mqtt-client-packet.ts'
import {
  CONNECT_RETURN_CODE,
  encodeConnack,
  encodePuback,
  encodeSuback,
  encodeUnsuback,
  MqttPacketReader,
  PINGRESP_PACKET,
  SUBACK_FAILURE_RETURN_CODE,
} from '../wire/mqtt-client-packet.ts'
import { formatDownlinkTopic } from '../wire/mqtt-identity.ts'
import { encodeMqttPublish } from '../wire/mqtt-broker-packet.ts'
import type { UdpAudioKeys } from '../wire/udp-audio.ts'
import type { DeviceAuthenticator, DeviceLinkAttacher, DeviceLink, DeviceLinkHandlers } from './fleet.ts'
import type { DeviceAdmissionRefusalListener } from './device-admission-refusal.ts'
import { parseDeviceIdFromMqttClientId } from './device-admission-refusal.ts'
import { NON_TEXT_FRAME_RATE_LIMIT, MAX_UNAUTHENTICATED_CONNECTIONS } from './connection-and-frame-limits.ts'
import type { UdpAudioServer, UdpAudioSession } from './udp-audio-server.ts'

export interface MqttServerOptions {
  readonly host: string
  readonly port: number
  readonly acceptor: DeviceLinkAttacher
  readonly admit: DeviceAuthenticator
  /** Where devices send audio. Without a host, it is the address at which the device reached us. */
  readonly udp: { readonly host: string | undefined; readonly server: UdpAudioServer } | undefined
  readonly maxPacketBytes?: number
  readonly maxConnections?: number
  /** How many unauthenticated connections there may be. */
  readonly maxStrangers?: number
  readonly onRefused?: DeviceAdmissionRefusalListener
}

export interface MqttDeviceServer {
  readonly port: number
  readonly connections: () => number
  readonly close: () => Promise<void>
}

/** The time allowed from the connection to the CONNECT. */
const CONNECT_TIMEOUT_MS = 10_000
const SWEEP_MS = 5_000
/** TCP detects a device that vanished, even if it requested no MQTT keep-alive. */
const TCP_KEEPALIVE_MS = 60_000
/** Enough for a CONNECT with the longest credentials we sign. */
const UNAUTHENTICATED_LIMIT = 2_048
/** A device that does not read is disconnected when this many bytes wait for it. */
const MAX_UNSENT = 262_144
const CLOSE_GRACE_MS = 1_000

/** What all connections of one listener share. */
interface Listener {
  readonly options: MqttServerOptions
  readonly maxPacketBytes: number
  readonly maxConnections: number
  readonly limiter: ConnectionLimiter<Socket>
  readonly connections: Set<MqttConnection>
  open: number
  /** The last audio address that was sent, shared by all devices that reached us at the same address. */
  udp: { readonly server: string; readonly port: number } | undefined
}

/** Leads from a socket to its connection, so that one set of listeners serves every socket. */
const CONNECTION = Symbol('MQTT connection')
type DeviceSocket = Socket & { [CONNECTION]?: MqttConnection }

/** Rejects when the port is taken, after closing everything. */
export async function startMqttDeviceServer(options: MqttServerOptions): Promise<MqttDeviceServer> {
  const { maxPacketBytes = 131_072, maxConnections = 4_096, maxStrangers = MAX_UNAUTHENTICATED_CONNECTIONS } = options
  const limiter = new ConnectionLimiter<Socket>({ maxUnauthenticated: maxStrangers })
  const connections = new Set<MqttConnection>()
  const listener: Listener = { options, maxPacketBytes, maxConnections, limiter, connections, open: 0, udp: undefined }
  const server = createServer((socket: DeviceSocket) => {
    socket.setNoDelay(true)
    socket.setKeepAlive(true, TCP_KEEPALIVE_MS)
    const connection = new MqttConnection(listener, socket)
    connections.add(connection)
    socket[CONNECTION] = connection
    socket.on('data', onData)
    socket.on('error', onError)
    socket.on('close', onClose)
    limiter.accept(socket)
  })
  // A new connection is counted before the one that it replaces is closed.
  server.maxConnections = maxConnections + maxStrangers + 16
  const port = await startListening(server, options)
  const sweep = setInterval(() => {
    const atMs = systemClock.monotonic()
    for (const connection of connections) connection.checkLiveness(atMs)
  }, SWEEP_MS)
  sweep.unref()
  return {
    port,
    connections: () => listener.open,
    close: async () => {
      clearInterval(sweep)
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const connection of connections) {
        connection.destroy()
        connection.ended()
      }
      await stopped
    },
  }
}

/**
 * One connection. There are thousands of them, most of them idle, so they have no closures, and no token bucket while
 * it is full.
 */
class MqttConnection implements DeviceLink {
  readonly #listener: Listener
  readonly #socket: Socket
  readonly #packets = new MqttPacketReader()
  #state: 'new' | 'admitting' | 'open' | 'closing' = 'new'
  #keepAliveMs = CONNECT_TIMEOUT_MS
  #lastPacketMs = Math.trunc(systemClock.monotonic())
  #bucket: TokenBucket | undefined
  #deviceId = ''
  #handlers: DeviceLinkHandlers | undefined
  #audio: UdpAudioSession | undefined
  #trouble: string | undefined

  constructor(listener: Listener, socket: Socket) {
    this.#listener = listener
    this.#socket = socket
  }

  get transport(): 'mqtt' {
    return 'mqtt'
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? ''
  }

  get localAddress(): string | undefined {
    return this.#socket.localAddress
  }

  get udp(): { readonly server: string; readonly port: number } | undefined {
    const { options, udp: lastUdp } = this.#listener
    const server = options.udp?.host ?? this.localAddress?.replace(/^::ffff:/, '')
    if (options.udp === undefined || server === undefined) return undefined
    if (lastUdp?.server !== server) this.#listener.udp = { server, port: options.udp.server.port }
    return this.#listener.udp
  }

  send(text: string): void {
    if (this.#socket.writableLength > MAX_UNSENT) this.destroy()
    else this.#write(encodeMqttPublish(formatDownlinkTopic(this.#deviceId), toUtf8(text)))
  }

  sendAudio(frame: AudioFrame): void {
    this.#audio?.send(frame)
  }

  openAudio(keys: UdpAudioKeys): void {
    this.#audio?.close()
    if (this.#handlers !== undefined) this.#audio = this.#listener.options.udp?.server.open(keys, this.#handlers)
  }

  close(): void {
    if (this.#state === 'closing') return
    this.#state = 'closing'
    this.#socket.end()
    // A device that does not close its side is not waited for.
    setTimeout(() => this.#socket.destroy(), CLOSE_GRACE_MS).unref()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  take(chunk: Buffer): void {
    if (this.#state === 'closing') return
    this.#packets.append(chunk)
    this.#socket.cork()
    this.#takePackets()
    this.#socket.uncork()
  }

  breakOff(reason: string): void {
    this.#trouble ??= reason
    this.#socket.destroy()
  }

  /** Reports the end once, also when the socket reports it a moment after we did. */
  ended(): void {
    this.#listener.connections.delete(this)
    this.#audio?.close()
    this.#audio = undefined
    if (this.#handlers === undefined) return
    this.#listener.open--
    this.#handlers.closed(this.#trouble ?? 'MQTT connection closed')
    this.#handlers = undefined
  }

  /** § 3.1.2.10: one and a half times the keep-alive, which zero turns off. */
  checkLiveness(atMs: number): void {
    this.#bucket = omitFullBucket(this.#bucket, NON_TEXT_FRAME_RATE_LIMIT, atMs)
    const patienceMs = this.#state === 'open' ? this.#keepAliveMs * 1.5 : CONNECT_TIMEOUT_MS
    if (patienceMs > 0 && atMs - this.#lastPacketMs > patienceMs)
      this.breakOff(this.#state === 'open' ? 'it sent nothing within its keep-alive time' : 'it did not connect')
  }

  #takePackets(): void {
    while (this.#state !== 'admitting' && this.#state !== 'closing' && !this.#socket.destroyed) {
      const packet = this.#packets.next(this.#state === 'open' ? this.#listener.maxPacketBytes : UNAUTHENTICATED_LIMIT)
      if (packet === undefined) return
      if (packet === 'malformed') this.breakOff('an MQTT packet is malformed or too long')
      else if (packet.kind !== 'publish' && !this.#takeSignal()) this.breakOff('too many packets')
      else this.#takePacket(packet)
    }
  }

  #takePacket(packet: MqttClientPacket): void {
    this.#lastPacketMs = Math.trunc(systemClock.monotonic())
    // § 3.1: the first packet is a CONNECT, and there is no second one.
    if ((this.#state === 'new') !== (packet.kind === 'connect')) {
      this.breakOff('an MQTT packet was out of turn')
      return
    }
    switch (packet.kind) {
      case 'connect':
        this.#admit(packet)
        return
      case 'publish':
        if (packet.qos === 2) this.breakOff('QoS 2 is not supported here')
        else {
          if (packet.packetId !== undefined) this.#write(encodePuback(packet.packetId))
          this.#handlers?.text(Buffer.from(packet.payload).toString('utf8'))
        }
        return
      case 'subscribe': {
        const own = formatDownlinkTopic(this.#deviceId)
        const codes = packet.filters.map(({ topic, qos }) =>
          topic === own ? Math.min(qos, 1) : SUBACK_FAILURE_RETURN_CODE,
        )
        this.#write(encodeSuback(packet.packetId, codes))
        return
      }
      case 'unsubscribe':
        this.#write(encodeUnsuback(packet.packetId))
        return
      case 'pingreq':
        this.#write(PINGRESP_PACKET)
        this.#handlers?.stir()
        return
      case 'disconnect':
        this.close()
        return
      case 'puback':
        return
      default:
        packet satisfies never
    }
  }

  /** Nothing more is read before the client is authenticated. */
  #admit(packet: Extract<MqttClientPacket, { kind: 'connect' }>): void {
    if (packet.level !== 4 && packet.level !== 3) {
      this.#write(encodeConnack(CONNECT_RETURN_CODE.wrongLevel))
      this.close()
      return
    }
    this.#state = 'admitting'
    this.#socket.pause()
    void this.#decide(packet).catch(() => this.destroy())
  }

  async #decide(packet: Extract<MqttClientPacket, { kind: 'connect' }>): Promise<void> {
    const { options, limiter, maxConnections } = this.#listener
    const { clientId, username = '', password = '', keepAliveSeconds } = packet
    const identity = await options
      .admit({ kind: 'mqtt', credentials: { clientId, username, password } })
      .catch(() => undefined)
    if (this.#socket.destroyed) return
    // A device that is refused because the listener is full will try again, and is not reported as a refusal.
    const isFull = this.#listener.open >= maxConnections
    if (identity === undefined || isFull) {
      const { notAuthorized, unavailable } = CONNECT_RETURN_CODE
      this.#write(encodeConnack(identity === undefined ? notAuthorized : unavailable))
      this.close()
      if (identity !== undefined) return
      const why = password === '' ? 'no-credentials' : 'wrong-credentials'
      const deviceId = parseDeviceIdFromMqttClientId(clientId)
      options.onRefused?.({ door: 'mqtt', why, deviceId, remoteAddress: this.remoteAddress })
      return
    }
    this.#state = 'open'
    this.#keepAliveMs = keepAliveSeconds * 1_000
    this.#deviceId = identity.deviceId
    this.#listener.open++
    limiter.authenticate(this.#socket, identity.deviceId)
    this.#write(encodeConnack(CONNECT_RETURN_CODE.accepted))
    this.#handlers = options.acceptor.attach(identity, this)
    this.#socket.resume()
    this.#takePackets()
  }

  #takeSignal(): boolean {
    const atMs = systemClock.monotonic()
    const bucket = takeToken(this.#bucket, NON_TEXT_FRAME_RATE_LIMIT, atMs)
    if (bucket !== undefined) this.#bucket = bucket
    return bucket !== undefined
  }

  #write(bytes: Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(bytes)
  }
}

function onData(this: DeviceSocket, chunk: Buffer): void {
  this[CONNECTION]?.take(chunk)
}

function onError(this: DeviceSocket, error: Error): void {
  this[CONNECTION]?.breakOff(error.message)
}

function onClose(this: DeviceSocket): void {
  this[CONNECTION]?.ended()
}
