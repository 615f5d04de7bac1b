/**
 * Listed tool: one tool as MCP's list of tools shows it.
 *
 * What was made of an offer is kept with it. When a device comes back, a house of three thousand tools lists all of them
 * anew, and only what that device offers is another object than before (result-text.ts counts on that).
 *
 * Pure; remembers.
 */
import type { Effect, JsonSchema, Offer } from '../bus/capability.ts'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { describeNodePin } from './request.ts'
import { shortDescription, slimInputSchema, slimOutputSchema } from './slim-schema.ts'

interface Kept {
  readonly nodes: string
  readonly tool: JsonObject
}

/** By the name that it is listed under, of which there are as many as there are ways to spell one. */
const kept = new WeakMap<Offer, Map<string, Kept>>()

/** `nodes` are those that offer it. The same offer, name and nodes give the same object. */
export function listedTool(offer: Offer, name: string, nodes: readonly string[], isShort = false): JsonObject {
  // Services of one's own are nowhere else, so they are always listed as they are.
  const isSlim = isShort && offer.family.isListedInShort === true
  const spelt = nodes.join('\n')
  const known = kept.get(offer) ?? new Map<string, Kept>()
  const key = isSlim ? `${name} slim` : name
  const before = known.get(key)
  if (before?.nodes === spelt) return before.tool
  const tool = isSlim ? slimTool(offer, name, nodes) : completeTool(offer, name, nodes)
  kept.set(offer, known.set(key, { nodes: spelt, tool }))
  return tool
}

function completeTool(offer: Offer, name: string, nodes: readonly string[]): JsonObject {
  return {
    name,
    title: offer.title,
    description: offer.description,
    inputSchema: describeNodePin(objectSchema(offer.requestSchema), nodes),
    ...outputSchemaOf(offer),
    annotations: toAnnotations(offer.effect, offer.idempotent),
  }
}

/** For the list of everything: what a reader needs to choose and to call, and no more. */
function slimTool(offer: Offer, name: string, nodes: readonly string[]): JsonObject {
  const { outputSchema } = outputSchemaOf(offer)
  return {
    name,
    description: shortDescription(offer.description),
    inputSchema: describeNodePin(slimInputSchema(objectSchema(offer.requestSchema)), nodes),
    ...(isJsonObject(outputSchema) ? { outputSchema: slimOutputSchema(outputSchema) } : {}),
    ...shortAnnotations(offer.effect, offer.idempotent),
  }
}

/** Without what MCP takes for granted anyway. */
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

/** MCP demands an object at the root of both schemas and wants it said. */
function objectSchema(schema: JsonSchema): JsonObject {
  return { type: 'object', ...(schema as JsonObject) }
}

/** Derived from the effect, never written by hand: hints cannot drift from what the guard enforces. */
export function toAnnotations(effect: Effect, idempotent: boolean): JsonObject {
  if (effect === 'reads') return { readOnlyHint: true, openWorldHint: false }
  // Records are only ever added; every other effect replaces a state of the house.
  return {
    readOnlyHint: false,
    destructiveHint: effect !== 'records',
    idempotentHint: idempotent,
    openWorldHint: false,
  }
}
