/**
 * Access point session: what is answered to a voice backend that uses this node's tools over a connection that the node
 * opened. The backend is the MCP client: plain JSON-RPC 2.0, one message in a text frame.
 *
 *   initialize (as often as it likes, ids of any kind) ▸ tools/list ▸ tools/call …      ping ▸ {}
 *
 * Backends read `content[0].text` aloud; several lose the text of a result that is an error, and cut or refuse long
 * answers. So a refusal is returned as text, and answers are short.
 *
 * Pure, given its bus and its clock.
 */
import { parseStrictJsonText, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { answerMcpRequest } from './answer-request.ts'
import type { RequestHandlingDependencies } from './answer-request.ts'
import type { McpAnswer } from './mcp-request.ts'
import type { McpCatalogue } from './catalogue.ts'
import type { FacePrincipal } from './face-bus.ts'
import type { McpServerInfo } from './mcp-results.ts'
import { INVALID_PARAMS_ERROR_CODE } from './protocol-error.ts'
import { explainMalformedParams, parseMcpRequest } from './mcp-request.ts'

export interface AccessPointSessionOptions {
  readonly answering: RequestHandlingDependencies
  readonly principal: FacePrincipal
  readonly catalogue: () => McpCatalogue
  readonly serverInfo: McpServerInfo
  /** Resolves to `late` when a voice conversation cannot wait any longer for an answer. */
  readonly patience: () => Promise<typeof LATE_ANSWER_MARK>
}

export interface AccessPointSession {
  /** The frame to send back; `undefined` where there is no answer. */
  readonly handle: (text: string) => Promise<string | undefined>
  /** Whether `initialize` was served: only then does the backend know this server. */
  readonly isInitialized: () => boolean
  /** Whether the tools differ from those that the backend read: it reads the list once per connection. */
  readonly hasStaleList: () => boolean
  /** Cancels every running call. */
  readonly close: () => void
}

export const LATE_ANSWER_MARK = Symbol('late')

/** Revisions whose messages are the same as far as tools are concerned; the first is the answer to any other. */
const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
const METHOD_NOT_FOUND = -32_601
/** The cloud accepts 8,192 bytes, including what is around the text. */
const MAX_ANSWER_BYTES = 7_600
const MAX_DESCRIPTION = 400
const MAX_FRAME_CHARACTERS = 262_144

export function openAccessPointSession(options: AccessPointSessionOptions): AccessPointSession {
  const underWay = new Map<string, AbortController>()
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

  async function callTool(params: JsonObject, id: Json): Promise<McpAnswer> {
    const request = parseMcpRequest('tools/call', params)
    if (request === undefined)
      return { error: { code: INVALID_PARAMS_ERROR_CODE, message: explainMalformedParams('tools/call') } }
    const withdrawn = new AbortController()
    const key = JSON.stringify(id)
    underWay.set(key, withdrawn)
    const { principal } = options
    const called = answerMcpRequest(options.answering, request, {
      principal: client === undefined ? principal : { ...principal, client },
      catalogue: options.catalogue(),
      channel: 'access-point',
      signal: withdrawn.signal,
      era: 'legacy',
      interaction: {},
    }).finally(() => {
      if (underWay.get(key) === withdrawn) underWay.delete(key)
    })
    const first = await Promise.race([called, options.patience()])
    if (first === LATE_ANSWER_MARK)
      return { result: spoken('That takes a while. It is still under way; ask again in a moment.') }
    return 'result' in first ? { result: spokenResult(first.result) } : first
  }

  return {
    handle: async (text) => {
      if (text.length > MAX_FRAME_CHARACTERS) return undefined
      const read = parseStrictJsonText(text)
      if (!read.ok || !isJsonObject(read.value)) return undefined
      const { id, method, params = {} } = read.value
      if (typeof method !== 'string' || !isJsonObject(params)) return undefined
      if (id === undefined || id === null) {
        if (method === 'notifications/cancelled') underWay.get(JSON.stringify(params['requestId'] ?? null))?.abort()
        return undefined
      }
      return JSON.stringify({ jsonrpc: '2.0', id, ...(await respond(method, params, id)) })
    },
    isInitialized: () => initialized,
    hasStaleList: () => listed !== undefined && listed !== JSON.stringify(leanTools(options.catalogue())),
    close: () => {
      for (const call of underWay.values()) call.abort()
    },
  }
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
  return typeof name === 'string' ? name : undefined
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

/** The first text of a result, however it ended; an answer without text is its structured content. */
function spokenResult({ content, structuredContent }: JsonObject): JsonObject {
  const sentence = isJsonObject(structuredContent) ? structuredContent['say'] : undefined
  // The home tools have a sentence for this purpose.
  if (typeof sentence === 'string') return spoken(withChoices(sentence, structuredContent as JsonObject))
  const blocks = Array.isArray(content) ? content.filter(isJsonObject) : []
  const text = blocks.find(({ type }) => type === 'text')?.['text']
  return spoken(typeof text === 'string' ? text : JSON.stringify(structuredContent ?? {}))
}

/** A question is returned together with its possible answers. */
function withChoices(sentence: string, { ask, things, scenes }: JsonObject): string {
  const choices = [things, scenes].flatMap((list) => (Array.isArray(list) ? list.filter(isJsonObject) : []))
  const names = choices.flatMap(({ name, room }) => {
    if (typeof name !== 'string') return []
    return [typeof room === 'string' ? `${name} in ${room}` : name]
  })
  return typeof ask === 'string' && names.length > 0 ? `${sentence} ${ask} ${names.slice(0, 6).join(', ')}.` : sentence
}

function spoken(text: string): JsonObject {
  return { content: [{ type: 'text', text: cutBytes(text) }], isError: false }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`
}

function cutBytes(text: string): string {
  if (Buffer.byteLength(JSON.stringify(text)) <= MAX_ANSWER_BYTES) return text
  let end = Math.min(text.length, MAX_ANSWER_BYTES)
  while (Buffer.byteLength(JSON.stringify(text.slice(0, end))) > MAX_ANSWER_BYTES - 8) end = Math.floor(end * 0.9)
  return `${text.slice(0, end).toWellFormed()} …`
}
