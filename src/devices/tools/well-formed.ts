/**
 * Well-formed: JSON from a device with every text made whole. Half a character has no canonical form, and what has none
 * cannot be hashed, signed or recorded.
 *
 * Pure.
 */
import type { Json, JsonObject } from '../../core/json.ts'

export function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map(wellFormed)
  return wellFormedObject(value as JsonObject)
}

function wellFormedObject(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]))
}
