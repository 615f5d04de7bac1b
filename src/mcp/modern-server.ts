/**
 * Modern server: revision 2026-07-28 over HTTP, without the SDK, for well-formed requests. Everything that a client
 * sends often is served here; the SDK serves the rest. A client cancels its request by closing the response.
 */
import type { ServerResponse } from 'node:http'
import type { JsonObject, Json } from '../core/json.ts'
import { answerMcpRequest } from './answer-request.ts'
import type { RequestHandlingDependencies } from './answer-request.ts'
import type { McpAnswer, RequestHeaders } from './mcp-request.ts'
import {
  decodeHeaderValue,
  findHeaderMismatchError,
  MCP_METHODS,
  parseMcpRequest,
  createCallerInteraction,
  readCallMeta,
} from './mcp-request.ts'
import { createServerInstructions } from './server-instructions.ts'
import { toHttpStatus } from './mcp-results.ts'
import type { ResultSerializer } from './mcp-results.ts'
import { createReplyTransport } from './reply-transport.ts'
import type { ReplyTransport } from './reply-transport.ts'
import { MCP_SERVER_CAPABILITIES } from './sdk-server.ts'
import type { AuthenticatedRequest } from './authenticated-request.ts'
import type { CallerInteraction } from '../bus/call.ts'
import { isJsonObject } from '../core/json.ts'
import { isLogLevel } from './log-level.ts'
import type { McpLogLevel } from './log-level.ts'

export interface ModernServerDependencies extends RequestHandlingDependencies {
  readonly text: ResultSerializer
  readonly keepAliveMs: number
}

const SERVED: ReadonlySet<string> = new Set([...MCP_METHODS, 'server/discover'])

export function isServedWithoutSdk({ method }: ModernRequest): boolean {
  return SERVED.has(method)
}

export async function serveModernRequest(
  serving: ModernServerDependencies,
  exchange: AuthenticatedRequest,
  modernRequest: ModernRequest,
): Promise<void> {
  const reply = createReplyTransport(exchange.response, serving)
  const answer = await answered(serving, exchange, { ...modernRequest, notify: reply.notify })
  if ('result' in answer) reply.finish(serving.text(modernRequest, answer.result))
  else
    reply.finish(
      JSON.stringify({ jsonrpc: '2.0', id: modernRequest.id, error: answer.error }),
      toHttpStatus(answer.error),
    )
}

async function answered(
  serving: ModernServerDependencies,
  exchange: AuthenticatedRequest,
  modernRequest: ModernRequest & Pick<ReplyTransport, 'notify'>,
): Promise<McpAnswer> {
  if (modernRequest.method === 'server/discover') return { result: discovered(exchange) }
  const parsed = parseMcpRequest(modernRequest.method, modernRequest.params)
  if (!parsed.ok) return { error: parsed.fault }
  const wanted = parsed.value
  const { principal, scope, catalogue, request, response } = exchange
  const { traceparent } = request.headers
  const mismatch =
    wanted.method === 'tools/call' ? findHeaderMismatchError(wanted, catalogue, request.headers) : undefined
  if (mismatch !== undefined) return { error: mismatch }
  return await answerMcpRequest(serving, wanted, {
    principal: modernRequest.clientName === undefined ? principal : { ...principal, client: modernRequest.clientName },
    catalogue,
    channel: 'mcp-http',
    era: 'modern',
    signal: withdrawal(response),
    ...readCallMeta(modernRequest.meta, { traceparent, node: scope.node }),
    interaction: { ...createCallerInteraction(modernRequest), ...modernRequest.clientInput },
  })
}

function discovered({ catalogue }: AuthenticatedRequest): JsonObject {
  return {
    supportedVersions: [MODERN_PROTOCOL_REVISION],
    capabilities: MCP_SERVER_CAPABILITIES,
    instructions: createServerInstructions(catalogue.view),
  }
}

/** Aborts when the client closes the response before it has all of it. */
function withdrawal(response: ServerResponse): AbortSignal {
  const withdrawn = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) withdrawn.abort()
  })
  return withdrawn.signal
}

// Modern request: a request of revision 2026-07-28 in an HTTP POST, if it is well-formed.
//
//   MCP-Protocol-Version: 2026-07-28    { "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
//   Mcp-Method: tools/call                  "name": "task_list", "arguments": {…},
//   Mcp-Name: task_list                     "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28", … } } }
//
// This reader only recognises such requests. All others go to the SDK, which makes every refusal; so a mistake here can
// cost time, but never skip a check.

