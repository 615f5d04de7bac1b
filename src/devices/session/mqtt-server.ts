/**
 * MQTT server: a broker for devices and nobody else. MQTT 3.1.1, QoS 0 to devices, QoS 0 and 1 from them.
 *
 * Stock devices never subscribe and all publish to one topic, so a message is known by the connection it came on and
 * pushed to the connection it is for. No device can reach another through this broker: whatever one publishes goes to
 * the fleet and ends there, and a device may subscribe to its own topic only.
 */
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import type { AuthenticateError, AuthErrorCode, Client } from 'aedes'
import { Aedes } from 'aedes'
import { listenOn } from '../../core/listen-server.ts'
import { ConnectionLimiter } from '../../toolbox/connection-limiter.ts'
import type { MqttCredentials } from '../wire/mqtt-identity.ts'
import { downlinkTopic, UPLINK_TOPIC } from '../wire/mqtt-identity.ts'
import type { AdmitDevice, DeviceIdentity, DeviceLink, DeviceAcceptor, LinkHandlers } from './fleet.ts'
import { MAX_UNAUTHENTICATED } from './session-limits.ts'
import { PacketGuard } from './packet-guard-transport.ts'
import type { OnRefused } from './refusal.ts'
import { deviceIdInClientId } from './refusal.ts'
import type { UdpAudioServer, UdpAudioSession } from './udp-audio-server.ts'

export interface MqttServerOptions {
  readonly host: string
  readonly port: number
  readonly harbour: DeviceAcceptor
  readonly admit: AdmitDevice
  /** Where devices are told to send audio; the host is the one they reached us at unless it is given. */
  readonly udp: { readonly host: string | undefined; readonly server: UdpAudioServer } | undefined
  readonly maxPacketBytes?: number
  readonly maxConnections?: number
  /** How many may be connected that have not shown who they are. */
  readonly maxStrangers?: number
  readonly onRefused?: OnRefused
}

export interface MqttDevices {
  readonly port: number
  readonly connections: () => number
  readonly close: () => Promise<void>
}

const CONNECT_TIMEOUT_MS = 10_000
/** CONNACK return code 5, "not authorized" (MQTT 3.1.1 § 3.2.2.3). */
const NOT_AUTHORIZED = 5 as AuthErrorCode
/** A device that vanished without a word is noticed by TCP, also when it asked for no MQTT keep-alive. */
const TCP_KEEPALIVE_MS = 60_000

interface Guest {
  readonly identity: DeviceIdentity
  ears: LinkHandlers | undefined
  /** A device may speak as soon as it has its CONNACK, a moment before the broker says that it is ready. */
  readonly early: string[]
}

const MAX_EARLY = 16
/** A device that reads nothing is not kept in memory on its own account. */
const MAX_UNSENT = 262_144

