/**
 * Short schema: a schema as the list of everything shows it, for readers with a small context. It is less precise, but
 * never stricter: the short schema accepts whatever the complete one accepts. The complete ones are at `/mcp/<family>`,
 * in the answers of `tools_find` and in docs/contract.md; calls are checked against those.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** For an input: which arguments there are, which are required, and which values they take. */
const INPUT_KEYS = new Set([
  'type',
  'enum',
  'const',
  'required',
  'properties',
  'items',
  'anyOf',
  'oneOf',
  'allOf',
  '$ref',
  '$defs',
])
/** Long lists of values are cut: a refusal names the valid ones. */
const MAX_ENUM = 10
const MAX_INPUT_DEPTH = 2
const MAX_OUTPUT_DEPTH = 2
/** Only this many members are named. */
const MAX_OUTPUT_MEMBERS = 12

export function shortenInputSchema(schema: JsonObject): JsonObject {
  return slimInputAt(schema, 0)
}

function slimInputAt(schema: JsonObject, depth: number): JsonObject {
  const { type, properties } = schema
  if (depth > MAX_INPUT_DEPTH) return typeof type === 'string' ? { type } : {}
  const slim: Record<string, Json> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (!INPUT_KEYS.has(key)) continue
    if (key === 'enum' && Array.isArray(value) && value.length > MAX_ENUM) continue
    if (key === 'required' && Array.isArray(value) && value.length === 0) continue
    slim[key] = key === 'properties' || key === '$defs' ? value : slimValue(value, depth)
  }
  // The values imply the type.
  if (slim['enum'] !== undefined) delete slim['type']
  for (const key of ['properties', '$defs'])
    if (isJsonObject(slim[key]))
      slim[key] = Object.fromEntries(
        Object.entries(slim[key]).map(([name, member]) => [
          name,
          isJsonObject(member) ? slimInputAt(member, depth + 1) : member,
        ]),
      )
  if (isJsonObject(properties) && Object.keys(properties).length === 0) delete slim['properties']
  return joinedTypes(slim)
}

function slimValue(value: Json, depth: number): Json {
  if (Array.isArray(value)) return value.map((each) => slimValue(each as Json, depth))
  return isJsonObject(value) ? slimInputAt(value, depth + 1) : value
}

/** `anyOf` of plain types becomes a list of types. */
function joinedTypes(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  const types = anyOf.map((each) => (isJsonObject(each as Json) ? onlyType(each as JsonObject) : undefined))
  if (types.some((type) => type === undefined)) return schema
  return { ...rest, type: [...new Set(types as string[])] }
}

function onlyType(schema: JsonObject): string | undefined {
  return Object.keys(schema).length === 1 && typeof schema['type'] === 'string' ? schema['type'] : undefined
}

/** For an output: the names of the top-level members. */
export function shortenOutputSchema(schema: JsonObject): JsonObject {
  return slimOutputAt(schema, 0)
}

function slimOutputAt({ type, properties, required }: JsonObject, depth: number): JsonObject {
  const typeOnly = typeof type === 'string' || Array.isArray(type) ? { type } : {}
  if (!isJsonObject(properties) || depth >= MAX_OUTPUT_DEPTH) return typeOnly
  const members = Object.entries(properties)
  if (depth > 0 && members.length > MAX_OUTPUT_MEMBERS) return typeOnly
  return {
    ...typeOnly,
    properties: Object.fromEntries(
      members.map(([name, member]) => [name, isJsonObject(member) ? slimOutputAt(member, depth + 1) : {}]),
    ),
    ...(depth === 0 && Array.isArray(required) && required.length > 0 ? { required } : {}),
  }
}

const MAX_DESCRIPTION = 90

/** The first sentence, and further ones that fit. */
export function shortenDescription(text: string): string {
  const [first = '', ...others] = text.split(/(?<=[.!?])\s+(?=[A-Z“`])/)
  let short = first
  for (const sentence of others) {
    if (short.length + sentence.length >= MAX_DESCRIPTION) break
    short += ` ${sentence}`
  }
  return short
}
