/**
 * Results: outcomes of the bus in MCP's words. An envelope is its family's; here it only finds its place.
 *
 * Pure.
 */
import type { Outcome, Reply } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import { originOf } from '../bus/reply-origin.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import { isResourceContents, mirror, wellFormed } from './content.ts'
import { NODE_META_KEY } from './node-pin.ts'
import { recordMeta } from './record-meta.ts'

/** Structured content for programs, and the same as text for models that only read text. */
export function toolResult(outcome: Outcome, offer: Offer, listed?: (tool: string) => string): JsonObject {
  if (outcome.ok) {
    const { data, content, replayed } = outcome.value
    return withStructured(offer.family.success(data, offer, replayed), content)
  }
  const { structured, isError, content } = offer.family.failure(outcome.fault, offer, listed)
  return { ...withStructured(structured, content), ...(isError ? { isError: true } : {}) }
}

function withStructured(structured: Json, content: Reply['content']): JsonObject {
  return {
    content: content === undefined ? [mirror(structured)] : wellFormed(content),
    // The 2025 family knows objects only; every family's envelope is one.
    ...(isJsonObject(structured) ? { structuredContent: structured } : {}),
  }
}

const DEVICE_META_KEY = 'io.hearthbus/device'

/** Whose answer it is (the node, and the device where that is known), and where the ledger has it. */
export function answerMeta(outcome: Outcome, ownNodeId: string): JsonObject {
  const record = recordMeta(outcome)
  if (!outcome.ok) return Object.keys(record).length === 0 ? {} : { _meta: record }
  const { node, device } = originOf(outcome.value, outcome.value.from?.node ?? ownNodeId)
  return {
    _meta: { [NODE_META_KEY]: node, ...(device === undefined ? {} : { [DEVICE_META_KEY]: device }), ...record },
  }
}

/** A resource is its data, without an envelope; bytes come as `resource` blocks from the handler. */
export function resourceResult({ data, content = [] }: Reply, uri: string, mimeType: string): JsonObject {
  const given = content.map(({ resource }) => resource).filter(isResourceContents)
  if (given.length > 0) return { contents: given }
  return { contents: [{ uri, mimeType, text: typeof data === 'string' ? data : JSON.stringify(data) }] }
}

/** A prompt's data is MCP's own shape: `{ description?, messages }`. Throws on anything else: only we write prompts. */
export function promptResult({ data }: Reply, offer: Offer): JsonObject {
  if (!isJsonObject(data) || !Array.isArray(data['messages'])) throw new TypeError(`${offer.name} gave no messages`)
  return data
}
