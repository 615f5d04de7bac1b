/**
 * WebSocket server: devices connect to it at `/xiaozhi/v1/`. Text frames go to the fleet; audio that nobody uses is
 * dropped.
 *
 *   upgrade request ▸ admit ▸ 101 ▸ attach ▸ text …
 *
 * A request is upgraded only after it was authenticated, and the fleet learns of a device only after the upgrade, so an
 * unauthenticated client that knows a device's address cannot disturb its connection.
 */
import type { IncomingMessage, Server } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket, WebSocketServer } from 'ws'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { AudioFrame, AudioVersion } from '../wire/audio-frame.ts'
import { decodeAudioFrame, encodeAudioFrame } from '../wire/audio-frame.ts'
import type { ConnectionLimiter } from '../../toolbox/connection-limiter.ts'
import { takeToken, omitFullBucket } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import { NON_TEXT_FRAME_RATE_LIMIT } from './connection-and-frame-limits.ts'
import type {
  DeviceAuthenticator,
  DeviceIdentity,
  DeviceLink,
  DeviceLinkAttacher,
  DeviceLinkHandlers,
} from './fleet.ts'
import type { UpgradeEndpoint, UpgradeRequestFault } from './upgrade-request.ts'
import { parseUpgradeRequest } from './upgrade-request.ts'
import type { LivenessSettings } from './liveness.ts'
import { DEFAULT_LIVENESS_SETTINGS, isConnectionDead } from './liveness.ts'
import type { DeviceAdmissionRefusalListener, DeviceAdmissionRefusalReason } from './device-admission-refusal.ts'

export interface WebSocketDeviceServerOptions {
  /** A server that others use as well: only upgrade requests for our path are handled. */
  readonly server: Server
  readonly acceptor: DeviceLinkAttacher
  readonly admit: DeviceAuthenticator
  readonly endpoint?: Partial<UpgradeEndpoint>
  /** The firmware sends at most 65,535 bytes in one message; other devices a little more. */
  readonly maxMessageBytes?: number
  readonly maxConnections?: number
  /** Limits the server's connections until they are authenticated. */
  readonly limiter?: ConnectionLimiter<Socket>
  readonly liveness?: LivenessSettings
  readonly onRefused?: DeviceAdmissionRefusalListener
  readonly clock?: Clock
}

export interface WebSocketDeviceServer {
  readonly connections: () => number
  /** The numbers of dropped binary frames: Opus in the layout that the device announced, and others. */
  readonly dropped: () => { readonly audio: number; readonly other: number }
  readonly close: () => void
}

const DEFAULT_ENDPOINT: UpgradeEndpoint = { path: '/xiaozhi/v1/', allowedOrigins: [] }
/** A device neither answers a close frame nor closes its socket. */
const CLOSE_GRACE_MS = 1_000
/** A device that does not read is disconnected when this many bytes wait for it. */
const MAX_UNSENT = 262_144
const UPGRADE_DELAY_MS = 25
const REFUSAL: Readonly<Record<string, number>> = { 'wrong-path': 404, 'foreign-origin': 403 }
/** A request for another path is not meant for us, so it is not reported as a refusal. */
const REASONS: Readonly<Record<UpgradeRequestFault['kind'], DeviceAdmissionRefusalReason | undefined>> = {
  'wrong-path': undefined,
  'foreign-origin': 'foreign-origin',
  'no-identity': 'no-identity',
  'no-token': 'no-credentials',
}

/** What all connections of one listener share. */
interface Listener {
  readonly clock: Clock
  readonly links: Set<WebSocketLink>
  readonly dropped: { audio: number; other: number }
}

/** Leads from a socket to its link, so that one set of listeners serves every socket. */
class DeviceWebSocket extends WebSocket {
  link: WebSocketLink | undefined
}

