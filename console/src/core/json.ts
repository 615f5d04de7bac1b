/**
 * JSON: reading answers whose shape is only promised. What is missing or strange is `undefined`, never an exception.
 */
import type { Json, JsonObject } from '../../../src/core/json.ts'

export type { Json, JsonObject }

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function at(value: unknown, ...path: readonly (string | number)[]): Json | undefined {
  let found: unknown = value
  for (const step of path) {
    if (Array.isArray(found) && typeof step === 'number') found = found[step]
    else if (isObject(found) && Object.hasOwn(found, step)) found = found[step]
    else return undefined
  }
  return found as Json | undefined
}

export function stringAt(value: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : undefined
}

export function numberAt(value: unknown, ...path: readonly (string | number)[]): number | undefined {
  const found = at(value, ...path)
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

export function booleanAt(value: unknown, ...path: readonly (string | number)[]): boolean | undefined {
  const found = at(value, ...path)
  return typeof found === 'boolean' ? found : undefined
}

export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly Json[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? (found as readonly Json[]) : []
}

export function objectAt(value: unknown, ...path: readonly (string | number)[]): JsonObject {
  const found = at(value, ...path)
  return isObject(found) ? found : {}
}
