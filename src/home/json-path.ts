/** JSON path: reads values from another family's answer without assuming that they exist. */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'

export function readJsonValueAt(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((inner, step) => (isJsonObject(inner) ? inner[step] : undefined), value)
}

export function readTextAt(value: Json | undefined, ...path: readonly string[]): string | undefined {
  const found = readJsonValueAt(value, ...path)
  return typeof found === 'string' ? found : undefined
}

export function readNumberAt(value: Json | undefined, ...path: readonly string[]): number | undefined {
  const found = readJsonValueAt(value, ...path)
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

export function readArrayAt(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = readJsonValueAt(value, ...path)
  return Array.isArray(found) ? (found as readonly Json[]) : []
}

export function readObjectsAt(value: Json | undefined, ...path: readonly string[]): readonly JsonObject[] {
  return readArrayAt(value, ...path).filter(isJsonObject)
}

export function readTextsAt(value: Json | undefined, ...path: readonly string[]): readonly string[] {
  return readArrayAt(value, ...path).filter((each) => typeof each === 'string')
}
