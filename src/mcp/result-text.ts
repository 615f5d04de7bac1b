/**
 * Result text: a result as JSON. Lists are the same objects until the catalogue changes, so their text, which may be
 * hundreds of kilobytes, is made once.
 *
 * Pure; remembers.
 */
import type { JsonObject } from '../core/json.ts'

export type ResultText = (method: string, result: JsonObject) => string

/** `complete` adds what the revision wants on every result. */
export function resultText(complete: (method: string, result: JsonObject) => JsonObject): ResultText {
  const kept = new WeakMap<JsonObject, string>()
  return (method, result) => {
    const ready = kept.get(result)
    if (ready !== undefined) return ready
    const text = JSON.stringify(complete(method, result))
    if (method.endsWith('/list')) kept.set(result, text)
    return text
  }
}
