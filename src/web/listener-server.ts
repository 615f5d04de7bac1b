/**
 * Listener: the one HTTP server for agents and people. It checks the address of every request and passes it to the
 * handler of its path; it knows nothing of MCP, of the API or of the console.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { isIP } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { formatHttpUrl } from '../core/http-address.ts'
import { startListening, stopListening } from '../core/listen-server.ts'
import type { Logger } from '../core/logger.ts'
import { admitUnpipelinedRequest, ConnectionLimiter } from '../toolbox/connection-limiter.ts'

export interface HttpRoute {
  /** `/mcp` handles `/mcp`, `/mcp/…` and `/mcp?…`; `/` handles everything else. */
  readonly prefix: string
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>
}

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  readonly rules: AllowedHostRules
  readonly routes: readonly HttpRoute[]
  readonly logger: Logger
  /** How long a request may take to arrive completely; by default a minute. */
  readonly requestTimeoutMs?: number
  /** How long a client may read nothing of its answer; by default a minute. */
  readonly takingTimeoutMs?: number
  /** By default two thousand. */
  readonly maxConnections?: number
}

export interface HttpListener {
  readonly url: string
  readonly port: number
  readonly stop: () => Promise<void>
}

/** A client that sends its headers more slowly than this is disconnected. */
const HEADERS_TIMEOUT_MS = 20_000
/** Enough for the largest body over the slowest network; a client that sends byte by byte is disconnected. */
const REQUEST_TIMEOUT_MS = 60_000
/** Data that a client does not read stays in memory, so a client that stops reading is disconnected. */
const TAKING_TIMEOUT_MS = 60_000
/** How late the time-outs above may fire. */
const LATENESS_MS = 1_000
const KEEP_ALIVE_MS = 65_000
const STOP_PATIENCE_MS = 2_000
/** Files and devices need descriptors as well: unauthenticated connections must not use them all up. */
const MAX_CONNECTIONS = 2_048
/**
 * Headers that MCP clients send. Cookies are not among them: a page of another origin never acts as a signed-in person.
 */
const CORS_HEADERS =
  'accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, traceparent'

export async function startHttpListener(options: ListenerOptions): Promise<HttpListener> {
  // Longest prefix first, so that `/` comes last in whatever order they were given.
  const routes = options.routes.toSorted((a, b) => b.prefix.length - a.prefix.length)
  const { requestTimeoutMs: requestTimeout = REQUEST_TIMEOUT_MS, takingTimeoutMs = TAKING_TIMEOUT_MS } = options
  const limiter = new ConnectionLimiter<Socket>({ maxUnauthenticated: options.maxConnections ?? MAX_CONNECTIONS })
  /** The latest response on each connection. */
  const responses = new WeakMap<Duplex, ServerResponse>()
  const server = createServer(
    {
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeout),
      requestTimeout,
      connectionsCheckingInterval: Math.min(LATENESS_MS, requestTimeout),
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
    },
    (request, response) => {
      responses.set(request.socket, response)
      if (!admitUnpipelinedRequest(limiter, request, response)) return
      // The time-out starts only at the end of the answer, since streams have one of their own. Node restarts it
      // whenever the client reads something.
      response.once('prefinish', () => response.setTimeout(takingTimeoutMs, () => response.destroy()))
      dispatch({ routes, rules: options.rules }, request, response).catch((error: unknown) => {
        options.logger.error({ err: error, path: request.url }, 'a request failed')
        if (!response.headersSent)
          answer(response, 500, 'An internal error occurred. The log of the gateway has the details.')
        else response.destroy()
      })
    },
  )
  server.on('connection', (socket: Socket) => limiter.accept(socket))
  server.on('clientError', (error, socket) => hangUp(error, socket, responses.get(socket)))
  const port = await startListening(server, options)
  // A name may lead to more addresses than this one, at which another program may listen.
  const { address: bound } = server.address() as AddressInfo
  return { url: formatHttpUrl(bound, port), port, stop: () => stopListening(server, STOP_PATIENCE_MS) }
}

