/**
 * Node pin: which node a request is for, when the caller says so. Three places, the nearest to the call first:
 *
 *   arguments._node                  what a model can fill in; listed only where several nodes offer the tool
 *   _meta["io.hearthbus/node"]       what a client's program can fill in
 *   /mcp?node=…, hearthbus mcp --node    for a whole connection: its lists are that node's
 *
 * A pin that cannot be read is never dropped: the call would run in another house than its caller meant.
 *
 * Pure.
 */
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'

export const NODE_META_KEY = 'io.hearthbus/node'
export const NODE_ARGUMENT = '_node'

const MAX_NODE = 128

/** What a request's `_meta` says, else what the connection says. Nonsense names no node, and finds none. */
export function nodeIn(meta: Readonly<Record<string, unknown>>, otherwise: string | undefined): string | undefined {
  const given = meta[NODE_META_KEY]
  if (given === undefined) return otherwise
  return spelt(given)
}

export interface Pinned {
  readonly node: string | undefined
  readonly body: JsonObject
}

/** Takes the pin out of a tool's arguments, unless the tool has an argument of that name itself. */
export function pinIn(body: JsonObject, schema: unknown, otherwise: string | undefined): Pinned {
  if (!Object.hasOwn(body, NODE_ARGUMENT) || declares(schema)) return { node: otherwise, body }
  const { [NODE_ARGUMENT]: given, ...rest } = body
  return { node: spelt(given), body: rest }
}

/** The schema as a list shows it: with the pin where there is a choice and the tool has no such argument itself. */
export function withPin(schema: JsonObject, nodes: readonly string[]): JsonObject {
  const { properties = {} } = schema
  if (nodes.length < 2 || declares(schema) || !isJsonObject(properties)) return schema
  const pin: Json = {
    type: 'string',
    description: `Which node this is for: ${nodes.join(', ')}. Without it the usual one is chosen.`,
  }
  return { ...schema, properties: { ...properties, [NODE_ARGUMENT]: pin } }
}

function declares(schema: unknown): boolean {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined
  return isJsonObject(properties) && Object.hasOwn(properties, NODE_ARGUMENT)
}

function spelt(given: unknown): string {
  return (typeof given === 'string' ? given : JSON.stringify(given)).slice(0, MAX_NODE)
}
