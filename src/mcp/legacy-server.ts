/**
 * Legacy server: the 2025 revisions over HTTP, with sessions. Each session is one SDK server on one SDK transport,
 * bound to the principal and the endpoint that opened it.
 *
 *   initialize ─▶ session ─▶ POST…, GET (messages of the server) ─▶ DELETE, or no request for too long
 */
import { randomUUID } from 'node:crypto'
import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type { Server } from '@modelcontextprotocol/server'
import type { Clock } from '../core/clock.ts'
import { newUlid } from '../core/ids.ts'
import type { Json } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { RequestHandlingDependencies } from './answer-request.ts'
import type { McpCatalogue, McpEndpointScope } from './catalogue.ts'
import type { McpListKind, ResourceChangeListeners } from './list-change-subscription.ts'
import { createMcpConnectionState } from './mcp-connection-state.ts'
import type { McpConnectionState } from './mcp-connection-state.ts'
import type { FacePrincipal } from './face-bus.ts'
import { isRequestTooLongForMemory, MAX_STORED_REQUEST_CHARACTERS } from './stored-request-limit.ts'
import { readLegacyRequest, readCancelledRequestId } from './legacy-request.ts'
import { serveLegacyRequestWithoutSdk } from './legacy-without-sdk-server.ts'
import type { LegacyRequestDependencies, LegacyRequestSession } from './legacy-without-sdk-server.ts'
import { sendHttpRefusal } from './refusal-transport.ts'
import type { HttpRefusal } from './refusal-transport.ts'
import { createResultSerializer } from './mcp-results.ts'
import { announceListChange, announceResourceChange } from './sdk-server.ts'
import type { AuthenticatedRequest } from './authenticated-request.ts'
import { handleWithWebHandler } from './web-handler-transport.ts'

export interface LegacyServerOptions {
  readonly answering: RequestHandlingDependencies
  readonly createServer: (connection: McpConnectionState) => Server
  readonly catalogue: (principal: FacePrincipal, scope: McpEndpointScope) => McpCatalogue
  readonly clock: Clock
  readonly log: Logger
  readonly maxSessions: number
  readonly maxSessionsPerPrincipal: number
  readonly sessionIdleMs: number
  readonly keepAliveMs: number
  /** Registered here while there is a session. */
  readonly resourceListeners: ResourceChangeListeners
}

interface Session extends LegacyRequestSession {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly scope: McpEndpointScope
  /** Open requests and streams. While there are any, the session is not idle. */
  open: number
  /** How many of the open ones are requests. */
  working: number
  lastSeenMs: number
}

const SWEEP_MS = 30_000
const NO_SESSION: HttpRefusal = { status: 404, code: -32_001, message: 'Session not found' }
const WHICH_SESSION: HttpRefusal = { status: 400, message: 'Bad Request: Mcp-Session-Id header is required' }
const FULL: HttpRefusal = { status: 503, message: 'Too many sessions are open', headers: { 'retry-after': '60' } }
const TOO_LONG: HttpRefusal = {
  status: 413,
  message: `An initialize request has at most ${MAX_STORED_REQUEST_CHARACTERS} characters`,
}
const NO_BATCH: HttpRefusal = {
  status: 400,
  code: -32_600,
  message: 'Bad Request: batches ended with revision 2025-03-26',
}

export class LegacyMcpServer {
  readonly #options: LegacyServerOptions
  readonly #sessions = new Map<string, Session>()
  readonly #resourceUpdated = (uri: string): void => {
    for (const { server, connection } of this.#sessions.values())
      if (connection.subscriptions.has(uri)) announceResourceChange(server, uri)
  }
  readonly #sweeper: NodeJS.Timeout
  readonly #plain: LegacyRequestDependencies

  constructor(options: LegacyServerOptions) {
    this.#options = options
    const text = createResultSerializer((_, result) => result)
    this.#plain = { ...options.answering, text, keepAliveMs: options.keepAliveMs }
    this.#sweeper = setInterval(() => this.sweep(), SWEEP_MS)
    this.#sweeper.unref()
  }

  /** `body` is `undefined` for GET and DELETE. */
  async serve(exchange: AuthenticatedRequest, body: Json | undefined): Promise<void> {
    const id = exchange.request.headers['mcp-session-id']
    if (id === undefined && isInitializeRequest(body)) return this.#begin(exchange, body)
    if (typeof id !== 'string') return sendHttpRefusal(exchange.response, WHICH_SESSION)
    const session = this.#sessions.get(id)
    // A caller must not learn that somebody else's session exists.
    if (session === undefined || !isFor(session, exchange)) return sendHttpRefusal(exchange.response, NO_SESSION)
    const revision = session.server.getNegotiatedProtocolVersion() ?? ''
    if (Array.isArray(body) && revision !== '2025-03-26') return sendHttpRefusal(exchange.response, NO_BATCH)
    const plain = readLegacyRequest(exchange.request.headers, body, revision)
    const work = body === undefined ? 0 : 1
    await this.#during(session, work, async () => {
      const done =
        plain !== undefined &&
        (await serveLegacyRequestWithoutSdk(this.#plain, { ...exchange, session, sessionId: id }, plain))
      if (!done) await this.#pass(session, exchange, body)
    })
  }

