/**
 * JSON path: what another family's answer holds, read without trusting that it is there.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'

export function valueAt(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((inner, step) => (isJsonObject(inner) ? inner[step] : undefined), value)
}

export function textAt(value: Json | undefined, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path)
  return typeof found === 'string' ? found : undefined
}

export function numberAt(value: Json | undefined, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path)
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

export function arrayAt(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = valueAt(value, ...path)
  return Array.isArray(found) ? (found as readonly Json[]) : []
}

export function objectsAt(value: Json | undefined, ...path: readonly string[]): readonly JsonObject[] {
  return arrayAt(value, ...path).filter(isJsonObject)
}

export function textsAt(value: Json | undefined, ...path: readonly string[]): readonly string[] {
  return arrayAt(value, ...path).filter((each) => typeof each === 'string')
}
