/**
 * Listener: the one HTTP server for agents and people. It checks the address of every request and hands it to whoever
 * owns the path; it knows nothing of MCP, of the API or of the console.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { isIP } from 'node:net'
import { httpAddress } from '../core/http-address.ts'
import { isBeingAnswered, listenOn } from '../core/listen-server.ts'
import type { Logger } from '../core/logger.ts'
import { ConnectionLimiter } from '../toolbox/connection-limiter.ts'

export interface HttpRoute {
  /** `/mcp` owns `/mcp`, `/mcp/…` and `/mcp?…`; `/` owns what nobody else does. */
  readonly prefix: string
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>
}

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  readonly rules: HostRules
  readonly routes: readonly HttpRoute[]
  readonly logger: Logger
  /** A minute unless told: for a request to arrive whole, its body included. */
  readonly requestTimeoutMs?: number
  /** A minute unless told: for a client to take some of an answer that has been given. */
  readonly takingTimeoutMs?: number
  /** Two thousand unless told. */
  readonly maxConnections?: number
}

export interface HttpListener {
  readonly url: string
  readonly port: number
  readonly stop: () => Promise<void>
}

/** A client that sends its headers more slowly than this is not one of ours. */
const HEADERS_TIMEOUT_MS = 20_000
/** Enough for the largest body over the slowest network; a client that only drips is not one of ours. */
const REQUEST_TIMEOUT_MS = 60_000
/** What a client does not read stays in our memory; one that sleeps, or never meant to read, is cut off. */
const TAKING_TIMEOUT_MS = 60_000
/** How late the clocks above may be. */
const LATENESS_MS = 1_000
const KEEP_ALIVE_MS = 65_000
/** Files and devices need descriptors, too: strangers who only connect must not use them all up. */
const MAX_CONNECTIONS = 2_048
/**
 * What MCP clients send beyond the ordinary. Cookies are not among it: a page elsewhere never acts as a signed-in
 * person.
 */
const CORS_HEADERS =
  'accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, traceparent'

export async function startListener(options: ListenerOptions): Promise<HttpListener> {
  // Longest prefix first, so that `/` comes last whatever order they were given in.
  const routes = options.routes.toSorted((a, b) => b.prefix.length - a.prefix.length)
  const { requestTimeoutMs: requestTimeout = REQUEST_TIMEOUT_MS, takingTimeoutMs = TAKING_TIMEOUT_MS } = options
  const server = createServer(
    {
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeout),
      requestTimeout,
      connectionsCheckingInterval: Math.min(LATENESS_MS, requestTimeout),
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
    },
    (request, response) => {
      // From the end of the answer only: streams look after themselves. Node restarts the time whenever the client
      // takes something.
      response.once('prefinish', () => response.setTimeout(takingTimeoutMs, () => response.destroy()))
      dispatch({ routes, rules: options.rules }, request, response).catch((error: unknown) => {
        options.logger.error({ err: error, path: request.url }, 'a request failed')
        if (!response.headersSent) answer(response, 500, 'Something went wrong here. The log says what.')
        else response.destroy()
      })
    },
  )
  const limiter = new ConnectionLimiter<Duplex>({ maxUnauthenticated: options.maxConnections ?? MAX_CONNECTIONS })
  /** What was begun last on each connection. */
  const responses = new WeakMap<Duplex, ServerResponse>()
  server.on('connection', (socket: Duplex) => limiter.accept(socket))
  server.on('request', ({ socket }, response) => {
    responses.set(socket, response)
    limiter.recordActivity(socket, () => isBeingAnswered(response))
  })
  server.on('clientError', (error, socket) => hangUp(error, socket, responses.get(socket)))
  const port = await listenOn(server, options)
  return { url: httpAddress(options.host, port), port, stop: () => close(server) }
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
    answer(response, 404, 'Nothing lives here. /mcp is for agents, /api for programs, /health for monitors.')
    return
  }
  await route.handle(request, response)
}

/**
 * Only for origins that the owner named: a browser asks first, and has to be told that its page may read the answer.
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

/** What is no request, or never becomes one, is answered all the same, unless an answer has begun. */
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

const NO_REQUEST = ['400 Bad Request', 'This is no HTTP request.'] as const
const COMPLAINTS: Readonly<Record<string, readonly [status: string, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive. Nothing was done.'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers of the request are too large.'],
}

/** Idle connections go at once, busy ones when they are done, and nobody can keep us from stopping. */
function close(server: Server): Promise<void> {
  const impatience = setTimeout(() => server.closeAllConnections(), 2_000)
  return new Promise((resolve) => {
    server.close(() => {
      clearTimeout(impatience)
      resolve()
    })
    server.closeIdleConnections()
  })
}

// Host check: is this request really meant for us, and does it come from a page that may talk to us?
//
// A page on the web can point a name of its own at 127.0.0.1 and have the visitor's browser talk to us (DNS
// rebinding). It needs a name for that, so addresses are safe and names must be known ones.

export interface HostRules {
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
}

export function isAllowedHost(header: string | undefined, rules: HostRules): boolean {
  const name = hostName(header)
  if (name === undefined) return false
  return isIP(name) !== 0 || name === 'localhost' || rules.allowedHosts.includes(name)
}

/**
 * No Origin: not a browser, or a page asking its own server. Otherwise the origin is our own, or allowed by the owner.
 */
export function isAllowedOrigin(origin: string | undefined, host: string | undefined, rules: HostRules): boolean {
  if (origin === undefined) return true
  if (rules.allowedOrigins.includes(origin)) return true
  const parsed = URL.parse(origin)
  return parsed !== null && host !== undefined && parsed.host === host.toLowerCase() && isAllowedHost(host, rules)
}

/** Why a listener that others can reach does not open. */
export function noTokenSentence(host: string): string {
  return `listen.host is ${host}, which others can reach, and there is no token yet. Make one first: hearthbus token create NAME --role agent.`
}

/** `[::1]:7420` → `::1`; `Home.local:7420` → `home.local`; anything with a user or a path in it → `undefined`. */
function hostName(header: string | undefined): string | undefined {
  if (header === undefined || header === '' || /[@/?#\\\s]/.test(header)) return undefined
  const parsed = URL.parse(`http://${header}`)
  if (parsed === null) return undefined
  return parsed.hostname.replace(/^\[(.*)\]$/, '$1')
}
