/**
 * Not given: `null` for an argument that may be left out. Models write it for what they do not want to say, and some
 * clients make them fill in every argument. Where the contract knows no `null`, it is read as if it had been left out
 * (docs/adr/0115).
 *
 * What comes out is a body that the caller could have sent, checked like any other: nothing becomes possible by it.
 * Only arguments themselves: inside of one, `null` may be a wish, such as to clear a field.
 *
 * Pure.
 */
import type { JsonObject } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import type { Issue } from './capability.ts'

type Accept = (body: JsonObject) => Result<JsonObject, readonly Issue[]>

/** What does not fit without its nulls either is refused as it was sent. */
export function acceptLeavingOut(accept: Accept, body: JsonObject): Result<JsonObject, readonly Issue[]> {
  const asSent = accept(body)
  if (asSent.ok) return asSent
  const refused = new Set(asSent.fault.filter((issue) => isRefusedNull(issue, body)).map(({ path }) => path[0]))
  if (refused.size === 0) return asSent
  const rest = accept(Object.fromEntries(Object.entries(body).filter(([name]) => !refused.has(name))))
  return rest.ok ? rest : asSent
}

/** What a contract does not know at all stays refused, whatever its value. */
function isRefusedNull({ path: [name, ...inside], code }: Issue, body: JsonObject): boolean {
  return inside.length === 0 && typeof name === 'string' && body[name] === null && code !== 'additionalProperties'
}
