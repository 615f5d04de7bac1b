/**
 * Parameter headers: arguments that a tool wants repeated as HTTP headers (MCP 2026-07-28, Streamable HTTP,
 * "Custom Headers from Tool Parameters"), so that an intermediary can route without reading bodies.
 *
 *   { zone: { type: 'integer', 'x-mcp-header': 'Zone' } }   ⇒   Mcp-Param-Zone: 2
 *
 * An intermediary decides by the header and we act by the body, so the two must say the same; where they do not, the
 * call is answered with HeaderMismatch.
 *
 * Pure.
 */
import { fromBase64, fromUtf8 } from '../core/bytes.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Catalogue } from './catalogue.ts'
import { HEADER_MISMATCH } from './protocol-error.ts'
import type { ProtocolFault } from './protocol-error.ts'
import type { McpRequest } from './request.ts'

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
