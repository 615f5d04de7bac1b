/**
 * Bounded JSON: parses a device's text, if all later readers can handle its value.
 *
 * `JSON.parse` accepts more than the rest of the program can take: nesting that overflows the stack when it is
 * serialised again, numbers that become Infinity, halves of surrogate pairs, a key `__proto__`. Firmware sends none of
 * these.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject, parseJsonReplacingLoneSurrogates } from '../../core/json.ts'

const MAX_DEPTH = 32

/** Returns `undefined` for text that is not JSON, and for JSON that later readers cannot handle. */
export function parseBoundedJson(text: string): Json | undefined {
  if (depthOf(text) > MAX_DEPTH) return undefined
  const value = parseJsonReplacingLoneSurrogates(text)
  return value !== undefined && isSound(value) ? value : undefined
}

export function parseBoundedJsonObject(text: string): JsonObject | undefined {
  const value = parseBoundedJson(text)
  return isJsonObject(value) ? value : undefined
}

/** Counts brackets outside of strings, which is right for JSON; for other text the result does not matter. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) quoted = !quoted
    else if (quoted) {
      if (code === 0x5c) at++
    } else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return deepest
}

function isSound(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return (value as readonly Json[]).every(isSound)
  return Object.entries(value).every(([key, inner]) => key !== '__proto__' && isSound(inner))
}
