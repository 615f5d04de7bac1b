/**
 * MCP request: who asks, and what MCP clients request in the revisions before and since 2026, with validated
 * parameters.
 */
import { isJsonObject } from '../core/json.ts'
import type { JsonObject, Json } from '../core/json.ts'
import type { McpCatalogue } from './catalogue.ts'
import type { CallChannel, CallerInteraction } from '../bus/call.ts'
import type { TaskOrSessionReference } from '../core/fault.ts'
import type { FaceCallOptions, FacePrincipal } from './face-bus.ts'
import { isLogLevelRequested } from './log-level.ts'
import type { McpLogLevel } from './log-level.ts'
import { HEADER_MISMATCH_ERROR_CODE, INVALID_PARAMS_ERROR_CODE } from './protocol-error.ts'
import type { McpProtocolError } from './protocol-error.ts'
import { fromBase64, fromUtf8 } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { parseTraceparent } from '../toolbox/traceparent.ts'
import type { TraceParent } from '../toolbox/traceparent.ts'

export const MCP_LIST_METHODS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'] as const
export type McpListMethod = (typeof MCP_LIST_METHODS)[number]

export type McpRequest =
  | { readonly method: McpListMethod; readonly cursor: string | undefined }
  | { readonly method: 'tools/call'; readonly name: string; readonly arguments: JsonObject }
  | { readonly method: 'resources/read'; readonly uri: string }
  | { readonly method: 'prompts/get'; readonly name: string; readonly arguments: JsonObject }
  | {
      readonly method: 'completion/complete'
      /** `undefined` for a resource template: those are matched, never enumerated. */
      readonly prompt: string | undefined
      readonly argument: string
      readonly typed: string
    }

/** Why parameters are refused that fit no request. */
const SHAPES: Readonly<Record<McpRequest['method'], string>> = {
  'tools/call': '"name" must be a string and "arguments", if given, an object',
  'resources/read': '"uri" must be a string',
  'prompts/get': '"name" must be a string and "arguments", if given, an object of strings',
  'completion/complete':
    '"ref" must name a prompt or a resource, and "argument" must have a "name" and a "value", both strings',
  'tools/list': '"cursor", if given, must be a string',
  'resources/list': '"cursor", if given, must be a string',
  'resources/templates/list': '"cursor", if given, must be a string',
  'prompts/list': '"cursor", if given, must be a string',
}

export function createInvalidParamsError(method: string, shape: string): McpProtocolError {
  return { code: INVALID_PARAMS_ERROR_CODE, message: `Invalid params for ${method}: ${shape}` }
}

export const MCP_METHODS: readonly McpRequest['method'][] = [
  ...MCP_LIST_METHODS,
  'tools/call',
  'resources/read',
  'prompts/get',
  'completion/complete',
]

/** Refuses any other method, and parameters that do not fit it. */
export function parseMcpRequest(method: string, params: JsonObject): Result<McpRequest, McpProtocolError> {
  const request = readRequest(method, params)
  if (request !== undefined) return ok(request)
  const shape = Object.hasOwn(SHAPES, method) ? SHAPES[method as McpRequest['method']] : 'they are not understood'
  return fail(createInvalidParamsError(method, shape))
}

function readRequest(method: string, params: JsonObject): McpRequest | undefined {
  const { name, uri, cursor, arguments: given = {} } = params
  switch (method) {
    case 'tools/call':
      return typeof name === 'string' && isJsonObject(given) ? { method, name, arguments: given } : undefined
    case 'resources/read':
      return typeof uri === 'string' ? { method, uri } : undefined
    case 'prompts/get':
      if (typeof name !== 'string' || !isJsonObject(given)) return undefined
      return Object.values(given).every(isText) ? { method, name, arguments: given } : undefined
    case 'completion/complete':
      return readCompletion(params)
    case 'tools/list':
    case 'resources/list':
    case 'resources/templates/list':
    case 'prompts/list':
      return cursor === undefined || typeof cursor === 'string' ? { method, cursor } : undefined
    default:
      return undefined
  }
}

