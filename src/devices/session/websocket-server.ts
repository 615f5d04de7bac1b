/**
 * WebSocket server: devices dial in at `/xiaozhi/v1/`. Text frames go to the fleet, audio is dropped as it comes.
 *
 *   upgrade ▸ knock ▸ admit ▸ 101 ▸ attach ▸ text …
 *
 * Nobody is upgraded before being admitted, and the fleet hears of nobody before the upgrade, so a stranger who knows a
 * device's address cannot disturb its connection.
 */
import type { IncomingMessage, Server } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { AudioVersion } from '../wire/audio-frame.ts'
import { decodeAudioFrame, encodeAudioFrame } from '../wire/audio-frame.ts'
import type { ConnectionLimiter } from '../../toolbox/connection-limiter.ts'
import { fullBucket, takeToken } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import { FRAME_RATE } from './session-limits.ts'
import type { AdmitDevice, DeviceIdentity, DeviceLink, DeviceAcceptor } from './fleet.ts'
import type { UpgradeEndpoint, UpgradeRequestFault } from './upgrade-request.ts'
import { parseUpgradeRequest } from './upgrade-request.ts'
import type { Liveness, LivenessSettings } from './liveness.ts'
import { DEFAULT_LIVENESS, isDead } from './liveness.ts'
import type { OnRefused, DeviceRefusalReason } from './refusal.ts'

export interface WebSocketOptions {
  /** Somebody else's server: only upgrades on our path are taken. */
  readonly server: Server
  readonly harbour: DeviceAcceptor
  readonly admit: AdmitDevice
  readonly door?: Partial<UpgradeEndpoint>
  /** The firmware sends at most 65,535 bytes in one message; other devices a little more. */
  readonly maxMessageBytes?: number
  readonly maxConnections?: number
  /** Where the server's connections wait until they are devices. */
  readonly limiter?: ConnectionLimiter<Socket>
  readonly liveness?: LivenessSettings
  readonly onRefused?: OnRefused
  readonly clock?: Clock
}

export interface WebSocketDevices {
  readonly connections: () => number
  /** Binary frames that were dropped: Opus in the layout the device announced, and whatever else there was. */
  readonly dropped: () => { readonly audio: number; readonly other: number }
  readonly close: () => void
}

const DEFAULT_DOOR: UpgradeEndpoint = { path: '/xiaozhi/v1/', allowedOrigins: [] }
/** A device does not answer a close frame, and does not close its socket either. */
const CLOSE_GRACE_MS = 1_000
/** A device that reads nothing is not kept in memory on its own account. */
const MAX_UNSENT = 262_144
const UPGRADE_DELAY_MS = 25
const REFUSAL: Readonly<Record<string, number>> = { 'wrong-path': 404, 'foreign-origin': 403 }
/** Who asks for another path wants nothing of ours. */
const REASONS: Readonly<Record<UpgradeRequestFault['kind'], DeviceRefusalReason | undefined>> = {
  'wrong-path': undefined,
  'foreign-origin': 'foreign-origin',
  'no-identity': 'no-identity',
  'no-token': 'no-credentials',
}

interface Guest {
  readonly socket: WebSocket
  liveness: Liveness
  bucket: TokenBucket
}