async function dispatch(
  { routes, rules }: Pick<ListenerOptions, 'routes' | 'rules'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { host, origin } = request.headers
  if (!isAllowedHost(host, rules)) {
    answer(response, 403, 'This host name is not one of ours. Add it to listen.allowedHosts if it should be.')
    return
  }
  if (!isAllowedOrigin(origin, host, rules)) {
    answer(response, 403, 'Pages from this origin may not talk to us. Add it to listen.allowedOrigins if they should.')
    return
  }
  if (origin !== undefined && rules.allowedOrigins.includes(origin)) {
    welcomeOrigin(response, origin)
    if (request.method === 'OPTIONS') {
      response.writeHead(204).end()
      return
    }
  }
  const route = routes.find(({ prefix }) => owns(prefix, request.url ?? '/'))
  if (route === undefined) {
    answer(
      response,
      404,
      'Nothing is served at this path. /mcp is for agents, /api for programs, /health for monitors.',
    )
    return
  }
  await route.handle(request, response)
}

/**
 * Sends CORS headers for origins that the owner configured only: a browser asks first whether the page may read the
 * answer.
 */
function welcomeOrigin(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('vary', 'origin')
  response.setHeader('access-control-allow-methods', 'GET, POST, DELETE')
  response.setHeader('access-control-allow-headers', CORS_HEADERS)
  response.setHeader('access-control-expose-headers', 'mcp-session-id, mcp-protocol-version')
}

function owns(prefix: string, url: string): boolean {
  if (prefix === '/') return true
  if (!url.startsWith(prefix)) return false
  const after = url[prefix.length]
  return after === undefined || after === '/' || after === '?'
}

function answer(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
  response.end(JSON.stringify({ ok: false, error: { code: status === 500 ? 'internal_error' : 'refused', message } }))
}

/** Invalid and incomplete requests are answered as well, unless an answer has begun. */
function hangUp(error: Error & { readonly code?: string }, socket: Duplex, response: ServerResponse | undefined): void {
  const hasBegun = response !== undefined && response.headersSent && !response.writableFinished
  if (!socket.writable || hasBegun) {
    socket.destroy()
    return
  }
  const [status, message] = COMPLAINTS[error.code ?? ''] ?? NO_REQUEST
  const body = JSON.stringify({ ok: false, error: { code: 'refused', message } })
  const head = `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n`
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

const NO_REQUEST = ['400 Bad Request', 'This is not an HTTP request.'] as const
const COMPLAINTS: Readonly<Record<string, readonly [status: string, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive. Nothing was done.'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers of the request are too large.'],
}

// Host check: whether a request is really meant for this server, and comes from a page that may use it.
//
// A page on the web can point a name of its own at 127.0.0.1 and have the visitor's browser send requests to us (DNS
// rebinding). It needs a name for that, so IP addresses are safe and names must be known ones.

export interface AllowedHostRules {
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
}

export function isAllowedHost(header: string | undefined, rules: AllowedHostRules): boolean {
  const name = knownHostName(header)
  if (name === undefined) return false
  return isIP(name) !== 0 || name === 'localhost' || rules.allowedHosts.includes(name)
}

/**
 * A request without Origin does not come from a browser, or comes from a page of ours. Otherwise the origin must be our
 * own, or allowed by the owner.
 */
export function isAllowedOrigin(
  origin: string | undefined,
  host: string | undefined,
  rules: AllowedHostRules,
): boolean {
  if (origin === undefined) return true
  if (rules.allowedOrigins.includes(origin)) return true
  const parsed = URL.parse(origin)
  return parsed !== null && host !== undefined && parsed.host === host.toLowerCase() && isAllowedHost(host, rules)
}

/** Why a listener that others can reach does not open. */
export function explainListenerWithoutToken(host: string): string {
  return `listen.host is ${host}, which others can reach, and there is no token yet. Make one first: hearthbus token create NAME --role agent.`
}

const HOST_NAMES = new Map<string, string | undefined>()
const MAX_HOST_NAMES = 64
const MAX_CACHED_HEADER = 256

/** Clients send the same header with every request, and parsing a URL takes long, so results are cached. */
function knownHostName(header: string | undefined): string | undefined {
  if (header === undefined || header.length > MAX_CACHED_HEADER) return hostName(header)
  if (HOST_NAMES.has(header)) return HOST_NAMES.get(header)
  const name = hostName(header)
  if (HOST_NAMES.size >= MAX_HOST_NAMES) HOST_NAMES.clear()
  HOST_NAMES.set(header, name)
  return name
}

/** `[::1]:7420` → `::1`; `Home.local:7420` → `home.local`; anything with a user or a path in it → `undefined`. */
function hostName(header: string | undefined): string | undefined {
  if (header === undefined || header === '' || /[@/?#\\\s]/.test(header)) return undefined
  const parsed = URL.parse(`http://${header}`)
  if (parsed === null) return undefined
  return parsed.hostname.replace(/^\[(.*)\]$/, '$1')
}
