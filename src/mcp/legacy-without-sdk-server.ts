/**
 * Legacy without SDK: requests of the 2025 revisions that want one answer, served without the SDK. Most calls are such,
 * and the SDK takes ten times as long.
 *
 *   answer ─┬─▶ no notifications       application/json
 *           ├─▶ logged meanwhile       text/event-stream: the logs, then the result
 *           └─▶ the handler asks back  handed to the SDK with what is known so far: it asks the client and goes on
 */
import type { Server } from '@modelcontextprotocol/server'
import type { JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import { answerMcpRequest } from './answer-request.ts'
import type { RequestHandlingDependencies } from './answer-request.ts'
import type { McpAnswer, McpRequestContext } from './mcp-request.ts'
import { createCallerInteraction, readCallMeta, parseMcpRequest } from './mcp-request.ts'
import type { McpConnectionState, BufferedNotification } from './mcp-connection-state.ts'
import type { LegacyRequest } from './legacy-request.ts'
import type { RequestId } from './modern-server.ts'
import { createReplyTransport } from './reply-transport.ts'
import type { ResultSerializer } from './mcp-results.ts'
import type { AuthenticatedRequest } from './authenticated-request.ts'

export interface LegacyRequestDependencies extends RequestHandlingDependencies {
  readonly text: ResultSerializer
  readonly keepAliveMs: number
}

export interface LegacyRequestSession {
  readonly server: Server
  readonly connection: McpConnectionState
  /** Running requests, for cancellation by the client. */
  readonly underWay: Map<RequestId, AbortController>
}

export interface AuthenticatedSessionRequest extends AuthenticatedRequest {
  readonly session: LegacyRequestSession
  readonly sessionId: string
}

/** Further messages are dropped. */
const MAX_BUFFERED_NOTIFICATIONS = 1_000
/** A call that may take longer needs a stream from the start: clients do not wait long for the head of a response. */
const MAX_PLAIN_SECONDS = 60

/** `false`: the request is not plain after all, and the session's SDK server continues from what is known so far. */
export async function serveLegacyRequestWithoutSdk(
  serving: LegacyRequestDependencies,
  exchange: AuthenticatedSessionRequest,
  request: LegacyRequest,
): Promise<boolean> {
  const { session, sessionId, response } = exchange
  if (mayTakeLong(exchange, request)) return false
  const withdrawn = new AbortController()
  const notifications: BufferedNotification[] = []
  session.underWay.set(request.id, withdrawn)
  const found = await answered(
    serving,
    request,
    toRequestContext(exchange, request, { notifications, signal: withdrawn.signal }),
  )
  if (session.underWay.get(request.id) === withdrawn) session.underWay.delete(request.id)
  const reply = createReplyTransport(response, { ...serving, headers: { 'mcp-session-id': sessionId } })
  if (withdrawn.signal.aborted) {
    reply.abandon()
    return true
  }
  if ('result' in found && found.result['resultType'] === 'input_required') {
    session.connection.begun.set(request.id, { notifications, result: found.result })
    return false
  }
  for (const { method, params } of notifications) reply.notify(method, params)
  if ('result' in found) reply.finish(serving.text(request, found.result))
  else reply.finish(JSON.stringify({ jsonrpc: '2.0', id: request.id, error: found.error }))
  return true
}

function mayTakeLong({ catalogue }: AuthenticatedSessionRequest, { method, params: { name } }: LegacyRequest): boolean {
  if (method !== 'tools/call' || typeof name !== 'string') return false
  const entry = catalogue.tool(catalogue.canonicalTool(name) ?? name)
  return entry !== undefined && entry.offer.timeoutSeconds > MAX_PLAIN_SECONDS
}

async function answered(
  serving: LegacyRequestDependencies,
  { method, params }: LegacyRequest,
  context: McpRequestContext,
): Promise<McpAnswer> {
  const wanted = parseMcpRequest(method, params)
  return wanted.ok ? answerMcpRequest(serving, wanted.value, context) : { error: wanted.fault }
}

function toRequestContext(
  { session: { server, connection }, principal, catalogue, request }: AuthenticatedSessionRequest,
  { meta }: LegacyRequest,
  { notifications, signal }: { readonly notifications: BufferedNotification[]; readonly signal: AbortSignal },
): McpRequestContext {
  const client = server.getClientVersion()?.name
  const declared: unknown = server.getClientCapabilities()
  const notify = (method: string, params: JsonObject): void => {
    if (notifications.length < MAX_BUFFERED_NOTIFICATIONS) notifications.push({ method, params })
  }
  return {
    principal: client === undefined ? principal : { ...principal, client },
    catalogue,
    channel: connection.channel,
    era: 'legacy',
    connection: connection.id,
    signal,
    ...readCallMeta(meta, { traceparent: request.headers['traceparent'], node: connection.node }),
    interaction: {
      ...createCallerInteraction({ progressToken: undefined, logLevel: connection.logLevel, notify }),
      ...(isJsonObject(declared) ? { clientCapabilities: declared } : {}),
    },
  }
}
