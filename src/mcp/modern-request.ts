/**
 * Modern request: a request of revision 2026-07-28 as it stands in an HTTP POST, when nothing about it is odd.
 *
 *   MCP-Protocol-Version: 2026-07-28    { "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
 *   Mcp-Method: tools/call                  "name": "task_list", "arguments": {…},
 *   Mcp-Name: task_list                     "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28", … } } }
 *
 * This reader only ever says yes. Whatever it does not recognise goes to the SDK, which owns every refusal and its
 * exact words; so a mistake here can cost time and never a check.
 *
 * Pure, given the envelopes that the SDK has accepted before.
 */
import type { Interaction } from '../bus/call.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import { isLogLevel } from './log-level.ts'
import type { LogLevel } from './log-level.ts'
import { fromBase64, fromUtf8 } from '../core/bytes.ts'
import type { Catalogue } from './catalogue.ts'
import { HEADER_MISMATCH } from './protocol-error.ts'
import type { ProtocolFault } from './protocol-error.ts'
import type { McpRequest } from './request.ts'

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
  readonly logLevel: LogLevel | undefined
  readonly clientName: string | undefined
  readonly asked: Pick<Interaction, 'clientCapabilities' | 'inputResponses' | 'requestState'>
}

/** Which body field the `Mcp-Name` header repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

export function readModernRequest(headers: Headers, body: Json, envelopes: Envelopes): ModernRequest | undefined {
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
export interface Envelopes {
  readonly accepted: (capabilities: JsonObject, client: Json | undefined) => boolean
  readonly remember: (body: Json) => void
}

const MAX_ENVELOPES = 256
/** A client that says more about itself is served all the same, only not by hand. */
const MAX_ENVELOPE = 4_096

export function rememberedEnvelopes(): Envelopes {
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

function nameAgrees(headers: Headers, method: string, params: JsonObject): boolean {
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

// Parameter headers: arguments that a tool wants repeated as HTTP headers (MCP 2026-07-28, Streamable HTTP,
// "Custom Headers from Tool Parameters"), so that an intermediary can route without reading bodies.
//
//   { zone: { type: 'integer', 'x-mcp-header': 'Zone' } }   ⇒   Mcp-Param-Zone: 2
//
// An intermediary decides by the header and we act by the body, so the two must say the same; where they do not, the
// call is answered with HeaderMismatch.

export interface ParamHeader {
  readonly path: readonly string[]
  /** The name as declared, e.g. `Zone`. */
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean'
}

/** What Node gives: names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

const KEYWORD = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const DECIMAL = /^-?\d+(\.\d+)?$/

/** Only a chain of `properties` leads to a declaration that counts; `number` is not permitted but is still compared. */
export function paramHeaders(schema: unknown, path: readonly string[] = []): readonly ParamHeader[] {
  if (!isJsonObject(schema)) return []
  const { [KEYWORD]: name, type, properties } = schema
  const own: ParamHeader[] =
    path.length > 0 && typeof name === 'string' && TOKEN.test(name) && isComparable(type) ? [{ path, name, type }] : []
  if (!isJsonObject(properties)) return own
  return [...own, ...Object.entries(properties).flatMap(([key, inner]) => paramHeaders(inner, [...path, key]))]
}

/**
 * What disagrees, as header and sentence; `undefined` when nothing does. An absent or null argument expects no header.
 */
export function paramHeaderMismatch(
  declared: readonly ParamHeader[],
  args: JsonObject,
  headers: Headers,
): { readonly header: string; readonly body: string } | undefined {
  for (const { path, name, type } of declared) {
    const value = path.reduce<Json | undefined>((node, key) => (isJsonObject(node) ? node[key] : undefined), args)
    const said = spoken(value)
    if (said === undefined) continue
    const header = `Mcp-Param-${name}`
    const what = `${path.join('.')}=${JSON.stringify(value)}`
    const raw = headers[header.toLowerCase()]
    if (typeof raw !== 'string') return { header, body: `the body carries ${what} but the ${header} header is absent` }
    const text = decodeHeaderValue(raw)
    if (text === undefined) return { header, body: `the ${header} header carries an invalid Base64 sentinel value` }
    const numeric = (type === 'integer' || type === 'number') && typeof value === 'number' && DECIMAL.test(text)
    if (numeric ? Number(text) !== value : text !== said)
      return { header, body: `the ${header} header decodes to ${JSON.stringify(text)} but the body carries ${what}` }
  }
  return undefined
}

const SENTINEL_START = '=?base64?'
const SENTINEL_END = '?='

/** Header values that are not plain ASCII travel as `=?base64?…?=`. `undefined` for a sentinel that does not decode. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!value.startsWith(SENTINEL_START) || !value.endsWith(SENTINEL_END)) return value
  const bytes = fromBase64(value.slice(SENTINEL_START.length, -SENTINEL_END.length))
  return bytes === undefined ? undefined : fromUtf8(bytes)
}

function isComparable(type: unknown): type is ParamHeader['type'] {
  return type === 'string' || type === 'integer' || type === 'number' || type === 'boolean'
}

/** How a primitive is spelt in a header; `undefined` for what the schema will refuse anyway. */
function spoken(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number') return undefined
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value)
}

export function headerMismatch(
  { name, arguments: body }: Extract<McpRequest, { method: 'tools/call' }>,
  catalogue: Catalogue,
  headers: Headers,
): ProtocolFault | undefined {
  const entry = catalogue.tool(catalogue.canonicalTool(name) ?? name)
  const mismatch = entry === undefined ? undefined : paramHeaderMismatch(entry.headers, body, headers)
  if (mismatch === undefined) return undefined
  const message = `Bad Request: the request headers and body disagree: ${mismatch.body}`
  return { code: HEADER_MISMATCH, message, data: { mismatch } }
}
