/**
 * SDK HTTP server: the SDK's own way of serving 2026-07-28, for `subscriptions/listen` and for every request that is
 * not well-formed. A test also compares our own path with it.
 */
import { createMcpHandler, InMemoryServerEventBus } from '@modelcontextprotocol/server'
import type { AuthInfo, Server, ServerEvent } from '@modelcontextprotocol/server'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { McpCatalogue } from './catalogue.ts'
import type { ResourceChangeListeners } from './list-change-subscription.ts'
import { isRequestTooLongForMemory, MAX_STORED_REQUEST_CHARACTERS } from './stored-request-limit.ts'
import { INTERNAL_ERROR_CODE, INVALID_PARAMS_ERROR_CODE } from './protocol-error.ts'
import type { McpProtocolError } from './protocol-error.ts'
import { sendSerializedMessage } from './reply-transport.ts'
import type { AuthenticatedRequest } from './authenticated-request.ts'
import { handleWithWebHandler } from './web-handler-transport.ts'

export interface SdkHttpHandlerOptions {
  readonly createServer: (exchange: AuthenticatedRequest) => Server
  readonly log: Logger
  readonly keepAliveMs: number
  readonly maxSubscriptionsPerPrincipal: number
  /** Registered here while there are subscriptions. */
  readonly resourceListeners: ResourceChangeListeners
}

export interface SdkHttpHandler {
  readonly serve: (exchange: AuthenticatedRequest, body: Json) => Promise<void>
  readonly publish: (event: ServerEvent) => void
  readonly close: () => Promise<void>
}

export function createSdkHttpHandler(options: SdkHttpHandlerOptions): SdkHttpHandler {
  const events = new InMemoryServerEventBus()
  const subscriptions = new Map<string, number>()
  const handler = createMcpHandler(({ authInfo }) => options.createServer(readExchange(authInfo)), {
    legacy: 'reject',
    bus: events,
    keepAliveMs: options.keepAliveMs,
    onerror: (error) => options.log.debug({ err: error }, 'an MCP request was refused'),
  })

  function pass(exchange: AuthenticatedRequest, body: Json): Promise<void> {
    const authInfo = authInfoOf(exchange)
    return handleWithWebHandler(exchange, (request) => handler.fetch(request, { parsedBody: body, authInfo }))
  }

  function resourceUpdated(uri: string): void {
    events.publish({ kind: 'resource_updated', uri })
  }

  async function listen(exchange: AuthenticatedRequest, body: JsonObject): Promise<void> {
    const { id } = exchange.principal
    const open = subscriptions.get(id) ?? 0
    const refuse = (status: number, error: McpProtocolError): void => {
      const message = JSON.stringify({ jsonrpc: '2.0', id: body['id'] ?? null, error })
      sendSerializedMessage(exchange.response, { status, message })
    }
    if (isRequestTooLongForMemory(body))
      return refuse(413, {
        code: INVALID_PARAMS_ERROR_CODE,
        message: `A subscription has at most ${MAX_STORED_REQUEST_CHARACTERS} characters`,
      })
    if (open >= options.maxSubscriptionsPerPrincipal)
      return refuse(200, { code: INTERNAL_ERROR_CODE, message: 'Subscription limit reached' })
    subscriptions.set(id, open + 1)
    options.resourceListeners.add(resourceUpdated)
    try {
      await pass(exchange, body)
    } finally {
      const left = (subscriptions.get(id) ?? 1) - 1
      if (left === 0) subscriptions.delete(id)
      else subscriptions.set(id, left)
      if (subscriptions.size === 0) options.resourceListeners.delete(resourceUpdated)
    }
  }

  return {
    serve: (exchange, body) =>
      isJsonObject(body) && body['method'] === 'subscriptions/listen'
        ? listen(exchange, withVisibleResources(body, exchange.catalogue))
        : pass(exchange, body),
    publish: (event) => events.publish(event),
    close: () => handler.close(),
  }
}

/** A client is not notified of a resource that it may not read. */
function withVisibleResources(body: JsonObject, catalogue: McpCatalogue): JsonObject {
  const { params } = body
  const notifications = isJsonObject(params) ? params['notifications'] : undefined
  const uris = isJsonObject(notifications) ? notifications['resourceSubscriptions'] : undefined
  if (!isJsonObject(params) || !isJsonObject(notifications) || !Array.isArray(uris)) return body
  const visible = uris.filter((uri: Json) => typeof uri !== 'string' || catalogue.resource(uri) !== undefined)
  return { ...body, params: { ...params, notifications: { ...notifications, resourceSubscriptions: visible } } }
}

/** The SDK passes this to its factory unchanged; the credential itself is not included. */
function authInfoOf(exchange: AuthenticatedRequest): AuthInfo {
  return { token: '', clientId: exchange.principal.id, scopes: [], extra: { exchange } }
}

function readExchange(info: AuthInfo | undefined): AuthenticatedRequest {
  const exchange = info?.extra?.['exchange']
  if (exchange === undefined) throw new TypeError('an MCP request reached the SDK without its exchange')
  return exchange as AuthenticatedRequest
}
