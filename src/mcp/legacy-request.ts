/**
 * Legacy request: a request of the 2025 revisions in a POST to an open session, if it is plain: it wants one answer and
 * no progress. This reader only recognises such requests; all others go to the SDK.
 */
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import type { RequestId } from './modern-server.ts'
import type { RequestHeaders } from './mcp-request.ts'
import { MCP_METHODS } from './mcp-request.ts'

export interface LegacyRequest {
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
  readonly meta: JsonObject
}

const KEYS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params'])
const SERVED: ReadonlySet<string> = new Set(MCP_METHODS)
const NOTHING: JsonObject = {}

/** `revision` is the one that the session negotiated. */
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

/** The id of the request that a client cancels. */
export function readCancelledRequestId(body: Json | undefined): RequestId | undefined {
  if (!isJsonObject(body) || body['method'] !== 'notifications/cancelled' || !isJsonObject(body['params']))
    return undefined
  const { requestId } = body['params']
  return typeof requestId === 'string' || typeof requestId === 'number' ? requestId : undefined
}

/** 2025-11-25, transports: a client must list both, because the server chooses. */
function acceptsBoth(accept: RequestHeaders[string]): boolean {
  return typeof accept === 'string' && accept.includes('application/json') && accept.includes('text/event-stream')
}
