/**
 * SDK server: the MCP SDK's low-level server, wired to our answers. It serves the 2025 family, stdio, and the rare
 * requests of 2026-07-28 that our own path leaves to it. Cheap to create, because catalogues are cached elsewhere.
 *
 * Does I/O through the transport that it is connected to.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  Server,
} from '@modelcontextprotocol/server'
import type { ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { CallerInteraction } from '../bus/call.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import { answerMcpRequest } from './answer-request.ts'
import type { RequestHandlingDependencies } from './answer-request.ts'
import type { McpRequestContext, McpRequest } from './mcp-request.ts'
import {
  createCallerInteraction,
  createInvalidParamsError,
  findHeaderMismatchError,
  MCP_METHODS,
  parseMcpRequest,
  readCallMeta,
} from './mcp-request.ts'
import { MAX_RESOURCE_URI_LENGTH } from './catalogue.ts'
import type { McpListKind } from './list-change-subscription.ts'
import type { McpConnectionState } from './mcp-connection-state.ts'
import { createServerInstructions } from './server-instructions.ts'
import { isLogLevel, MCP_LOG_LEVELS } from './log-level.ts'
import { CACHE_HINTS_BY_METHOD } from './mcp-results.ts'
import type { McpServerInfo } from './mcp-results.ts'
import { INVALID_PARAMS_ERROR_CODE, SERVER_ERROR_CODE } from './protocol-error.ts'
import type { McpProtocolError } from './protocol-error.ts'

export const MCP_SERVER_CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  // Deprecated in 2026-07-28; clients of the 2025 revisions still set a level.
  logging: {},
}

const MAX_SUBSCRIPTIONS = 256
const anything = z.looseObject({})

export function createSdkServer(
  parts: RequestHandlingDependencies,
  serverInfo: McpServerInfo,
  connection: McpConnectionState,
): Server {
  const server = new Server(
    { ...serverInfo },
    {
      capabilities: MCP_SERVER_CAPABILITIES,
      instructions: createServerInstructions(connection.catalogue().view),
      cacheHints: CACHE_HINTS_BY_METHOD,
    },
  )
  for (const method of MCP_METHODS)
    // With a schema of our own: the SDK's answer to invalid parameters would be an internal error.
    server.setRequestHandler(method, { params: anything }, (params, context) => {
      const begun = continued(connection, context)
      if (begun !== undefined) return begun
      const request = parseMcpRequest(method, params as JsonObject)
      if (!request.ok) throw toSdkError(request.fault)
      const requestContext = toRequestContext(connection, server, context)
      checkHeaders(request.value, requestContext, context)
      return respond(parts, request.value, requestContext)
    })
  server.setRequestHandler('logging/setLevel', { params: anything }, ({ level }) => {
    if (!isLogLevel(level)) throw wrongParams('logging/setLevel', `"level" is one of ${MCP_LOG_LEVELS.join(', ')}`)
    connection.logLevel = level
    return {}
  })
  server.setRequestHandler('resources/subscribe', { params: anything }, ({ uri }) => subscribe(connection, uri))
  server.setRequestHandler('resources/unsubscribe', { params: anything }, ({ uri }) => {
    if (typeof uri !== 'string') throw wrongParams('resources/unsubscribe', URI_SHAPE)
    connection.subscriptions.delete(uri)
    return {}
  })
  return server
}

export function announceListChange(server: Server, kind: McpListKind): void {
  if (kind === 'tool') unheard(server.sendToolListChanged())
  else if (kind === 'prompt') unheard(server.sendPromptListChanged())
  else unheard(server.sendResourceListChanged())
}

export function announceResourceChange(server: Server, uri: string): void {
  unheard(server.sendResourceUpdated({ uri }))
}

/** The answer of a handler that was called before; the SDK continues from there. */
function continued({ begun }: McpConnectionState, { mcpReq }: ServerContext): JsonObject | undefined {
  const known = begun.get(mcpReq.id)
  if (known === undefined) return undefined
  begun.delete(mcpReq.id)
  for (const { method, params } of known.notifications) unheard(mcpReq.notify({ method, params: { ...params } }))
  return known.result
}