  listChanged(kind: McpListKind): void {
    for (const { server } of this.#sessions.values()) announceListChange(server, kind)
  }

  /** Ends idle sessions. */
  sweep(): void {
    const longAgo = this.#options.clock.monotonic() - this.#options.sessionIdleMs
    for (const session of this.#sessions.values())
      if (session.open === 0 && session.lastSeenMs <= longAgo) void session.server.close()
  }

  /** Ends the sessions of a principal whose credential is no longer valid. */
  forget(principal: string): void {
    for (const { server, connection } of this.#sessions.values())
      if (connection.principal.id === principal) void server.close()
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()))
  }

  async #begin(exchange: AuthenticatedRequest, body: Json): Promise<void> {
    if (isRequestTooLongForMemory(body)) return sendHttpRefusal(exchange.response, TOO_LONG)
    if (!this.#makeRoom(exchange.principal)) return sendHttpRefusal(exchange.response, FULL)
    const { createServer, catalogue, keepAliveMs, clock, log } = this.#options
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      keepAliveMs,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session)
        this.#options.resourceListeners.add(this.#resourceUpdated)
      },
    })
    const { principal, scope } = exchange
    const connection = createMcpConnectionState({
      principal,
      channel: 'mcp-http',
      era: 'legacy',
      id: newUlid(),
      node: scope.node,
      catalogue: () => catalogue(principal, scope),
    })
    const server = createServer(connection)
    const underWay: Session['underWay'] = new Map()
    const lastSeenMs = clock.monotonic()
    const session: Session = { server, transport, connection, underWay, scope, open: 0, working: 0, lastSeenMs }
    server.onclose = () => {
      this.#sessions.delete(transport.sessionId ?? '')
      if (this.#sessions.size === 0) this.#options.resourceListeners.delete(this.#resourceUpdated)
      for (const request of underWay.values()) request.abort()
    }
    server.onerror = (error) => log.debug({ err: error }, 'an MCP session met an error')
    await server.connect(transport)
    await this.#during(session, 1, () => this.#pass(session, exchange, body))
    if (transport.sessionId === undefined) await server.close()
  }

  async #during(session: Session, work: 0 | 1, serve: () => Promise<void>): Promise<void> {
    session.open += 1
    session.working += work
    session.lastSeenMs = this.#options.clock.monotonic()
    try {
      await serve()
    } finally {
      session.open -= 1
      session.working -= work
      session.lastSeenMs = this.#options.clock.monotonic()
    }
  }

  async #pass(session: Session, exchange: AuthenticatedRequest, body: Json | undefined): Promise<void> {
    const withdrawn = readCancelledRequestId(body)
    if (withdrawn !== undefined) session.underWay.get(withdrawn)?.abort()
    await handleWithWebHandler(exchange, (request) => session.transport.handleRequest(request, { parsedBody: body }))
    // The SDK leaves the stream of a cancelled request open for ever.
    if (withdrawn !== undefined) session.transport.closeSSEStream(withdrawn)
  }

  /**
   * A client that abandons its sessions loses its own oldest, never another's. Sessions that only listen are ended
   * after those that do not: they may be abandoned as well, and a client that leaves its streams open must not keep the
   * next one out.
   */
  #makeRoom(principal: FacePrincipal): boolean {
    const { maxSessions, maxSessionsPerPrincipal } = this.#options
    const own = [...this.#sessions.values()].filter(({ connection }) => connection.principal.id === principal.id)
    if (this.#sessions.size < maxSessions && own.length < maxSessionsPerPrincipal) return true
    const silent = own.filter(({ working }) => working === 0).toSorted((a, b) => a.lastSeenMs - b.lastSeenMs)
    const oldest = silent.find(({ open }) => open === 0) ?? silent[0]
    if (oldest === undefined) return false
    this.#sessions.delete(oldest.transport.sessionId ?? '')
    void oldest.server.close()
    return true
  }
}

/** A token whose restrictions changed is another principal: its holder opens a new session. */
function isFor({ connection: { principal }, scope }: Session, exchange: AuthenticatedRequest): boolean {
  const { id, role, restrictions } = exchange.principal
  if (principal.id !== id || principal.role !== role) return false
  if (JSON.stringify(principal.restrictions) !== JSON.stringify(restrictions)) return false
  return (
    scope.profile === exchange.scope.profile &&
    scope.style === exchange.scope.style &&
    scope.node === exchange.scope.node
  )
}
