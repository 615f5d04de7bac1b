/**
 * Access point session: what is answered to a voice backend that uses this node's tools over a connection that the node
 * opened. The backend is the MCP client: plain JSON-RPC 2.0, one message in a text frame.
 *
 *   initialize (as often as it likes, ids of any kind) ▸ tools/list ▸ tools/call …      ping ▸ {}
 *
 * Backends read `content[0].text` aloud; several lose the text of a result that is an error, and cut or refuse long
 * answers. So a refusal is returned as text, and answers are short.
 */
import { canonicalJson, parseStrictJsonText, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { sanitizeLine } from '../core/untrusted-text.ts'
import { AccessPointCalls } from './access-point-calls.ts'
import type { AccessPointCallsOptions } from './access-point-calls.ts'
import { answerMcpRequest } from './answer-request.ts'
import type { RequestHandlingDependencies } from './answer-request.ts'
import type { McpAnswer } from './mcp-request.ts'
import type { McpCatalogue } from './catalogue.ts'
import type { FacePrincipal } from './face-bus.ts'
import type { McpServerInfo } from './mcp-results.ts'
import { INVALID_PARAMS_ERROR_CODE, INVALID_REQUEST_ERROR_CODE } from './protocol-error.ts'
import { parseMcpRequest } from './mcp-request.ts'
import { toSpokenResult } from './spoken-answer.ts'

export interface AccessPointSessionOptions {
  readonly answering: RequestHandlingDependencies
  readonly principal: FacePrincipal
  readonly catalogue: () => McpCatalogue
  readonly serverInfo: McpServerInfo
  readonly waiting: AccessPointCallsOptions
}

export interface AccessPointSession {
  /** The frame to send back; `undefined` where there is no answer. */
  readonly handle: (text: string) => Promise<string | undefined>
  /** Whether `initialize` was served: only then does the backend know this server. */
  readonly isInitialized: () => boolean
  /** Whether the tools differ from those that the backend read: it reads the list once per connection. */
  readonly hasStaleList: () => boolean
  /** The number of calls that are running. */
  readonly callsUnderWay: () => number
  /** Cancels every running call. */
  readonly close: () => void
}

/** Revisions whose messages are the same as far as tools are concerned; the first is the answer to any other. */
const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
const METHOD_NOT_FOUND = -32_601
const MAX_DESCRIPTION = 400
const MAX_FRAME_CHARACTERS = 262_144
const MAX_ID_CHARACTERS = 512
const MAX_CLIENT_NAME = 64

export function openAccessPointSession(options: AccessPointSessionOptions): AccessPointSession {
  const calls = new AccessPointCalls(options.waiting)
  let client: string | undefined
  let initialized = false
  let listed: string | undefined

  async function respond(method: string, params: JsonObject, id: Json): Promise<McpAnswer> {
    switch (method) {
      case 'initialize':
        initialized = true
        client = clientName(params)
        return { result: initializeResult(params, options.serverInfo) }
      case 'ping':
        return { result: {} }
      case 'tools/list':
        return { result: { tools: listTools() } }
      case 'tools/call':
        return callTool(params, id)
      default:
        return { error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method.slice(0, 64)}` } }
    }
  }

  function listTools(): JsonObject[] {
    const tools = leanTools(options.catalogue())
    listed = JSON.stringify(tools)
    return tools
  }

  async function callTool(given: JsonObject, id: Json): Promise<McpAnswer> {
    const params = withoutSerialNumber(given)
    const request = parseMcpRequest('tools/call', params)
    if (!request.ok) return { error: request.fault }
    const { principal } = options
    const answer = await calls.answer({
      id,
      fingerprint: canonicalJson({ name: params['name'] ?? null, arguments: params['arguments'] ?? {} }),
      run: (signal) =>
        answerMcpRequest(options.answering, request.value, {
          principal: client === undefined ? principal : { ...principal, client },
          catalogue: options.catalogue(),
          channel: 'access-point',
          signal,
          era: 'legacy',
          interaction: {},
        }),
    })
    return 'result' in answer ? { result: toSpokenResult(answer.result) } : answer
  }

  return {
    handle: async (text) => {
      if (text.length > MAX_FRAME_CHARACTERS) return undefined
      const read = parseStrictJsonText(text)
      if (!read.ok || !isJsonObject(read.value)) return undefined
      const { id, method } = read.value
      if (typeof method !== 'string') return undefined
      // Backends write absent parameters as null, too.
      const params = read.value['params'] ?? {}
      if (id === undefined || id === null) {
        if (method === 'notifications/cancelled' && isJsonObject(params)) calls.withdraw(params['requestId'] ?? null)
        return undefined
      }
      if (!isRequestId(id))
        return encodeAnswer(null, { error: { code: INVALID_REQUEST_ERROR_CODE, message: 'Invalid id' } })
      if (!isJsonObject(params))
        return encodeAnswer(id, { error: { code: INVALID_PARAMS_ERROR_CODE, message: 'params is not an object' } })
      return encodeAnswer(id, await respond(method, params, id))
    },
    isInitialized: () => initialized,
    hasStaleList: () => listed !== undefined && listed !== JSON.stringify(leanTools(options.catalogue())),
    callsUnderWay: () => calls.underWay,
    close: () => calls.withdrawAll(),
  }
}

/**
 * The vendor's cloud adds the serial number of the device that a person spoke to. No tool of this gateway has an
 * argument of that name, so it is removed.
 */
function withoutSerialNumber({ serialNumber: _beside, ...params }: JsonObject): JsonObject {
  if (!isJsonObject(params['arguments'])) return params
  const { serialNumber: _among, ...rest } = params['arguments']
  return { ...params, arguments: rest }
}

function isRequestId(id: Json): boolean {
  return typeof id === 'number' || (typeof id === 'string' && id.length <= MAX_ID_CHARACTERS)
}

function encodeAnswer(id: Json, answer: McpAnswer): string {
  return JSON.stringify({ jsonrpc: '2.0', id, ...answer })
}

function initializeResult({ protocolVersion }: JsonObject, serverInfo: McpServerInfo): JsonObject {
  const revision = REVISIONS.find((known) => known === protocolVersion) ?? REVISIONS[0]
  return {
    protocolVersion: revision,
    capabilities: { tools: {} },
    serverInfo: { name: serverInfo.name, version: serverInfo.version },
  }
}

function clientName({ clientInfo }: JsonObject): string | undefined {
  const name = isJsonObject(clientInfo) ? clientInfo['name'] : undefined
  return typeof name === 'string' ? sanitizeLine(name, MAX_CLIENT_NAME) : undefined
}

/** Names, short descriptions and plain schemas: a voice assistant has a small context, and no use for the rest. */
function leanTools(catalogue: McpCatalogue): JsonObject[] {
  const { tools } = catalogue.list('tools/list')
  return (Array.isArray(tools) ? tools.filter(isJsonObject) : []).map(({ name = '', description, inputSchema }) => ({
    name,
    description: typeof description === 'string' ? cut(description, MAX_DESCRIPTION) : '',
    inputSchema: inputSchema ?? { type: 'object' },
  }))
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`
}
