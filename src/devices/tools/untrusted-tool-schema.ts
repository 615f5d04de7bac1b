/**
 * Untrusted tool schema: a device's input schema rebuilt from the few keywords that firmware uses, so that nothing
 * else of it (references, patterns, prose in unusual places) reaches our validator or a model.
 *
 * This is the schema that callers are shown; `wire/arguments` checks arguments against the schema that the device
 * listed.
 */
import type { JsonSchema } from '../../bus/capability.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'

const TYPES: ReadonlySet<string> = new Set(['boolean', 'integer', 'number', 'string', 'array', 'object'])
const BOUNDS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const
const MAX_DEPTH = 4
const MAX_PROPERTIES = 64
const MAX_CHOICES = 64
const MAX_TEXT = 200
const PROPERTY = /^[^\p{C}\p{Z}]{1,64}$/u

/** Returns `undefined` when an argument's name has characters that a model should not have to write. */
export function rebuildDeviceToolSchema(schema: JsonObject): JsonSchema | undefined {
  return objectSchema(schema, 0)
}

function objectSchema(schema: JsonObject, depth: number): JsonObject | undefined {
  const properties = Object.entries(isJsonObject(schema['properties']) ? schema['properties'] : {})
  if (properties.length > MAX_PROPERTIES || properties.some(([name]) => !PROPERTY.test(name))) return undefined
  const shown: Record<string, Json> = Object.create(null) as Record<string, Json>
  for (const [name, property] of properties) {
    const value = isJsonObject(property) ? valueSchema(property, depth + 1) : {}
    if (value === undefined) return undefined
    shown[name] = value
  }
  const listed: readonly Json[] = Array.isArray(schema['required']) ? schema['required'] : []
  const required = [...new Set(listed)].filter((name) => typeof name === 'string' && Object.hasOwn(shown, name))
  return {
    type: 'object',
    properties: { ...shown },
    ...(required.length === 0 ? {} : { required }),
    // Devices ignore unknown arguments; a caller that misspelt one should be told.
    additionalProperties: false,
  }
}

function valueSchema(schema: JsonObject, depth: number): JsonObject | undefined {
  const { type, description } = schema
  if (typeof type !== 'string' || !TYPES.has(type) || depth > MAX_DEPTH) return {}
  if (type === 'object') return isJsonObject(schema['properties']) ? objectSchema(schema, depth) : { type }
  const words = typeof description === 'string' ? sanitizeLine(description, MAX_TEXT) : ''
  const items = type === 'array' && isJsonObject(schema['items']) ? valueSchema(schema['items'], depth + 1) : undefined
  const choices = choicesOf(schema['enum'])
  return {
    type,
    ...(words === '' ? {} : { description: words }),
    ...Object.fromEntries(BOUNDS.flatMap((bound) => (isBound(schema[bound]) ? [[bound, schema[bound]]] : []))),
    ...(choices === undefined ? {} : { enum: choices }),
    ...(isDefault(schema['default'], type) ? { default: shownDefault(schema['default']) } : {}),
    ...(items === undefined ? {} : { items }),
  }
}

function isBound(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function choicesOf(value: Json | undefined): readonly Json[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_CHOICES) return undefined
  const choices = value as readonly Json[]
  // A choice that had to be cleaned could not be sent back unchanged.
  const isPlain = (choice: Json): boolean =>
    typeof choice === 'number' || (typeof choice === 'string' && sanitizeLine(choice, MAX_TEXT) === choice)
  return choices.every(isPlain) ? [...new Set(choices)] : undefined
}

function isDefault(value: Json | undefined, type: string): value is boolean | number | string {
  return typeof value === (type === 'integer' ? 'number' : type)
}

function shownDefault(value: boolean | number | string): Json {
  return typeof value === 'string' ? sanitizeLine(value, MAX_TEXT) : value
}
