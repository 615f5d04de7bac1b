/**
 * HTTP server: the mesh listener. Calls come in here, and nothing else of the gateway can be reached through it.
 *
 *   POST /bus/v1/call                    sealed messages from members (and from holders of an invitation)
 *   GET  /bus/v1/packets                 switches a member's connection to packets
 *   GET  /manifest  /community/manifest  for clients with a member's certificate
 *   GET  /health  /ready                 for all clients   GET /metrics  for members and for this machine
 */
import { createServer } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { startListening, stopListening, sendJsonResponse } from '../../core/listen-server.ts'
import type { StreamFrame } from '../../bus/call.ts'
import type { JsonObject } from '../../core/json.ts'
import { isLoopback } from '../../core/loopback.ts'
import { admitUnpipelinedRequest, ConnectionLimiter } from '../../toolbox/connection-limiter.ts'
import { toMeshFaultJson } from '../mesh-answer.ts'
import { readTlsPeerId } from '../identity/self-signed-certificate.ts'
import type { InboundCallHandler } from '../inbound-calls.ts'
import { createMeshRefusal } from '../mesh-refusal.ts'
import type { PacketCallServer } from '../packets/packet-provider.ts'
import { CALL_HTTP_PATH, createHeaderFieldReader, SIGNATURE_HTTP_HEADER } from './envelope-headers.ts'
import { PacketLinkServer } from './packet-link-server.ts'
import type { TlsIdentity } from '../identity/self-signed-certificate.ts'
import { encodeSseEndEvent, encodeSseFrame } from './sse.ts'

export interface MeshHttpServerOptions {
  readonly host: string
  readonly port: number
  readonly tls: TlsIdentity
  readonly maxBodyBytes: number
  readonly inbound: InboundCallHandler
  readonly packets: PacketCallServer
  readonly views: MeshHttpViews
}

/** Data that can be read with a plain GET request. */
export interface MeshHttpViews {
  readonly isMember: (nodeId: string) => boolean
  readonly manifest: () => JsonObject | undefined
  readonly community: () => JsonObject | undefined
  readonly ready: () => { readonly ready: boolean; readonly [fact: string]: number | boolean }
  readonly metrics: () => Promise<{ readonly text: string; readonly contentType: string }>
}

export interface MeshHttpServer {
  readonly port: number
  readonly stop: () => Promise<void>
}

/**
 * HTTP does not know a connection before the TLS handshake is done, so a client that never finishes it would also delay
 * our stop.
 */
const HANDSHAKE_TIMEOUT_MS = 5_000
const HEADERS_TIMEOUT_MS = 10_000
/** How long a request may take to arrive; its answer may take as long as its deadline. */
const REQUEST_TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 65_000
const STOP_PATIENCE_MS = 1_000
const MAX_CONNECTIONS = 2_048
/**
 * A node opens at most 64 connections for messages and one for packets; all clients that are not members share this
 * limit.
 */
const MAX_CONNECTIONS_EACH = 256
const MAX_HANDSHAKES = 256
/** TCP probes detect a far end that lost its power, because a connection for packets may be idle. */
const PROBE_AFTER_MS = 30_000
const MAX_EXCESS = 8
/**
 * A client that is not a member can only send an invitation, and bodies are in memory before they are authenticated.
 */
const MAX_NON_MEMBER_BODY_BYTES = 65_536

interface Listener extends MeshHttpServerOptions {
  readonly limiter: ConnectionLimiter<Socket>
}