/** The SDK compares headers only for tools that are registered with it. Our own path has compared them before. */
function checkHeaders(request: McpRequest, { era, catalogue }: McpRequestContext, { http }: ServerContext): void {
  if (era !== 'modern' || request.method !== 'tools/call' || http?.req === undefined) return
  const mismatch = findHeaderMismatchError(request, catalogue, Object.fromEntries(http.req.headers))
  if (mismatch !== undefined) throw toSdkError(mismatch)
}

async function respond(
  parts: RequestHandlingDependencies,
  request: McpRequest,
  requestContext: McpRequestContext,
): Promise<JsonObject> {
  const answer = await answerMcpRequest(parts, request, requestContext)
  if ('result' in answer) return answer.result
  throw toSdkError(answer.error)
}

function toSdkError({ code, message, data }: McpProtocolError): ProtocolError {
  return new ProtocolError(code, message, data)
}

const URI_SHAPE = '"uri" must be a string'

function wrongParams(method: string, shape: string): ProtocolError {
  return toSdkError(createInvalidParamsError(method, shape))
}

function subscribe({ catalogue, subscriptions }: McpConnectionState, uri: unknown): Record<string, never> {
  if (typeof uri !== 'string') throw wrongParams('resources/subscribe', URI_SHAPE)
  if (catalogue().resource(uri) === undefined) {
    const shown = uri.slice(0, MAX_RESOURCE_URI_LENGTH)
    throw new ProtocolError(INVALID_PARAMS_ERROR_CODE, `Resource not found: ${shown}`, { uri: shown })
  }
  if (subscriptions.size >= MAX_SUBSCRIPTIONS)
    throw new ProtocolError(
      SERVER_ERROR_CODE,
      `No more than ${MAX_SUBSCRIPTIONS} resources can be subscribed to at once`,
    )
  subscriptions.add(uri)
  return {}
}

function toRequestContext(connection: McpConnectionState, server: Server, context: ServerContext): McpRequestContext {
  const { mcpReq, http } = context
  const meta: Readonly<Record<string, unknown>> = mcpReq._meta ?? {}
  const client = clientNameIn({ ...mcpReq.envelope }) ?? server.getClientVersion()?.name
  return {
    principal: client === undefined ? connection.principal : { ...connection.principal, client },
    catalogue: connection.catalogue(),
    channel: connection.channel,
    era: connection.era,
    connection: connection.id,
    signal: mcpReq.signal,
    ...readCallMeta(meta, { traceparent: http?.req?.headers.get('traceparent'), node: connection.node }),
    interaction: interactionOf(connection, server, context),
  }
}

/** Without a handshake, every request of the 2026 revision contains the client's name. */
function clientNameIn(envelope: Readonly<Record<string, unknown>>): string | undefined {
  const client = envelope[CLIENT_INFO_META_KEY]
  const name = typeof client === 'object' && client !== null && 'name' in client ? client.name : undefined
  return typeof name === 'string' ? name : undefined
}

function interactionOf(connection: McpConnectionState, server: Server, { mcpReq }: ServerContext): CallerInteraction {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope }
  const declared = envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities()
  const wanted = connection.era === 'modern' ? envelope[LOG_LEVEL_META_KEY] : connection.logLevel
  const progressToken = mcpReq._meta?.progressToken
  const requestState = mcpReq.requestState()
  const responses = mcpReq.inputResponses as Json | undefined
  return {
    ...createCallerInteraction({
      progressToken,
      logLevel: isLogLevel(wanted) ? wanted : undefined,
      notify: (method, params) => unheard(mcpReq.notify({ method, params: { ...params } })),
    }),
    ...(isJsonObject(declared) ? { clientCapabilities: declared } : {}),
    ...(isJsonObject(responses) ? { inputResponses: responses } : {}),
    ...(typeof requestState === 'string' ? { requestState } : {}),
  }
}

/** A client that does not listen, or no longer listens, must not cause an error here. */
function unheard(sent: Promise<void>): void {
  sent.catch(() => undefined)
}
