/**
 * HTTP server: MCP on the listener for agents and people. Host and Origin have been checked by the listener.
 *
 *   who asks ─▶ which endpoint ─▶ body ─▶ strict JSON ─┬─▶ 2026-07-28, as it should be ─▶ modern-server
 *                                                      ├─▶ 2025 family, with sessions  ─▶ legacy-server
 *                                                      └─▶ anything else: the SDK serves it, or says what is wrong
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { classifyInboundRequest } from '@modelcontextprotocol/server'
import type { Server } from '@modelcontextprotocol/server'
import type { Clock } from '../core/clock.ts'
import { systemClock } from '../core/clock.ts'
import type { Json } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { Result } from '../core/result.ts'
import { readJsonBody } from './reply-transport.ts'
import { createMcpCatalogueCache } from './catalogue.ts'
import { subscribeToMcpListChanges } from './list-change-subscription.ts'
import type { ResourceChangeListeners } from './list-change-subscription.ts'
import { createMcpConnectionState } from './mcp-connection-state.ts'
import type { McpConnectionState } from './mcp-connection-state.ts'
import { parseMcpEndpoint } from './catalogue.ts'
import type { FaceBus, FacePrincipal } from './face-bus.ts'
import { LegacyMcpServer } from './legacy-server.ts'
import {
  MODERN_PROTOCOL_REVISION,
  readModernRequest,
  createAcceptedClientMetaCache,
  isServedWithoutSdk,
  serveModernRequest,
} from './modern-server.ts'
import { createModernResultSerializer } from './mcp-results.ts'
import type { McpServerInfo } from './mcp-results.ts'
import type { McpProfilesByName } from './profile.ts'
import { sendHttpRefusal } from './refusal-transport.ts'
import { createSdkHttpHandler } from './sdk-http-server.ts'
import { createSdkServer } from './sdk-server.ts'
import { createRequestStateSeal } from './request-state-seal.ts'
import type { AuthenticatedRequest } from './authenticated-request.ts'

/** Why a request is not authenticated; `challenge` goes into WWW-Authenticate. */
export interface AuthenticationRefusal {
  readonly status: 401 | 403
  readonly message: string
  readonly challenge?: string
}

type Authenticate = (
  headers: IncomingHttpHeaders,
  remoteAddress: string | undefined,
) => Result<FacePrincipal, AuthenticationRefusal> | Promise<Result<FacePrincipal, AuthenticationRefusal>>

export interface McpHttpHandlerOptions {
  readonly bus: FaceBus
  readonly authenticate: Authenticate
  /** Counts one message; returns a sentence for a caller that sends too many, else `undefined`. */
  readonly tooMany?: (caller: string) => string | undefined
  readonly serverInfo: McpServerInfo
  readonly log: Logger
  readonly profiles?: McpProfilesByName
  readonly families?: readonly string[]
  readonly clock?: Clock
  readonly limits?: Partial<McpLimits>
}

interface McpLimits {
  readonly maxBodyBytes: number
  readonly maxSessions: number
  readonly maxSessionsPerPrincipal: number
  readonly sessionIdleMs: number
  readonly maxSubscriptionsPerPrincipal: number
  readonly keepAliveMs: number
}

const DEFAULT_LIMITS: McpLimits = {
  maxBodyBytes: 4_194_304,
  maxSessions: 256,
  maxSessionsPerPrincipal: 64,
  sessionIdleMs: 1_800_000,
  maxSubscriptionsPerPrincipal: 32,
  keepAliveMs: 15_000,
}

export interface McpHttpHandler {
  (request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Ends idle sessions. The server itself calls it twice a minute. */
  sweep: () => void
  /** Ends the sessions, streams and requests of a principal whose credential is no longer valid. */
  forget: (principal: string) => void
  /** Ends sessions and subscriptions; other running requests are still answered. */
  close: () => Promise<void>
}

export function createMcpHttpHandler(options: McpHttpHandlerOptions): McpHttpHandler {
  const { bus, authenticate, serverInfo, log, profiles = {}, families = [], clock = systemClock } = options
  const { tooMany = () => undefined } = options
  const limits = withShares({ ...DEFAULT_LIMITS, ...options.limits })
  const catalogues = createMcpCatalogueCache({ bus, profiles, families })
  const answering = { bus, stateSeal: createRequestStateSeal(clock), log }
  const modern = { ...answering, text: createModernResultSerializer(serverInfo), keepAliveMs: limits.keepAliveMs }
  const envelopes = createAcceptedClientMetaCache()
  const openResponses = createResponsesByPrincipal()
  const resourceListeners: ResourceChangeListeners = new Set()
  const createServer = (connection: McpConnectionState): Server => createSdkServer(answering, serverInfo, connection)

  const sdk = createSdkHttpHandler({
    ...limits,
    log,
    resourceListeners,
    createServer: ({ principal, scope }) =>
      createServer(
        createMcpConnectionState({
          principal,
          channel: 'mcp-http',
          era: 'modern',
          id: undefined,
          node: scope.node,
          catalogue: () => catalogues.current(principal, scope),
        }),
      ),
  })
  const legacy = new LegacyMcpServer({
    ...limits,
    clock,
    log,
    answering,
    createServer,
    resourceListeners,
    catalogue: catalogues.current,
  })
  const stopWatching = subscribeToMcpListChanges(bus, {
    onList: (kind) => {
      sdk.publish({ kind: `${kind}s_list_changed` })
      legacy.listChanged(kind)
    },
    onResource: (uri) => {
      for (const listener of resourceListeners) listener(uri)
    },
  })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const scope = parseMcpEndpoint(request.url ?? '/')
    if (!scope.ok) return sendHttpRefusal(response, scope.fault)
    const known = await authenticate(request.headers, request.socket.remoteAddress)
    if (!known.ok) return sendHttpRefusal(response, notAuthenticated(known.fault))
    const flood = tooMany(known.value.id)
    if (flood !== undefined) return sendHttpRefusal(response, { status: 429, message: flood })
    openResponses.enter(known.value.id, response)
    const catalogue = catalogues.find(known.value, scope.value)
    if (catalogue === 'no-such-profile')
      return sendHttpRefusal(response, {
        status: 404,
        message: 'There is no such profile. hearthbus profiles lists them.',
      })
    if (catalogue === 'not-for-this-token')
      return sendHttpRefusal(response, { status: 403, message: 'This token is not for this profile.' })
    const exchange: AuthenticatedRequest = { request, response, principal: known.value, scope: scope.value, catalogue }
    if (request.method === 'POST') return await post(exchange)
    // The 2025 revisions listen with GET and end a session with DELETE; 2026-07-28 has neither.
    const isOfSessions = request.method === 'GET' || request.method === 'DELETE'
    const isModern = request.headers['mcp-protocol-version'] === MODERN_PROTOCOL_REVISION
    if (isOfSessions && !isModern) return legacy.serve(exchange, undefined)
    const allow = isModern ? 'POST' : 'GET, POST, DELETE'
    sendHttpRefusal(response, { status: 405, message: 'Method not allowed.', headers: { allow } })
  }