export async function startMeshHttpServer(options: MeshHttpServerOptions): Promise<MeshHttpServer> {
  const limiter = new ConnectionLimiter<Socket>({
    maxUnauthenticated: MAX_CONNECTIONS_EACH,
    maxPerPrincipal: MAX_CONNECTIONS_EACH,
  })
  const listener = { ...options, limiter }
  const server = createServer(
    {
      cert: options.tls.certificate,
      key: options.tls.key,
      minVersion: 'TLSv1.3',
      requestCert: true,
      // No authority signs the certificates; the key in a certificate is the node's identity.
      rejectUnauthorized: false,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
    },
    (request, response) => {
      if (!admitUnpipelinedRequest(limiter, request, response)) return
      answer(listener, request, response).catch(() => response.destroy())
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  limitHandshakes(server)
  server.on('secureConnection', (socket: TLSSocket) => {
    const member = memberAt(socket, options.views)
    if (member === undefined) limiter.accept(socket)
    else limiter.authenticate(socket, member)
  })
  const links = new PacketLinkServer({
    provider: options.packets,
    maxBodyBytes: options.maxBodyBytes,
    memberOf: ({ socket }) => memberAt(socket as TLSSocket, options.views),
  })
  server.on('upgrade', (request, socket, head: Buffer) => links.accept(request, socket, head))
  const port = await startListening(server, options)
  const stop = (): Promise<void> => {
    links.stop()
    return stopListening(server, STOP_PATIENCE_MS, () => links.destroy())
  }
  return { port, stop }
}

/** A connection that never begins its handshake counts as silent, too, and must not keep a new node out. */
function limitHandshakes(server: Server): void {
  const limiter = new ConnectionLimiter<Socket>({ maxUnauthenticated: MAX_HANDSHAKES })
  const shaking = new Map<string, Socket>()
  server.on('connection', (socket: Socket) => {
    const remote = remoteEnd(socket)
    shaking.set(remote, socket)
    socket.once('close', () => shaking.delete(remote))
    limiter.accept(socket)
  })
  server.on('secureConnection', (secure: TLSSocket) => {
    const socket = shaking.get(remoteEnd(secure))
    if (socket !== undefined) limiter.authenticate(socket, 'secure')
  })
}

function remoteEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

async function answer(options: Listener, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split('?')[0] ?? '/'
  if (path === CALL_HTTP_PATH) {
    if (request.method === 'POST') return call(options, request, response)
    return sendJsonResponse(response, 405, { error: 'bad_request', message: `${CALL_HTTP_PATH} is a POST.` })
  }
  if (request.method !== 'GET')
    return sendJsonResponse(response, 405, { error: 'bad_request', message: 'Only GET here.' })
  const { views } = options
  if (path === '/health') return sendJsonResponse(response, 200, { status: 'ok' })
  if (path === '/ready') {
    const ready = views.ready()
    return sendJsonResponse(response, ready.ready ? 200 : 503, ready)
  }
  const view = VIEWS[path]
  if (view === undefined) return sendJsonResponse(response, 404, { error: 'not_found', message: 'Nothing lives here.' })
  if (memberAt(request.socket as TLSSocket, views) === undefined && !(path === '/metrics' && isFromHere(request)))
    return sendJsonResponse(
      response,
      401,
      toMeshFaultJson(createMeshRefusal('unauthorized', 'stranger', 'Show a member’s certificate.')),
    )
  return view(views, response)
}

const VIEWS: Readonly<Record<string, (views: MeshHttpViews, response: ServerResponse) => Promise<void> | void>> = {
  '/manifest': ({ manifest }, response) => sendJsonResponse(response, 200, manifest() ?? {}),
  '/community/manifest': ({ community }, response) => sendJsonResponse(response, 200, community() ?? {}),
  '/metrics': async ({ metrics }, response) => {
    const { text, contentType } = await metrics()
    response.writeHead(200, { 'content-type': contentType }).end(text)
  },
}

async function call(options: Listener, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const controller = new AbortController()
  response.once('close', () => {
    // The response was closed before it was finished: the caller has gone, and the handler's signal aborts.
    if (!response.writableFinished) controller.abort(new DOMException('the caller went away', 'AbortError'))
  })
  const { maxBodyBytes, limiter, views } = options
  // A client that connected before its admission may be a member now, over the same connection.
  const isNonMember =
    limiter.isUnauthenticated(request.socket) && memberAt(request.socket as TLSSocket, views) === undefined
  const body = await readBody(request, isNonMember ? Math.min(maxBodyBytes, MAX_NON_MEMBER_BODY_BYTES) : maxBodyBytes)
  const proof = request.headers[SIGNATURE_HTTP_HEADER]
  const delivered = await options.inbound.receive(
    { field: createHeaderFieldReader(request.headers), proof: typeof proof === 'string' ? proof : '', body },
    { signal: controller.signal, emit: (frame) => writeFrame(response, frame) },
  )
  if (response.destroyed) return
  if (response.headersSent) {
    response.end(encodeSseEndEvent(delivered))
    return
  }
  // The rest of a body that was not read would be taken for the next request.
  if (body === undefined) response.setHeader('connection', 'close')
  const { status, text } = delivered
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    [SIGNATURE_HTTP_HEADER]: delivered.proof,
  })
  response.end(text)
}

/** Resolves when the socket has room again, so that a slow reader slows down the handler. */
function writeFrame(response: ServerResponse, frame: StreamFrame): Promise<void> {
  if (response.destroyed) return Promise.reject(new Error('the caller went away'))
  if (!response.headersSent)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  if (response.write(encodeSseFrame(frame))) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      response.off('drain', settle)
      response.off('close', settle)
      if (response.destroyed) reject(new Error('the caller went away'))
      else resolve()
    }
    response.once('drain', settle)
    response.once('close', settle)
  })
}

/**
 * Returns `undefined` when the body is too large. A large body is read to its end and discarded, within limits: a
 * sender whose connection is closed in the middle would not receive the reason.
 */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length
    if (length > maxBytes * MAX_EXCESS) return undefined
    if (length <= maxBytes) parts.push(part)
    else parts.length = 0
  }
  if (length > maxBytes) return undefined
  return parts.length === 1 ? parts[0] : Buffer.concat(parts)
}

function memberAt(socket: TLSSocket, { isMember }: MeshHttpViews): string | undefined {
  const id = readTlsPeerId(socket)
  return id !== undefined && isMember(id) ? id : undefined
}

function isFromHere({ socket }: IncomingMessage): boolean {
  return isLoopback(socket.remoteAddress ?? '')
}
