/**
 * Devices server: the listener for devices, apart from the one for agents and people. OTA, pictures and WebSockets.
 *
 * Bodies are read up to a limit and within a time; requests from web pages are refused, unless the configuration allows
 * their origin.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { startListening } from '../../core/listen-server.ts'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import { admitUnpipelinedRequest, ConnectionLimiter } from '../../toolbox/connection-limiter.ts'
import type { DeviceLinkAttacher } from '../session/fleet.ts'
import { MAX_UNAUTHENTICATED_CONNECTIONS } from '../session/connection-and-frame-limits.ts'
import type { WebSocketDeviceServer } from '../session/websocket-server.ts'
import { createWebSocketDeviceServer, joinRepeatedHeaders } from '../session/websocket-server.ts'
import type { DeviceAdmissionRefusalListener } from '../session/device-admission-refusal.ts'
import { parseDeviceId } from '../wire/device-id.ts'
import { OTA_PATH, VISION_PATH, WEBSOCKET_PATH } from './advertised-addresses.ts'
import type { DeviceEnrolmentService } from './enrolment.ts'
import type { DeviceHttpAnswer, DeviceHttpHandler, DeviceHttpRequest } from './http-exchange.ts'
import { createDeviceTextAnswer } from './http-exchange.ts'
import type { OtaEndpointOptions } from './ota-endpoint.ts'
import { createActivateHandler, createOtaHandler } from './ota-endpoint.ts'
import type { PhotoUploadService } from './photo-uploads.ts'
import type { BackendVisionTargetLookup } from './vision-endpoint.ts'
import { createVisionHandler } from './vision-endpoint.ts'

export interface DevicesServerOptions {
  readonly registrar: DeviceEnrolmentService
  readonly photoUploads: PhotoUploadService
  readonly acceptor: DeviceLinkAttacher
  /** Ends with a slash; activation is below it. */
  readonly otaPath?: string
  readonly allowedOrigins?: readonly string[]
  readonly timezoneMinutes?: (nowMs: number) => number
  readonly maxConnections?: number
  /** How many unauthenticated connections there may be. */
  readonly maxStrangers?: number
  readonly onRefused?: DeviceAdmissionRefusalListener
  readonly clock?: Clock
  readonly backend?: OtaEndpointOptions['backend']
  readonly photoTarget?: BackendVisionTargetLookup
}

export interface DevicesServer {
  readonly listen: (host: string, port: number) => Promise<number>
  readonly connections: () => number
  readonly close: () => Promise<void>
}

const REQUEST_MS = 20_000

/** Created before it listens, because the addresses that devices are told contain the port that it gets. */
export function createDevicesServer(options: DevicesServerOptions): DevicesServer {
  const {
    registrar,
    photoUploads,
    acceptor,
    clock = systemClock,
    allowedOrigins = [],
    maxConnections = 4_096,
  } = options
  const timezoneMinutes = options.timezoneMinutes ?? ((nowMs: number) => -new Date(nowMs).getTimezoneOffset())
  const { onRefused = () => undefined } = options
  const endpoint = { registrar, clock, timezoneMinutes, onRefused, backend: options.backend }
  const otaPath = options.otaPath ?? OTA_PATH
  const routes: ReadonlyMap<string, DeviceHttpHandler> = new Map([
    [otaPath, createOtaHandler(endpoint)],
    [`${otaPath}activate`, createActivateHandler(endpoint)],
    [VISION_PATH, createVisionHandler(photoUploads, onRefused, options.photoTarget)],
  ])
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, keepAliveTimeout: 5_000 })
  const { maxStrangers = MAX_UNAUTHENTICATED_CONNECTIONS } = options
  const limiter = new ConnectionLimiter<Socket>({ maxUnauthenticated: maxStrangers })
  // A new connection is counted before the one that it replaces is closed.
  server.maxConnections = maxConnections + maxStrangers + 16
  server.on('connection', (socket: Socket) => limiter.accept(socket))
  server.on('request', (request, response) => {
    if (admitUnpipelinedRequest(limiter, request, response)) void serve(request, response)
  })

  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = readRequest(incoming)
    const { origin } = request.headers
    const handler = routes.get(request.path) ?? routes.get(`${request.path}/`)
    let answer: DeviceHttpAnswer
    if (origin !== undefined && !allowedOrigins.includes(origin)) {
      answer = createDeviceTextAnswer(403, 'not from a web page')
      const deviceId = parseDeviceId(request.headers['device-id'] ?? '')
      onRefused({ door: 'http', why: 'foreign-origin', deviceId, remoteAddress: request.remoteAddress })
    } else if (handler === undefined) answer = createDeviceTextAnswer(404, 'nothing here')
    else answer = await handler(request).catch(() => createDeviceTextAnswer(400, 'the request could not be read'))
    // The rest of a body that was not read would be taken for the next request.
    if (!incoming.complete) response.setHeader('Connection', 'close')
    response.writeHead(answer.status, {
      'Content-Type': answer.contentType,
      'Content-Length': Buffer.byteLength(answer.body),
      'X-Content-Type-Options': 'nosniff',
    })
    response.end(answer.body, () => {
      if (!incoming.complete) incoming.destroy()
    })
  }

  const devices: WebSocketDeviceServer = createWebSocketDeviceServer({
    server,
    acceptor,
    admit: registrar.admit,
    endpoint: { path: WEBSOCKET_PATH, allowedOrigins },
    maxConnections,
    limiter,
    onRefused,
    clock,
  })
  return {
    listen: (host, port) => startListening(server, { host, port }),
    connections: devices.connections,
    close: () => {
      devices.close()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function readRequest(incoming: IncomingMessage): DeviceHttpRequest {
  const [path = ''] = (incoming.url ?? '').split('?', 1)
  return {
    method: incoming.method ?? '',
    path,
    headers: joinRepeatedHeaders(incoming),
    remoteAddress: incoming.socket.remoteAddress ?? '',
    localAddress: incoming.socket.localAddress,
    body: (maxBytes, signal) => readBody(incoming, maxBytes, signal),
  }
}

/** Stops reading at the limit but keeps the connection open, so that the sender still gets an answer. */
function readBody(
  incoming: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else stop()
    })
    const stop = () => {
      incoming.pause()
      chunks.length = 0
      resolve(undefined)
    }
    signal?.addEventListener('abort', stop, { once: true })
    incoming.on('end', () => resolve(new Uint8Array(Buffer.concat(chunks))))
    incoming.on('error', () => resolve(undefined))
    incoming.on('close', () => resolve(undefined))
  })
}
