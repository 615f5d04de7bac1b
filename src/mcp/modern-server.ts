/**
 * Modern server: revision 2026-07-28 over HTTP, by hand, for requests that are as they should be. Everything that a
 * client sends often takes this way; the SDK takes the rest.
 *
 * Closing the response is how such a client withdraws its request.
 */
import type { ServerResponse } from 'node:http'
import type { JsonObject, Json } from '../core/json.ts'
import { parseTraceparent } from '../toolbox/traceparent.ts'
import { answerRequest } from './answer-request.ts'
import type { RequestHandling } from './answer-request.ts'
import type { McpAnswer, RequestHeaders } from './request.ts'
import {
  decodeHeaderValue,
  findHeaderMismatch,
  MCP_METHODS,
  explainMalformedParams,
  readPinnedNode,
  readRequest,
  createInteraction,
  readWorkReference,
} from './request.ts'
import { instructionsFor } from './instructions.ts'
import { toHttpStatus } from './results.ts'
import type { ResultFormatter } from './results.ts'
import { INVALID_PARAMS } from './protocol-error.ts'
import { replyTransport } from './exchange-transport.ts'
import type { ReplyTransport } from './exchange-transport.ts'
import { MCP_CAPABILITIES } from './sdk-server.ts'
import type { AuthenticatedRequest } from './authenticated-request.ts'
import type { CallerInteraction } from '../bus/call.ts'
import { isJsonObject } from '../core/json.ts'
import { isLogLevel } from './log-level.ts'
import type { McpLogLevel } from './log-level.ts'

export interface ModernServing extends RequestHandling {
  readonly text: ResultFormatter
  readonly keepAliveMs: number
}

const SERVED: ReadonlySet<string> = new Set([...MCP_METHODS, 'server/discover'])

export function isServedWithoutSdk({ method }: ModernRequest): boolean {
  return SERVED.has(method)
}

export async function serveModern(
  serving: ModernServing,
  visit: AuthenticatedRequest,
  asked: ModernRequest,
): Promise<void> {
  const reply = replyTransport(visit.response, serving)
  const said = await answered(serving, visit, { ...asked, notify: reply.notify })
  if ('result' in said) reply.finish(serving.text(asked, said.result))
  else reply.finish(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error: said.error }), toHttpStatus(said.error))
}

async function answered(
  serving: ModernServing,
  visit: AuthenticatedRequest,
  asked: ModernRequest & Pick<ReplyTransport, 'notify'>,
): Promise<McpAnswer> {
  if (asked.method === 'server/discover') return { result: discovered(visit) }
  const wanted = readRequest(asked.method, asked.params)
  if (wanted === undefined) return { error: { code: INVALID_PARAMS, message: explainMalformedParams(asked.method) } }
  const { principal, door, catalogue, request, response } = visit
  const traceGiven = asked.meta['traceparent'] ?? request.headers['traceparent']
  const mismatch = wanted.method === 'tools/call' ? findHeaderMismatch(wanted, catalogue, request.headers) : undefined
  if (mismatch !== undefined) return { error: mismatch }
  return answerRequest(serving, wanted, {
    principal: asked.clientName === undefined ? principal : { ...principal, client: asked.clientName },
    catalogue,
    channel: 'mcp-http',
    era: 'modern',
    signal: withdrawal(response),
    trace: traceGiven === undefined ? undefined : parseTraceparent(traceGiven),
    node: readPinnedNode(asked.meta, door.node),
    work: readWorkReference(asked.meta),
    interaction: { ...createInteraction(asked), ...asked.asked },
  })
}

function discovered({ catalogue }: AuthenticatedRequest): JsonObject {
  return {
    supportedVersions: [MODERN_REVISION],
    capabilities: MCP_CAPABILITIES,
    instructions: instructionsFor(catalogue.view),
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

// Modern request: a request of revision 2026-07-28 as it stands in an HTTP POST, when nothing about it is odd.
//
//   MCP-Protocol-Version: 2026-07-28    { "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
//   Mcp-Method: tools/call                  "name": "task_list", "arguments": {…},
//   Mcp-Name: task_list                     "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28", … } } }
//
// This reader only ever says yes. Whatever it does not recognise goes to the SDK, which owns every refusal and its
// exact words; so a mistake here can cost time and never a check.

export const MODERN_REVISION = '2026-07-28'

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
  readonly asked: Pick<CallerInteraction, 'clientCapabilities' | 'inputResponses' | 'requestState'>
}

/** Which body field the `Mcp-Name` header repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

export function readModernRequest(
  headers: RequestHeaders,
  body: Json,
  envelopes: EnvelopeMemory,
): ModernRequest | undefined {
  if (!isJsonObject(body) || Object.keys(body).length !== 4 || body['jsonrpc'] !== '2.0') return undefined
  const { id, method, params } = body
  if (!isId(id) || typeof method !== 'string' || !isJsonObject(params) || !isJsonObject(params['_meta']))
    return undefined
  const meta = params['_meta']
  if (headers['mcp-protocol-version'] !== MODERN_REVISION || meta[VERSION_KEY] !== MODERN_REVISION) return undefined
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
    asked: {
      clientCapabilities,
      ...(inputResponses === undefined ? {} : { inputResponses: bareResponses(inputResponses) }),
      ...(requestState === undefined ? {} : { requestState }),
    },
  }
}

/** The SDK has judged such an envelope before; a client says the same about itself in every request. */
export interface EnvelopeMemory {
  readonly accepted: (capabilities: JsonObject, client: Json | undefined) => boolean
  readonly remember: (body: Json) => void
}

const MAX_ENVELOPES = 256
/** A client that says more about itself is served all the same, only not by hand. */
const MAX_ENVELOPE = 4_096

export function createEnvelopeMemory(): EnvelopeMemory {
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

/** An answer is the bare result. What looks like a whole JSON-RPC message is dropped, and the handler asks again. */
function bareResponses(responses: JsonObject): JsonObject {
  const bare = Object.entries(responses).filter(
    ([, entry]) => isJsonObject(entry) && !('method' in entry) && !('result' in entry),
  )
  return Object.fromEntries(bare)
}

function isId(value: Json | undefined): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}
