/**
 * Listed tool: one tool as MCP's list of tools shows it.
 *
 * The result is cached with its offer. When a device reconnects, a house with three thousand tools lists all of them
 * again, and only that device's tools are new objects (mcp-results.ts relies on that). Pure, but for the cache.
 */
import type { Effect, JsonSchema, Offer } from '../bus/capability.ts'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { addNodePinToSchema } from './mcp-request.ts'
import { shortenDescription, shortenInputSchema, shortenOutputSchema } from './short-schema.ts'

interface CachedTool {
  readonly nodes: string
  readonly tool: JsonObject
}

/** The listed tools, by the name in each spelling. */
const cache = new WeakMap<Offer, Map<string, CachedTool>>()

/** `nodes` are those that offer it. The same offer, name and nodes give the same object. */
export function createListedTool(offer: Offer, name: string, nodes: readonly string[], isShort = false): JsonObject {
  // A program's own services are described nowhere else, so they are always listed in full.
  const isSlim = isShort && offer.family.isListedInShort === true
  const nodeList = nodes.join('\n')
  const known = cache.get(offer) ?? new Map<string, CachedTool>()
  const key = isSlim ? `${name} slim` : name
  const before = known.get(key)
  if (before?.nodes === nodeList) return before.tool
  const tool = isSlim ? slimTool(offer, name, nodes) : completeTool(offer, name, nodes)
  cache.set(offer, known.set(key, { nodes: nodeList, tool }))
  return tool
}

function completeTool(offer: Offer, name: string, nodes: readonly string[]): JsonObject {
  return {
    name,
    title: offer.title,
    description: offer.description,
    inputSchema: addNodePinToSchema(objectSchema(offer.requestSchema), nodes),
    ...outputSchemaOf(offer),
    annotations: toToolAnnotations(offer.effect, offer.idempotent),
  }
}

/** The tool in the list of everything: only what a reader needs in order to choose and to call it. */
function slimTool(offer: Offer, name: string, nodes: readonly string[]): JsonObject {
  const { outputSchema } = outputSchemaOf(offer)
  return {
    name,
    description: shortenDescription(offer.description),
    inputSchema: addNodePinToSchema(shortenInputSchema(objectSchema(offer.requestSchema)), nodes),
    ...(isJsonObject(outputSchema) ? { outputSchema: shortenOutputSchema(outputSchema) } : {}),
    ...shortAnnotations(offer.effect, offer.idempotent),
  }
}

/** Without the annotations that are MCP's defaults. */
function shortAnnotations(effect: Effect, idempotent: boolean): JsonObject {
  const hints = {
    ...(effect === 'reads' ? { readOnlyHint: true } : {}),
    ...(effect === 'records' ? { destructiveHint: false } : {}),
    ...(effect !== 'reads' && idempotent ? { idempotentHint: true } : {}),
  }
  return Object.keys(hints).length === 0 ? {} : { annotations: hints }
}

function outputSchemaOf(offer: Offer): JsonObject {
  const schema = offer.family.outputSchema?.(offer)
  return schema === undefined ? {} : { outputSchema: objectSchema(schema) }
}

/** MCP requires `type: object` at the root of both schemas. */
function objectSchema(schema: JsonSchema): JsonObject {
  return { type: 'object', ...(schema as JsonObject) }
}

/** Derived from the effect, never written by hand, so that the hints match what the guard enforces. */
export function toToolAnnotations(effect: Effect, idempotent: boolean): JsonObject {
  if (effect === 'reads') return { readOnlyHint: true, openWorldHint: false }
  // Records are only added; every other effect replaces a state of the house.
  return {
    readOnlyHint: false,
    destructiveHint: effect !== 'records',
    idempotentHint: idempotent,
    openWorldHint: false,
  }
}