export function createWebSocketDeviceServer(options: WebSocketDeviceServerOptions): WebSocketDeviceServer {
  const { server, admit, maxConnections = 4_096, clock = systemClock, liveness = DEFAULT_LIVENESS_SETTINGS } = options
  const endpoint: UpgradeEndpoint = { ...DEFAULT_ENDPOINT, ...options.endpoint }
  const links = new Set<WebSocketLink>()
  let isClosed = false
  const dropped = { audio: 0, other: 0 }
  const listener: Listener = { clock, links, dropped }
  // Stock devices offer no extension, and compression would cost memory for each of them.
  const upgrader = new WebSocketServer({
    noServer: true,
    WebSocket: DeviceWebSocket,
    perMessageDeflate: false,
    clientTracking: false,
    // Devices cut texts in the middle of a character, so one invalid byte does not close the connection.
    skipUTF8Validation: true,
    // Pongs are sent below, where it is checked whether the client reads them.
    autoPong: false,
    maxPayload: options.maxMessageBytes ?? 131_072,
  })

  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', destroySocket)
    letIn(request, socket, head).catch(() => refuse(socket, 503))
  }

  const letIn = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const claim = parseUpgradeRequest(endpoint, request.url ?? '', joinRepeatedHeaders(request))
    const turnAway = (why: DeviceAdmissionRefusalReason | undefined, status: number, deviceId: string | undefined) => {
      refuse(socket, status)
      const remoteAddress = request.socket.remoteAddress ?? ''
      if (why !== undefined) options.onRefused?.({ door: 'websocket', why, deviceId, remoteAddress })
    }
    if (!claim.ok) {
      const { kind, deviceId } = claim.fault
      turnAway(REASONS[kind], REFUSAL[kind] ?? 401, deviceId)
      return
    }
    // Firmware sends its request before it is ready for the answer: a 101 that is sent at once can be lost, and the
    // device then waits for ten seconds (seen in 2 of 12 upgrades on a busy machine, and in none of 48 that were
    // answered later). The delay comes before authentication, so that credentials which are revoked meanwhile cannot
    // open a session.
    await delay(UPGRADE_DELAY_MS)
    const identity = await admit(claim.value)
    if (identity === undefined) turnAway('wrong-credentials', 401, claim.value.deviceId)
    else if (isClosed || links.size >= maxConnections) refuse(socket, 503)
    else upgrader.handleUpgrade(request, socket, head, (webSocket) => welcome(webSocket, request, identity))
  }

  const welcome = (socket: DeviceWebSocket, request: IncomingMessage, identity: DeviceIdentity) => {
    const { remoteAddress = '', localAddress } = request.socket
    const version = audioVersion(request.headers['protocol-version'])
    options.limiter?.authenticate(request.socket, identity.deviceId)
    const link = new WebSocketLink(listener, socket, { remoteAddress, localAddress, version })
    links.add(link)
    link.handlers = options.acceptor.attach(identity, link)
    socket.link = link
    socket.on('message', onMessage)
    socket.on('ping', onPing)
    socket.on('pong', onPong)
    socket.on('error', onError)
    socket.on('close', onClose)
  }

  /** One sweep for all connections instead of thousands of timers. */
  const sweep = setInterval(() => {
    const atMs = clock.monotonic()
    for (const link of links) link.checkLiveness(liveness, atMs)
  }, liveness.pingMs)
  sweep.unref()

  server.on('upgrade', onUpgrade)
  return {
    connections: () => links.size,
    dropped: () => ({ ...dropped }),
    close: () => {
      isClosed = true
      clearInterval(sweep)
      server.off('upgrade', onUpgrade)
      for (const link of links) link.terminate()
    },
  }
}

/**
 * One connection. There are thousands of them, most of them idle, so they have no closures, and no token bucket while
 * it is full.
 */
class WebSocketLink implements DeviceLink {
  readonly remoteAddress: string
  readonly localAddress: string | undefined
  handlers: DeviceLinkHandlers | undefined
  readonly #listener: Listener
  readonly #socket: WebSocket
  readonly #version: AudioVersion
  #lastDataMs: number
  #unansweredPings = 0
  #bucket: TokenBucket | undefined
  #trouble: string | undefined

  constructor(
    listener: Listener,
    socket: WebSocket,
    {
      remoteAddress,
      localAddress,
      version,
    }: { readonly remoteAddress: string; readonly localAddress: string | undefined; readonly version: AudioVersion },
  ) {
    this.#listener = listener
    this.#socket = socket
    this.#version = version
    this.remoteAddress = remoteAddress
    this.localAddress = localAddress
    this.#lastDataMs = Math.trunc(listener.clock.monotonic())
  }

  get transport(): 'websocket' {
    return 'websocket'
  }

  get udp(): undefined {
    return undefined
  }