  async function post(exchange: AuthenticatedRequest): Promise<void> {
    const read = await readJsonBody(exchange.request, limits.maxBodyBytes)
    if (read === undefined) return
    if (!read.ok) return sendHttpRefusal(exchange.response, read.fault)
    // The client disconnected while it was still sending, so its request is not processed.
    if (exchange.response.destroyed) return
    const body = read.value
    const flood = Array.isArray(body) ? floodIn(body, exchange.principal) : undefined
    if (flood !== undefined) return sendHttpRefusal(exchange.response, { status: 429, message: flood })
    const modernRequest = readModernRequest(exchange.request.headers, body, envelopes)
    if (modernRequest !== undefined && isServedWithoutSdk(modernRequest))
      return await serveModernRequest(modern, exchange, modernRequest)
    return await classified(exchange, body)
  }

  /** A batch counts as many messages as it has; the first was counted when it arrived. */
  function floodIn(batch: readonly Json[], { id }: FacePrincipal): string | undefined {
    for (let message = 1; message < batch.length; message++) {
      const flood = tooMany(id)
      if (flood !== undefined) return flood
    }
    return undefined
  }

  async function classified(exchange: AuthenticatedRequest, body: Json): Promise<void> {
    const verdict = classifyInboundRequest({ httpMethod: 'POST', ...standardHeaders(exchange.request.headers), body })
    if (verdict.kind === 'legacy') return legacy.serve(exchange, body)
    if (verdict.kind === 'modern' && verdict.messageKind === 'request') {
      envelopes.remember(body)
      const modernRequest = readModernRequest(exchange.request.headers, body, envelopes)
      if (modernRequest !== undefined && isServedWithoutSdk(modernRequest))
        return serveModernRequest(modern, exchange, modernRequest)
    }
    return sdk.serve(exchange, body)
  }

  return Object.assign(handle, {
    sweep: () => legacy.sweep(),
    forget: (principal: string) => {
      legacy.forget(principal)
      openResponses.destroyAll(principal)
    },
    close: async () => {
      stopWatching()
      await Promise.all([sdk.close(), legacy.close()])
    },
  })
}

/** However few sessions the owner allows, no single caller can have all of them, unless there is only one. */
function withShares(limits: McpLimits): McpLimits {
  const share = Math.max(1, Math.ceil(limits.maxSessions / 2))
  return { ...limits, maxSessionsPerPrincipal: Math.min(limits.maxSessionsPerPrincipal, share) }
}

function notAuthenticated({ status, message, challenge }: AuthenticationRefusal) {
  return { status, message, ...(challenge === undefined ? {} : { headers: { 'www-authenticate': challenge } }) }
}

function standardHeaders(headers: IncomingHttpHeaders) {
  const {
    'mcp-protocol-version': protocolVersionHeader,
    'mcp-method': mcpMethodHeader,
    'mcp-name': mcpNameHeader,
  } = headers
  return {
    ...(typeof protocolVersionHeader === 'string' ? { protocolVersionHeader } : {}),
    ...(typeof mcpMethodHeader === 'string' ? { mcpMethodHeader } : {}),
    ...(typeof mcpNameHeader === 'string' ? { mcpNameHeader } : {}),
  }
}

// Open requests: the running requests by principal, so that those of a credential that ends can be closed. To the
// client this is a disconnection: its streams end and its calls are cancelled.

export interface ResponsesByPrincipal {
  /** Tracks a request until its response is closed. */
  readonly enter: (principal: string, response: ServerResponse) => void
  readonly destroyAll: (principal: string) => void
}

export function createResponsesByPrincipal(): ResponsesByPrincipal {
  const inside = new Map<string, Set<ServerResponse>>()
  return {
    enter: (principal, response) => {
      const others = inside.get(principal)
      const own = others ?? new Set<ServerResponse>()
      if (others === undefined) inside.set(principal, own)
      own.add(response)
      response.once('close', () => {
        own.delete(response)
        if (own.size === 0 && inside.get(principal) === own) inside.delete(principal)
      })
    },
    destroyAll: (principal) => {
      for (const response of inside.get(principal) ?? []) response.destroy()
    },
  }
}
