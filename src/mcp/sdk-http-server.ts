/**
 * SDK HTTP server: the SDK's own way of serving 2026-07-28, for `subscriptions/listen` and for every request that is
 * not as it should be. It also is the referee that our own path is compared with.
 */
import { createMcpHandler, InMemoryServerEventBus } from '@modelcontextprotocol/server'
import type { AuthInfo, Server, ServerEvent } from '@modelcontextprotocol/server'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { McpCatalogue } from './catalogue.ts'
import type { ResourceListeners } from './changes.ts'
import { isTooLongToKeep, MAX_KEPT_CHARACTERS } from './kept-request.ts'
import { INTERNAL_ERROR, INVALID_PARAMS } from './protocol-error.ts'
import type { ProtocolFault } from './protocol-error.ts'
import { sendJson } from './exchange-transport.ts'
import type { AuthenticatedRequest } from './authenticated-request.ts'
import { handleWebExchange } from './web-exchange-transport.ts'

export interface SdkHttpOptions {
  readonly createServer: (visit: AuthenticatedRequest) => Server
  readonly log: Logger
  readonly keepAliveMs: number
  readonly maxSubscriptionsPerPrincipal: number
  /** It is among them while somebody has a subscription. */
  readonly resourceListeners: ResourceListeners
}

export interface SdkHttpServer {
  readonly serve: (visit: AuthenticatedRequest, body: Json) => Promise<void>
  readonly publish: (event: ServerEvent) => void
  readonly close: () => Promise<void>
}

export function createSdkHttpServer(options: SdkHttpOptions): SdkHttpServer {
  const events = new InMemoryServerEventBus()
  const subscriptions = new Map<string, number>()
  const handler = createMcpHandler(({ authInfo }) => options.createServer(visitIn(authInfo)), {
    legacy: 'reject',
    bus: events,
    keepAliveMs: options.keepAliveMs,
    onerror: (error) => options.log.debug({ err: error }, 'an MCP request was refused'),
  })

  function pass(visit: AuthenticatedRequest, body: Json): Promise<void> {
    const authInfo = authInfoOf(visit)
    return handleWebExchange(visit, (request) => handler.fetch(request, { parsedBody: body, authInfo }))
  }

  function resourceUpdated(uri: string): void {
    events.publish({ kind: 'resource_updated', uri })
  }

  async function listen(visit: AuthenticatedRequest, body: JsonObject): Promise<void> {
    const { id } = visit.principal
    const open = subscriptions.get(id) ?? 0
    const refuse = (status: number, error: ProtocolFault): void => {
      const message = JSON.stringify({ jsonrpc: '2.0', id: body['id'] ?? null, error })
      sendJson(visit.response, { status, message })
    }
    if (isTooLongToKeep(body))
      return refuse(413, {
        code: INVALID_PARAMS,
        message: `A subscription has at most ${MAX_KEPT_CHARACTERS} characters`,
      })
    if (open >= options.maxSubscriptionsPerPrincipal)
      return refuse(200, { code: INTERNAL_ERROR, message: 'Subscription limit reached' })
    subscriptions.set(id, open + 1)
    options.resourceListeners.add(resourceUpdated)
    try {
      await pass(visit, body)
    } finally {
      const left = (subscriptions.get(id) ?? 1) - 1
      if (left === 0) subscriptions.delete(id)
      else subscriptions.set(id, left)
      if (subscriptions.size === 0) options.resourceListeners.delete(resourceUpdated)
    }
  }

  return {
    serve: (visit, body) =>
      isJsonObject(body) && body['method'] === 'subscriptions/listen'
        ? listen(visit, withVisibleResources(body, visit.catalogue))
        : pass(visit, body),
    publish: (event) => events.publish(event),
    close: () => handler.close(),
  }
}

/** Nobody is told about a resource that they could not read. */
function withVisibleResources(body: JsonObject, catalogue: McpCatalogue): JsonObject {
  const { params } = body
  const notifications = isJsonObject(params) ? params['notifications'] : undefined
  const uris = isJsonObject(notifications) ? notifications['resourceSubscriptions'] : undefined
  if (!isJsonObject(params) || !isJsonObject(notifications) || !Array.isArray(uris)) return body
  const visible = uris.filter((uri: Json) => typeof uri !== 'string' || catalogue.resource(uri) !== undefined)
  return { ...body, params: { ...params, notifications: { ...notifications, resourceSubscriptions: visible } } }
}

/** The SDK hands this through to its factory untouched; the credential itself stays with whoever checked it. */
function authInfoOf(visit: AuthenticatedRequest): AuthInfo {
  return { token: '', clientId: visit.principal.id, scopes: [], extra: { visit } }
}

function visitIn(info: AuthInfo | undefined): AuthenticatedRequest {
  const visit = info?.extra?.['visit']
  if (visit === undefined) throw new TypeError('an MCP request reached the SDK without its visitor')
  return visit as AuthenticatedRequest
}
