/**
 * Message body: parses the bytes of a message's body into a JSON object.
 */
import { fromUtf8 } from '../core/bytes.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject, isNestedWithinDepth, parseJsonOrUndefined } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createMeshRefusal } from './mesh-refusal.ts'

/** Functions descend into values by recursion, so the depth of a peer's values must be limited. */
export const MAX_MESH_BODY_DEPTH = 128
export function parseMeshBody(bytes: Uint8Array): Result<JsonObject, Fault> {
  const value = parseJsonOrUndefined(fromUtf8(bytes))
  if (!isNestedWithinDepth(value, MAX_MESH_BODY_DEPTH - 1))
    return fail(
      createMeshRefusal('bad_request', 'not-json', `The body is nested deeper than ${MAX_MESH_BODY_DEPTH} levels.`),
    )
  if (isJsonObject(value)) return ok(value)
  return fail(createMeshRefusal('bad_request', 'not-json', 'The body is not a JSON object.'))
}
