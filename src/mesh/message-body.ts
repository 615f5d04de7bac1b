/**
 * Body: what travels inside a message, from bytes to a JSON object.
 */
import { fromUtf8 } from '../core/bytes.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createMeshRefusal } from './mesh-refusal.ts'

/** Whatever walks a value walks it by recursion: nobody's stack may hang on what a peer sends. */
export const MAX_MESH_BODY_DEPTH = 128
const [QUOTE, BACKSLASH] = [0x22, 0x5c]

function depthOf(text: string): number {
  let [depth, deepest, isString] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isString) {
      if (unit === BACKSLASH) at++
      else if (unit === QUOTE) isString = false
    } else if (unit === QUOTE) isString = true
    // { and [ are 0x7b and 0x5b, } and ] two more each.
    else if ((unit & 0xdf) === 0x5b) deepest = Math.max(deepest, ++depth)
    else if ((unit & 0xdf) === 0x5d) depth--
  }
  return deepest
}

export function parseMeshBody(bytes: Uint8Array): Result<JsonObject, Fault> {
  const text = fromUtf8(bytes)
  if (text !== undefined && depthOf(text) > MAX_MESH_BODY_DEPTH)
    return fail(
      createMeshRefusal('bad_request', 'not-json', `The body is nested deeper than ${MAX_MESH_BODY_DEPTH} levels.`),
    )
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text)
    if (isJsonObject(value)) return ok(value)
  } catch {
    // Falls through to the one refusal for whatever is not an object.
  }
  return fail(createMeshRefusal('bad_request', 'not-json', 'The body is not a JSON object.'))
}