function readCompletion({ ref, argument }: JsonObject): McpRequest | undefined {
  if (!isJsonObject(ref) || !isJsonObject(argument)) return undefined
  const { name, value } = argument
  if (typeof name !== 'string' || typeof value !== 'string') return undefined
  const request = { method: 'completion/complete', argument: name, typed: value } as const
  if (ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string') return { ...request, prompt: ref['name'] }
  if (ref['type'] === 'ref/resource' && typeof ref['uri'] === 'string') return { ...request, prompt: undefined }
  return undefined
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

// The caller, its endpoint, and what can reach it while the call runs, as MCP notifications.

export interface McpRequestContext {
  readonly principal: FacePrincipal
  readonly catalogue: McpCatalogue
  readonly channel: CallChannel
  readonly signal: AbortSignal
  readonly era: 'modern' | 'legacy'
  readonly trace?: TraceParent | undefined
  /** Identifies the connection to the router. This is never the secret that opens a session. */
  readonly connection?: string | undefined
  /** The node that shall answer, by id or name. */
  readonly node?: string | undefined
  readonly work?: TaskOrSessionReference | undefined
  readonly interaction: CallerInteraction
}

export type McpAnswer = { readonly result: JsonObject } | { readonly error: McpProtocolError }

export function toCallOptions({
  principal,
  channel,
  signal,
  trace,
  connection,
  node,
  work,
  interaction,
}: McpRequestContext): FaceCallOptions {
  const options = { caller: principal, channel, signal, interaction, sessionId: connection, node, work }
  return trace === undefined ? options : { ...options, ...trace }
}

/** What a request says of its call beside its parameters; `connection` says it for every request that does not. */
export function readCallMeta(
  meta: Readonly<Record<string, unknown>>,
  connection: { readonly traceparent: unknown; readonly node: string | undefined },
): Pick<McpRequestContext, 'trace' | 'node' | 'work'> {
  const trace = meta['traceparent'] ?? connection.traceparent
  return {
    trace: trace === undefined ? undefined : parseTraceparent(trace),
    node: readPinnedNode(meta, connection.node),
    work: readWorkReference(meta),
  }
}

export interface NotificationSink {
  readonly progressToken: string | number | undefined
  readonly logLevel: McpLogLevel | undefined
  readonly notify: (method: string, params: JsonObject) => void
}

/** Without a progress token there is no progress, without a level there are no logs. */
export function createCallerInteraction({
  progressToken,
  logLevel,
  notify,
}: NotificationSink): Pick<CallerInteraction, 'progress' | 'log'> {
  return {
    ...(progressToken === undefined ? {} : { progress: rising(progressToken, notify) }),
    ...(logLevel === undefined ? {} : { log: createLogSink(logLevel, notify) }),
  }
}

/** MCP, progress: the value must increase with each notification. Others are dropped. */
function rising(
  progressToken: string | number,
  notify: NotificationSink['notify'],
): NonNullable<CallerInteraction['progress']> {
  let last = -Infinity
  return (progress, total, message) => {
    if (!(progress > last)) return
    last = progress
    notify('notifications/progress', {
      progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    })
  }
}

function createLogSink(
  threshold: McpLogLevel,
  notify: NotificationSink['notify'],
): NonNullable<CallerInteraction['log']> {
  return (level, data, logger) => {
    if (!isLogLevelRequested(level, threshold)) return
    notify('notifications/message', { level, data, ...(logger === undefined ? {} : { logger }) })
  }
}

// Node pin: which node a request is for, if the caller names one. In three places, the most specific first:
//
//   arguments._node                  what a model can fill in; listed only where several nodes offer the tool
//   _meta["io.hearthbus/node"]       what a client's program can fill in
//   /mcp?node=…, hearthbus mcp --node    for a whole connection: its lists are that node's
//
// An invalid pin is never ignored: the call would run in another house than its caller meant.

export const PINNED_NODE_META_KEY = 'io.hearthbus/node'
export const PINNED_NODE_ARGUMENT_NAME = '_node'

const MAX_NODE = 128

/** The pin in a request's `_meta`, else that of the connection. An invalid value names no existing node. */
export function readPinnedNode(
  meta: Readonly<Record<string, unknown>>,
  otherwise: string | undefined,
): string | undefined {
  const given = meta[PINNED_NODE_META_KEY]
  if (given === undefined) return otherwise
  return toNodeName(given)
}

export interface ExtractedNodePin {
  readonly node: string | undefined
  readonly body: JsonObject
}

/** Removes the pin from a tool's arguments, unless the tool has an argument of that name itself. */
export function extractNodePinArgument(
  body: JsonObject,
  schema: unknown,
  otherwise: string | undefined,
): ExtractedNodePin {
  if (!Object.hasOwn(body, PINNED_NODE_ARGUMENT_NAME) || declares(schema)) return { node: otherwise, body }
  const { [PINNED_NODE_ARGUMENT_NAME]: given, ...rest } = body
  return { node: toNodeName(given), body: rest }
}

/**
 * The schema as a list shows it: with the pin where several nodes offer the tool and it has no such argument itself.
 */
export function addNodePinToSchema(schema: JsonObject, nodes: readonly string[]): JsonObject {
  const { properties = {} } = schema
  if (nodes.length < 2 || declares(schema) || !isJsonObject(properties)) return schema
  const pin: Json = {
    type: 'string',
    description: `Which node this is for: ${nodes.join(', ')}. Without it the usual one is chosen.`,
  }
  return { ...schema, properties: { ...properties, [PINNED_NODE_ARGUMENT_NAME]: pin } }
}

function declares(schema: unknown): boolean {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined
  return isJsonObject(properties) && Object.hasOwn(properties, PINNED_NODE_ARGUMENT_NAME)
}

function toNodeName(given: unknown): string {
  return (typeof given === 'string' ? given : JSON.stringify(given)).slice(0, MAX_NODE)
}

const TASK_META_KEY = 'io.hearthbus/task'
const SESSION_META_KEY = 'io.hearthbus/session'
/** The ids that the runtime creates are shorter than this. */
const MAX_WORK_ID = 128

/**
 * Values that are not text, empty or too long are left out: a mistake in `_meta` must not fail a call. The answer says
 * which were recorded.
 */
function readWorkReference(meta: Readonly<Record<string, unknown>>): TaskOrSessionReference | undefined {
  const [taskId, sessionId] = [workId(meta[TASK_META_KEY]), workId(meta[SESSION_META_KEY])]
  if (taskId === undefined && sessionId === undefined) return undefined
  return { ...(taskId === undefined ? {} : { taskId }), ...(sessionId === undefined ? {} : { sessionId }) }
}

function workId(given: unknown): string | undefined {
  return typeof given === 'string' && given !== '' && given.length <= MAX_WORK_ID && given.isWellFormed()
    ? given
    : undefined
}

// Parameter headers: arguments that a tool wants repeated as HTTP headers (MCP 2026-07-28, Streamable HTTP,
// "Custom Headers from Tool Parameters"), so that an intermediary can route without reading bodies.
//
//   { zone: { type: 'integer', 'x-mcp-header': 'Zone' } }   ⇒   Mcp-Param-Zone: 2
//
// An intermediary reads the header and we read the body, so the two must agree; where they do not, the call is answered
// with HeaderMismatch.

export interface ParamMirrorHeader {
  readonly path: readonly string[]
  /** The name as declared, e.g. `Zone`. */
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean'
}

/** Node's headers: names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

const KEYWORD = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const DECIMAL = /^-?\d+(\.\d+)?$/

/** Only a chain of `properties` leads to a valid declaration; `number` is not permitted but is compared as well. */
export function listParamMirrorHeaders(schema: unknown, path: readonly string[] = []): readonly ParamMirrorHeader[] {
  if (!isJsonObject(schema)) return []
  const { [KEYWORD]: name, type, properties } = schema
  const own: ParamMirrorHeader[] =
    path.length > 0 && typeof name === 'string' && TOKEN.test(name) && isComparable(type) ? [{ path, name, type }] : []
  if (!isJsonObject(properties)) return own
  return [
    ...own,
    ...Object.entries(properties).flatMap(([key, inner]) => listParamMirrorHeaders(inner, [...path, key])),
  ]
}

/**
 * The header that disagrees and a sentence; `undefined` when none does. An absent or null argument expects no header.
 */
export function findParamHeaderMismatch(
  declared: readonly ParamMirrorHeader[],
  args: JsonObject,
  headers: RequestHeaders,
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

/** Header values that are not plain ASCII are encoded as `=?base64?…?=`. `undefined` for one that does not decode. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!value.startsWith(SENTINEL_START) || !value.endsWith(SENTINEL_END)) return value
  const bytes = fromBase64(value.slice(SENTINEL_START.length, -SENTINEL_END.length))
  return bytes === undefined ? undefined : fromUtf8(bytes)
}

function isComparable(type: unknown): type is ParamMirrorHeader['type'] {
  return type === 'string' || type === 'integer' || type === 'number' || type === 'boolean'
}

/** A primitive as a header value; `undefined` for what the schema will refuse anyway. */
function spoken(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number') return undefined
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value)
}

export function findHeaderMismatchError(
  { name, arguments: body }: Extract<McpRequest, { method: 'tools/call' }>,
  catalogue: McpCatalogue,
  headers: RequestHeaders,
): McpProtocolError | undefined {
  const entry = catalogue.tool(catalogue.canonicalTool(name) ?? name)
  const mismatch = entry === undefined ? undefined : findParamHeaderMismatch(entry.headers, body, headers)
  if (mismatch === undefined) return undefined
  const message = `Bad Request: the request headers and body disagree: ${mismatch.body}`
  return { code: HEADER_MISMATCH_ERROR_CODE, message, data: { mismatch } }
}
