/**
 * Legacy request: a request of the 2025 family as it stands in a POST to an open session, when it is plain: it asks for
 * one answer and not to hear how the work goes on.
 *
 * This reader only ever says yes. Whatever it does not recognise goes to the SDK.
 */
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import type { RequestId } from './modern-server.ts'
import type { RequestHeaders } from './request.ts'
import { MCP_METHODS } from './request.ts'

export interface LegacyRequest {
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
  readonly meta: JsonObject
}

const KEYS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params'])
const SERVED: ReadonlySet<string> = new Set(MCP_METHODS)
const NOTHING: JsonObject = {}

/** `revision` is the one that the session agreed on. */
export function readLegacyRequest(
  headers: RequestHeaders,
  body: Json | undefined,
  revision: string,
): LegacyRequest | undefined {
  if (!isJsonObject(body) || body['jsonrpc'] !== '2.0' || !Object.keys(body).every((key) => KEYS.has(key)))
    return undefined
  const { id, method, params = NOTHING } = body
  if ((typeof id !== 'string' && !Number.isSafeInteger(id)) || typeof method !== 'string') return undefined
  if (!SERVED.has(method) || !isJsonObject(params)) return undefined
  const { _meta: meta = NOTHING } = params
  if (!isJsonObject(meta) || meta['progressToken'] !== undefined || !acceptsBoth(headers['accept'])) return undefined
  const named = headers['mcp-protocol-version']
  if (named !== undefined && named !== revision) return undefined
  return { id: id as RequestId, method, params, meta }
}

/** Which request a client withdraws. */
export function readWithdrawnRequest(body: Json | undefined): RequestId | undefined {
  if (!isJsonObject(body) || body['method'] !== 'notifications/cancelled' || !isJsonObject(body['params']))
    return undefined
  const { requestId } = body['params']
  return typeof requestId === 'string' || typeof requestId === 'number' ? requestId : undefined
}

/** 2025-11-25, transports: a client must list both, because the server chooses. */
function acceptsBoth(accept: RequestHeaders[string]): boolean {
  return typeof accept === 'string' && accept.includes('application/json') && accept.includes('text/event-stream')
}
