/**
 * MCP results: outcomes of the bus as MCP results, and as the text that is sent. Families make the envelopes; this file
 * only puts them into MCP's fields. Pure, but for cached bytes of lists.
 */
import type { Outcome, Reply, ContentBlock } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import { toCallRecordReferenceJson, resolveReplyOrigin } from '../bus/call-ticket.ts'
import { RECIPIENT_WITH_EVERY_TOOL, addNextStepForRecipient } from './next-step.ts'
import type { ResultRecipient } from './next-step.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import { PINNED_NODE_META_KEY } from './mcp-request.ts'
import { toUtf8 } from '../core/bytes.ts'
import type { RequestId } from './modern-server.ts'
import { HEADER_MISMATCH_ERROR_CODE, MISSING_CAPABILITY_ERROR_CODE } from './protocol-error.ts'
import type { McpProtocolError } from './protocol-error.ts'

/** Structured content for programs, and the same as text for models that only read text. */
export function createToolResult(
  outcome: Outcome,
  offer: Offer,
  reader: ResultRecipient = RECIPIENT_WITH_EVERY_TOOL,
): JsonObject {
  if (outcome.ok) {
    const { data, content, replayed } = outcome.value
    return withStructured(offer.family.success(data, offer, replayed), content)
  }
  const fault = addNextStepForRecipient(outcome.fault, offer, reader)
  const { structured, isError, content } = offer.family.failure(fault, offer, reader.listed)
  return { ...withStructured(structured, content), ...(isError ? { isError: true } : {}) }
}

function withStructured(structured: Json, content: Reply['content']): JsonObject {
  return {
    content: content === undefined ? [createJsonTextBlock(structured)] : repairContentBlocks(content),
    // The 2025 revisions allow objects only; every family's envelope is one.
    ...(isJsonObject(structured) ? { structuredContent: structured } : {}),
  }
}

const DEVICE_META_KEY = 'io.hearthbus/device'

/** Where the answer comes from (the node, and the device where it is known), and its ledger entry. */
export function createAnswerMeta(outcome: Outcome, ownNodeId: string): JsonObject {
  const record = recordMeta(outcome)
  if (!outcome.ok) return Object.keys(record).length === 0 ? {} : { _meta: record }
  const { node, device } = resolveReplyOrigin(outcome.value, outcome.value.from?.node ?? ownNodeId)
  return {
    _meta: { [PINNED_NODE_META_KEY]: node, ...(device === undefined ? {} : { [DEVICE_META_KEY]: device }), ...record },
  }
}

const RECORD_META_KEY = 'io.hearthbus/record'

/** Empty for an answer without a record, because the ledger could not be written. */
function recordMeta(outcome: Outcome): JsonObject {
  const record = outcome.ok ? outcome.value.record : outcome.fault.record
  return record === undefined ? {} : { [RECORD_META_KEY]: toCallRecordReferenceJson(record) }
}

/** A resource is its data, without an envelope; bytes are returned as `resource` blocks by the handler. */
export function createResourceResult({ data, content = [] }: Reply, uri: string, mimeType: string): JsonObject {
  const given = content.map(({ resource }) => resource).filter(isResourceContents)
  if (given.length > 0) return { contents: given }
  return { contents: [{ uri, mimeType, text: typeof data === 'string' ? data : JSON.stringify(data) }] }
}

/**
 * A prompt's data has MCP's own shape: `{ description?, messages }`. Throws on anything else: only our own code defines
 * prompts.
 */
export function createPromptResult({ data }: Reply, offer: Offer): JsonObject {
  if (!isJsonObject(data) || !Array.isArray(data['messages'])) throw new TypeError(`${offer.name} gave no messages`)
  return data
}

// Content: MCP content blocks as they may be sent. Devices and peers pass blocks on; a block that a strict client would
// reject becomes text, so that one bad block does not make the whole answer unusable.

export function createJsonTextBlock(data: Json): ContentBlock {
  return { type: 'text', text: JSON.stringify(data) }
}

export function repairContentBlocks(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
  return blocks.map((block) => (isWellFormed(block) ? block : createJsonTextBlock(block)))
}

function isWellFormed(block: ContentBlock): boolean {
  switch (block.type) {
    case 'text':
      return typeof block['text'] === 'string'
    case 'image':
    case 'audio':
      return isBase64(block['data']) && typeof block['mimeType'] === 'string'
    case 'resource_link':
      return typeof block['uri'] === 'string' && typeof block['name'] === 'string'
    case 'resource':
      return isResourceContents(block['resource'])
    default:
      return false
  }
}

/** What `resources/read` returns, and what a `resource` block embeds. */
export function isResourceContents(value: Json | undefined): value is JsonObject {
  if (!isJsonObject(value) || typeof value['uri'] !== 'string') return false
  if (value['mimeType'] !== undefined && typeof value['mimeType'] !== 'string') return false
  return typeof value['text'] === 'string' || isBase64(value['blob'])
}