/** Rejects when the port is taken, with nothing left behind. */
export async function acceptMqttDevices(options: MqttServerOptions): Promise<MqttDevices> {
  const {
    harbour,
    admit,
    maxPacketBytes = 131_072,
    maxConnections = 4_096,
    maxStrangers = MAX_UNAUTHENTICATED,
  } = options
  const limiter = new ConnectionLimiter<Socket>({ maxUnauthenticated: maxStrangers })
  const guests = new WeakMap<Client, Guest>()
  let connected = 0

  const letIn = async (client: Client, credentials: MqttCredentials): Promise<boolean> => {
    const identity = await admit({ kind: 'mqtt', credentials }).catch(() => undefined)
    if (identity === undefined) {
      const why = credentials.password === '' ? 'no-credentials' : 'wrong-credentials'
      const deviceId = deviceIdInClientId(credentials.clientId)
      options.onRefused?.({ door: 'mqtt', why, deviceId, remoteAddress: socketOf(client)?.remoteAddress ?? '' })
      return false
    }
    // Without a word: a device that finds no room comes again, and is no stranger to be told of.
    if (connected >= maxConnections) return false
    guests.set(client, { identity, ears: undefined, early: [] })
    if (client.conn instanceof PacketGuard) {
      client.conn.trust(maxPacketBytes)
      limiter.authenticate(client.conn.socket, identity.deviceId)
    }
    return true
  }

  const broker = await Aedes.createBroker({
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Nothing is kept for a device that is away: an old request would only confuse it.
    preConnect: (_client, packet, done) => {
      packet.clean = true
      delete packet.will
      done(null, true)
    },
    authenticate: (client, username, password, decide) => {
      const credentials = { clientId: client.id, username: username ?? '', password: password?.toString() ?? '' }
      void letIn(client, credentials).then((admitted) =>
        admitted ? decide(null, true) : decide(notAuthorized(), null),
      )
    },
    authorizePublish: (_client, packet, done) => {
      // Whatever topic a device has in its memory, it means us; and nothing may be retained or reach a subscriber.
      packet.topic = UPLINK_TOPIC
      packet.retain = false
      done(packet.qos === 2 ? new Error('QoS 2 is not spoken here') : null)
    },
    authorizeSubscribe: (client, subscription, done) => {
      const guest = guests.get(client)
      const own = guest !== undefined && subscription.topic === downlinkTopic(guest.identity.deviceId)
      done(null, own ? subscription : null)
    },
    published: (packet, client, done) => {
      // The broker's own notices about itself have no client.
      const guest = client === null ? undefined : guests.get(client)
      const text = packet.payload.toString()
      if (guest?.ears !== undefined) guest.ears.text(text)
      else if (guest !== undefined && guest.early.length < MAX_EARLY) guest.early.push(text)
      done()
    },
  })

  broker.on('clientReady', (client) => {
    const guest = guests.get(client)
    if (guest === undefined || client.closed) return
    connected++
    const { link, closeAudio } = linkOver(client, guest, options.udp)
    const ears = harbour.attach(guest.identity, link)
    guest.ears = ears
    for (const text of guest.early.splice(0)) ears.text(text)
    // The stream, not the broker's `clientDisconnect`: that one is lost when two connections of one device overlap.
    client.conn.once('close', () => {
      connected--
      guests.delete(client)
      closeAudio()
      ears.closed(troubleOf(client) ?? 'MQTT connection closed')
    })
  })
  broker.on('ping', (_packet, client) => guests.get(client)?.ears?.stir())
  // A broken client is the broker's to close; without listeners these would be uncaught.
  broker.on('clientError', () => undefined)
  broker.on('connectionError', () => undefined)

  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.setNoDelay(true)
    socket.setKeepAlive(true, TCP_KEEPALIVE_MS)
    limiter.accept(socket)
    broker.handle(new PacketGuard(socket))
  })
  // The one that comes is counted before the one that gives way has gone.
  server.maxConnections = maxConnections + maxStrangers + 16
  const closeBroker = () => new Promise<void>((resolve) => broker.close(() => resolve()))
  try {
    const port = await listenOn(server, options)
    return {
      port,
      connections: () => connected,
      close: async () => {
        const stopped = new Promise<void>((resolve) => server.close(() => resolve()))
        await closeBroker()
        // The broker closes those it knows by name; others would keep the port, and the stop, waiting for them.
        for (const socket of sockets) socket.destroy()
        await stopped
      },
    }
  } catch (error) {
    // Its heartbeat would keep the process alive, once more for every attempt.
    await closeBroker()
    throw error
  }
}

function linkOver(
  client: Client,
  guest: Guest,
  udp: MqttServerOptions['udp'],
): { readonly link: DeviceLink; readonly closeAudio: () => void } {
  const socket = socketOf(client)
  const localAddress = socket?.localAddress
  const topic = downlinkTopic(guest.identity.deviceId)
  const server = udp?.host ?? localAddress?.replace(/^::ffff:/, '')
  let audio: UdpAudioSession | undefined
  const link: DeviceLink = {
    transport: 'mqtt',
    remoteAddress: socket?.remoteAddress ?? '',
    localAddress,
    udp: udp === undefined || server === undefined ? undefined : { server, port: udp.server.port },
    send: (text) => {
      if (client.conn.writableLength > MAX_UNSENT) {
        client.close()
        return
      }
      const payload = Buffer.from(text)
      client.publish({ cmd: 'publish', topic, payload, qos: 0, retain: false, dup: false }, () => undefined)
    },
    sendAudio: (frame) => audio?.send(frame),
    openAudio: (keys) => {
      audio?.close()
      audio = udp?.server.open(keys, (read) => guest.ears?.audio(read))
    },
    close: () => client.close(),
  }
  return { link, closeAudio: () => audio?.close() }
}

function socketOf({ conn }: Client): Socket | undefined {
  return conn instanceof PacketGuard ? conn.socket : undefined
}

/** Why the connection was cut, if it was. */
function troubleOf({ conn }: Client): string | undefined {
  return conn instanceof PacketGuard ? conn.errored?.message : undefined
}

function notAuthorized(): AuthenticateError {
  return Object.assign(new Error('not authorized'), { returnCode: NOT_AUTHORIZED })
}