export const MODERN_PROTOCOL_REVISION = '2026-07-28'

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'
const CLIENT_KEY = 'io.modelcontextprotocol/clientInfo'
const LOG_LEVEL_KEY = 'io.modelcontextprotocol/logLevel'
const TASK_KEY = 'io.modelcontextprotocol/related-task'

export type RequestId = string | number

export interface ModernRequest {
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
  readonly meta: JsonObject
  readonly progressToken: RequestId | undefined
  readonly logLevel: McpLogLevel | undefined
  readonly clientName: string | undefined
  readonly clientInput: Pick<CallerInteraction, 'clientCapabilities' | 'inputResponses' | 'requestState'>
}

/** The body field that the `Mcp-Name` header repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

export function readModernRequest(
  headers: RequestHeaders,
  body: Json,
  envelopes: AcceptedClientMetaCache,
): ModernRequest | undefined {
  if (!isJsonObject(body) || Object.keys(body).length !== 4 || body['jsonrpc'] !== '2.0') return undefined
  const { id, method, params } = body
  if (!isId(id) || typeof method !== 'string' || !isJsonObject(params) || !isJsonObject(params['_meta']))
    return undefined
  const meta = params['_meta']
  if (headers['mcp-protocol-version'] !== MODERN_PROTOCOL_REVISION || meta[VERSION_KEY] !== MODERN_PROTOCOL_REVISION)
    return undefined
  if (headers['mcp-method'] !== method || !nameAgrees(headers, method, params)) return undefined
  const {
    progressToken,
    [LOG_LEVEL_KEY]: logLevel,
    [CAPABILITIES_KEY]: clientCapabilities,
    [CLIENT_KEY]: client,
  } = meta
  if (!isJsonObject(clientCapabilities) || meta[TASK_KEY] !== undefined) return undefined
  if (progressToken !== undefined && !isId(progressToken)) return undefined
  if (logLevel !== undefined && !isLogLevel(logLevel)) return undefined
  if (!envelopes.accepted(clientCapabilities, client)) return undefined
  const { requestState, inputResponses } = params
  if (requestState !== undefined && typeof requestState !== 'string') return undefined
  if (inputResponses !== undefined && !isJsonObject(inputResponses)) return undefined
  return {
    id,
    method,
    params,
    meta,
    progressToken,
    logLevel,
    clientName: isJsonObject(client) && typeof client['name'] === 'string' ? client['name'] : undefined,
    clientInput: {
      clientCapabilities,
      ...(inputResponses === undefined ? {} : { inputResponses: filterInputResponses(inputResponses) }),
      ...(requestState === undefined ? {} : { requestState }),
    },
  }
}

/** Envelopes that the SDK has accepted before; a client sends the same one with every request. */
export interface AcceptedClientMetaCache {
  readonly accepted: (capabilities: JsonObject, client: Json | undefined) => boolean
  readonly remember: (body: Json) => void
}

const MAX_ENVELOPES = 256
/** A client with a larger one is served by the SDK. */
const MAX_ENVELOPE = 4_096

export function createAcceptedClientMetaCache(): AcceptedClientMetaCache {
  const known = new Set<string>()
  return {
    accepted: (capabilities, client) => known.has(JSON.stringify([capabilities, client])),
    remember: (body) => {
      const params = isJsonObject(body) ? body['params'] : undefined
      const meta = isJsonObject(params) ? params['_meta'] : undefined
      if (!isJsonObject(meta)) return
      const envelope = JSON.stringify([meta[CAPABILITIES_KEY], meta[CLIENT_KEY]])
      if (envelope.length > MAX_ENVELOPE) return
      if (known.size >= MAX_ENVELOPES) known.clear()
      known.add(envelope)
    },
  }
}

function nameAgrees(headers: RequestHeaders, method: string, params: JsonObject): boolean {
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined
  if (field === undefined) return true
  const header = headers['mcp-name']
  return typeof header === 'string' && typeof params[field] === 'string' && decodeHeaderValue(header) === params[field]
}

/**
 * A response must be the bare result. What looks like a whole JSON-RPC message is dropped, and the handler asks again.
 */
function filterInputResponses(responses: JsonObject): JsonObject {
  const results = Object.entries(responses).filter(
    ([, entry]) => isJsonObject(entry) && !('method' in entry) && !('result' in entry),
  )
  return Object.fromEntries(results)
}

function isId(value: Json | undefined): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}