function isBase64(value: Json | undefined): boolean {
  return typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)
}

// Result text: the answer to a request as JSON. Lists are the same objects until the catalogue changes, so they are
// made once, and kept as bytes: a house with many devices has megabytes of tools, and all its clients request them
// again when a device comes or goes. All clients are sent the same bytes, whichever revision they speak.
//
//   {"jsonrpc":"2.0","id":7,"result": {"tools":[ ▏tool,tool,tool … ▏],"resultType":"complete" … } }
//                                                 shared by all
//
// The bytes of each item are kept as well: a device that reconnects changes only its own forty of three thousand tools,
// and only those are serialised again.

/** A whole message; in pieces where a long part is shared. */
export type SerializedMessage = string | readonly Uint8Array[]

export type ResultSerializer = (
  request: { readonly id: RequestId; readonly method: string },
  result: JsonObject,
) => SerializedMessage

/** `complete` adds what the revision requires on every result, and leaves its lists unchanged. */
export function createResultSerializer(complete: (method: string, result: JsonObject) => JsonObject): ResultSerializer {
  const cache = new WeakMap<JsonObject, readonly Uint8Array[]>()
  return ({ id, method }, result) => {
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
    if (!method.endsWith('/list')) return `${head}${JSON.stringify(complete(method, result))}}`
    const list = cache.get(result) ?? inPieces(complete(method, result))
    cache.set(result, list)
    return [toUtf8(head), ...list, END]
  }
}

const END = toUtf8('}')
const [COMMA, OPEN, CLOSE] = [toUtf8(','), toUtf8('['), toUtf8(']')]

/** As `JSON.stringify` would write it. */
function inPieces(result: JsonObject): readonly Uint8Array[] {
  const members = Object.entries(result).filter(([, value]) => value !== undefined)
  const pieces = members.flatMap(([key, value], index) => [
    toUtf8(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    ...(Array.isArray(value) ? [OPEN, itemsOf(value), CLOSE] : [toUtf8(JSON.stringify(value))]),
  ])
  return pieces.length === 0 ? [toUtf8('{}')] : [...pieces, END]
}

/** Items and lists never change, so their bytes are cached by object. */
const lists = new WeakMap<readonly Json[], Uint8Array>()
const items = new WeakMap<JsonObject, Uint8Array>()

function itemsOf(list: readonly Json[]): Uint8Array {
  const known = lists.get(list)
  if (known !== undefined) return known
  const joined = Buffer.concat(list.flatMap((item, index) => (index === 0 ? [bytesOf(item)] : [COMMA, bytesOf(item)])))
  lists.set(list, joined)
  return joined
}

function bytesOf(item: Json): Uint8Array {
  if (!isJsonObject(item)) return toUtf8(JSON.stringify(item))
  const bytes = items.get(item) ?? Buffer.from(JSON.stringify(item))
  items.set(item, bytes)
  return bytes
}

// Modern result: what revision 2026-07-28 requires on every result: its type, how long and by whom it may be cached,
// and the server.

/** `Implementation` in MCP's schema. */
export interface McpServerInfo {
  readonly name: string
  readonly title: string
  readonly version: string
}

/** A list depends on the caller, so only the caller may cache it. `subscriptions/listen` reports changes. */
const LIST_TTL_MS = 60_000
const TTL_MS: Readonly<Record<string, number>> = {
  'server/discover': LIST_TTL_MS,
  'tools/list': LIST_TTL_MS,
  'prompts/list': LIST_TTL_MS,
  'resources/list': LIST_TTL_MS,
  'resources/templates/list': LIST_TTL_MS,
  'resources/read': 0,
}

export type CacheHints = Readonly<Record<string, { readonly ttlMs: number; readonly cacheScope: 'private' }>>

export const CACHE_HINTS_BY_METHOD: CacheHints = Object.fromEntries(
  Object.entries(TTL_MS).map(([method, ttlMs]) => [method, { ttlMs, cacheScope: 'private' as const }]),
)

export function createModernResultSerializer(serverInfo: McpServerInfo): ResultSerializer {
  const meta = { 'io.modelcontextprotocol/serverInfo': { ...serverInfo } }
  return createResultSerializer((method, result) => ({
    ...result,
    ...(result['resultType'] === undefined ? { resultType: 'complete', ...CACHE_HINTS_BY_METHOD[method] } : {}),
    _meta: isJsonObject(result['_meta']) ? { ...meta, ...result['_meta'] } : meta,
  }))
}

/** An error of a call is still an answer (200), unless the request itself is invalid. */
export function toHttpStatus({ code }: McpProtocolError): number {
  return code === MISSING_CAPABILITY_ERROR_CODE || code === HEADER_MISMATCH_ERROR_CODE ? 400 : 200
}
