/**
 * JSON: values that survive a wire, and the one canonical form that is hashed and signed (RFC 8785).
 *
 * Pure.
 */
import canonicalizeValue from 'canonicalize'

export type JsonPrimitive = string | number | boolean | null
export type Json = JsonPrimitive | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** RFC 8785 text. Throws on what JSON cannot say (undefined at the root, NaN, lone surrogates): only we can cause it. */
export function canonicalJson(value: unknown): string {
  const text = canonicalizeValue(value)
  if (text === undefined) throw new TypeError('undefined has no canonical JSON')
  return text
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