export function acceptWebSocketDevices(options: WebSocketOptions): WebSocketDevices {
  const { server, admit, maxConnections = 4_096, clock = systemClock, liveness = DEFAULT_LIVENESS } = options
  const door: UpgradeEndpoint = { ...DEFAULT_DOOR, ...options.door }
  const guests = new Set<Guest>()
  const dropped = { audio: 0, other: 0 }
  // Stock devices offer no extension, and compression would cost memory for each of them.
  const upgrader = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    clientTracking: false,
    // Devices cut texts in the middle of a character; one bad byte is no reason to hang up.
    skipUTF8Validation: true,
    // Pongs are sent below, where it is seen whether anybody reads them.
    autoPong: false,
    maxPayload: options.maxMessageBytes ?? 131_072,
  })

  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    letIn(request, socket, head).catch(() => refuse(socket, 503))
  }

  const letIn = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const knock = parseUpgradeRequest(door, request.url ?? '', readSingleHeaders(request))
    const turnAway = (why: DeviceRefusalReason | undefined, status: number, deviceId: string | undefined) => {
      refuse(socket, status)
      const remoteAddress = request.socket.remoteAddress ?? ''
      if (why !== undefined) options.onRefused?.({ door: 'websocket', why, deviceId, remoteAddress })
    }
    if (!knock.ok) {
      const { kind, deviceId } = knock.fault
      turnAway(REASONS[kind], REFUSAL[kind] ?? 401, deviceId)
      return
    }
    const identity = await admit(knock.value)
    if (identity === undefined) turnAway('wrong-credentials', 401, knock.value.deviceId)
    else if (guests.size >= maxConnections) refuse(socket, 503)
    else {
      // Firmware sends its request before it is ready for the answer: a 101 that comes at once can be lost, and the
      // device then waits for ten seconds (seen in 2 of 12 upgrades on a busy machine, in none of 48 answered later).
      await delay(UPGRADE_DELAY_MS)
      upgrader.handleUpgrade(request, socket, head, (webSocket) => welcome(webSocket, request, identity))
    }
  }

  const welcome = (socket: WebSocket, request: IncomingMessage, identity: DeviceIdentity) => {
    const openedAtMs = clock.monotonic()
    const guest: Guest = {
      socket,
      liveness: { lastDataMs: openedAtMs, unanswered: 0 },
      bucket: fullBucket(FRAME_RATE, openedAtMs),
    }
    guests.add(guest)
    options.limiter?.authenticate(request.socket, identity.deviceId)
    let trouble: string | undefined
    const breakOff = (reason: string) => {
      trouble ??= reason
      socket.terminate()
    }
    const affords = (): boolean => {
      const bucket = takeToken(guest.bucket, FRAME_RATE, clock.monotonic())
      if (bucket === undefined) breakOff('too many frames')
      else guest.bucket = bucket
      return bucket !== undefined
    }
    const version = audioVersion(request.headers['protocol-version'])
    const ears = options.harbour.attach(identity, linkOver(socket, request, version))
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      guest.liveness = { ...guest.liveness, lastDataMs: clock.monotonic() }
      if (!isBinary) ears.text(data.toString('utf8'))
      else if (!affords()) return
      else {
        // A look at the header and no more: whoever listens reads the rest.
        const frame = decodeAudioFrame(version, data)
        if (!frame.ok) dropped.other++
        else {
          dropped.audio++
          ears.audio(() => frame.value)
        }
      }
    })
    socket.on('ping', (data: Buffer) => {
      if (!affords()) return
      if (socket.bufferedAmount > MAX_UNSENT) breakOff('it does not read what it is sent')
      else if (socket.readyState === socket.OPEN) socket.pong(data, false, () => undefined)
    })
    socket.on('pong', () => {
      if (!affords()) return
      guest.liveness = { ...guest.liveness, unanswered: 0 }
      ears.stir()
    })
    socket.on('error', (error) => breakOff(error.message))
    socket.on('close', (code: number) => {
      guests.delete(guest)
      ears.closed(trouble ?? `WebSocket closed (${code})`)
    })
  }

  /** One sweep for everybody: two thousand timers would only do the same thing at two thousand moments. */
  const sweep = setInterval(() => {
    const atMs = clock.monotonic()
    for (const guest of guests) {
      if (isDead(guest.liveness, liveness, atMs)) guest.socket.terminate()
      else if (guest.socket.readyState === guest.socket.OPEN) {
        guest.liveness = { ...guest.liveness, unanswered: guest.liveness.unanswered + 1 }
        guest.socket.ping()
      }
    }
  }, liveness.pingMs)
  sweep.unref()

  server.on('upgrade', onUpgrade)
  return {
    connections: () => guests.size,
    dropped: () => ({ ...dropped }),
    close: () => {
      clearInterval(sweep)
      server.off('upgrade', onUpgrade)
      for (const { socket } of guests) socket.terminate()
    },
  }
}

function linkOver(socket: WebSocket, request: IncomingMessage, version: AudioVersion): DeviceLink {
  return {
    transport: 'websocket',
    remoteAddress: request.socket.remoteAddress ?? '',
    localAddress: request.socket.localAddress,
    udp: undefined,
    send: (text) => {
      if (socket.bufferedAmount > MAX_UNSENT) socket.terminate()
      else if (socket.readyState === socket.OPEN) socket.send(text, () => undefined)
    },
    sendAudio: (frame) => {
      if (socket.readyState !== socket.OPEN || socket.bufferedAmount > MAX_UNSENT) return
      socket.send(encodeAudioFrame(version, frame), { binary: true }, () => undefined)
    },
    openAudio: () => undefined,
    close: (reason) => {
      // A close reason is at most 123 bytes (RFC 6455 § 5.5.1).
      socket.close(1000, reason.slice(0, 60))
      setTimeout(() => socket.terminate(), CLOSE_GRACE_MS).unref()
    },
  }
}

function audioVersion(header: string | string[] | undefined): AudioVersion {
  return header === '2' ? 2 : header === '3' ? 3 : 1
}

function refuse(socket: Duplex, status: number): void {
  if (!socket.writable) return
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  // A client that does not hang up in turn is not waited for.
  socket.once('finish', () => socket.destroy())
}

/** Repeated headers arrive joined; none that we read may be repeated, and a joined value fails its check. */
export function readSingleHeaders(request: IncomingMessage): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
  )
}