  send(text: string): void {
    if (this.#socket.bufferedAmount > MAX_UNSENT) this.#socket.terminate()
    else if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text, ignoreOutcome)
  }

  sendAudio(frame: AudioFrame): void {
    if (this.#socket.readyState !== WebSocket.OPEN || this.#socket.bufferedAmount > MAX_UNSENT) return
    this.#socket.send(encodeAudioFrame(this.#version, frame), { binary: true }, ignoreOutcome)
  }

  openAudio(): void {
    // Over WebSocket, audio uses the same connection, so nothing has to be opened.
  }

  close(reason: string): void {
    // A close reason is at most 123 bytes (RFC 6455 § 5.5.1).
    this.#socket.close(1000, reason.slice(0, 60))
    setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS).unref()
  }

  message(data: Buffer, isBinary: boolean): void {
    const { clock, dropped } = this.#listener
    this.#lastDataMs = Math.trunc(clock.monotonic())
    if (!isBinary) this.handlers?.text(data.toString('utf8'))
    else if (this.#takeFrame()) {
      // Only the header is decoded here; a listener that uses the audio decodes the rest.
      const frame = decodeAudioFrame(this.#version, data)
      if (!frame.ok) dropped.other++
      else {
        dropped.audio++
        this.handlers?.audio(() => frame.value)
      }
    }
  }

  ping(data: Buffer): void {
    if (!this.#takeFrame()) return
    if (this.#socket.bufferedAmount > MAX_UNSENT) this.breakOff('it does not read what it is sent')
    else if (this.#socket.readyState === WebSocket.OPEN) this.#socket.pong(data, false, ignoreOutcome)
  }

  pong(): void {
    if (!this.#takeFrame()) return
    this.#unansweredPings = 0
    this.handlers?.stir()
  }

  checkLiveness(settings: LivenessSettings, atMs: number): void {
    this.#bucket = omitFullBucket(this.#bucket, NON_TEXT_FRAME_RATE_LIMIT, atMs)
    const liveness = { lastDataMs: this.#lastDataMs, unanswered: this.#unansweredPings }
    if (isConnectionDead(liveness, settings, atMs)) this.#socket.terminate()
    else if (this.#socket.readyState === WebSocket.OPEN) {
      this.#unansweredPings++
      this.#socket.ping()
    }
  }

  breakOff(reason: string): void {
    this.#trouble ??= reason
    this.#socket.terminate()
  }

  terminate(): void {
    this.#socket.terminate()
  }

  ended(code: number): void {
    this.#listener.links.delete(this)
    this.handlers?.closed(this.#trouble ?? `WebSocket closed (${code})`)
  }

  #takeFrame(): boolean {
    const atMs = this.#listener.clock.monotonic()
    const bucket = takeToken(this.#bucket, NON_TEXT_FRAME_RATE_LIMIT, atMs)
    if (bucket === undefined) this.breakOff('too many frames')
    else this.#bucket = bucket
    return bucket !== undefined
  }
}

function onMessage(this: WebSocket, data: Buffer, isBinary: boolean): void {
  linkOf(this)?.message(data, isBinary)
}

function onPing(this: WebSocket, data: Buffer): void {
  linkOf(this)?.ping(data)
}

function onPong(this: WebSocket): void {
  linkOf(this)?.pong()
}

function onError(this: WebSocket, error: Error): void {
  linkOf(this)?.breakOff(error.message)
}

function onClose(this: WebSocket, code: number): void {
  linkOf(this)?.ended(code)
}

function linkOf(socket: WebSocket): WebSocketLink | undefined {
  return socket instanceof DeviceWebSocket ? socket.link : undefined
}

function destroySocket(this: Duplex): void {
  this.destroy()
}

function ignoreOutcome(): void {
  // The `close` event reports the end.
}

function audioVersion(header: string | string[] | undefined): AudioVersion {
  return header === '2' ? 2 : header === '3' ? 3 : 1
}

function refuse(socket: Duplex, status: number): void {
  if (!socket.writable) return
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  // A client that does not close its side is not waited for.
  socket.once('finish', () => socket.destroy())
}

/** Node joins repeated headers; a joined value fails the check of every header that is read here. */
export function joinRepeatedHeaders(request: IncomingMessage): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
  )
}
