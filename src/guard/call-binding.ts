/**
 * Call binding: what makes two calls the same call. An approval, a grant and an idempotency key are valid for exactly
 * one call, so everything about it goes into hashes that are compared.
 *
 * Argument hashes are keyed (HMAC): they are stored and published, and arguments can be as short as a door code.
 */
import { createHmac, hash } from 'node:crypto'
import type { Offer } from '../bus/capability.ts'
import { canonicalJson, escapeJsonPointerToken, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** Everything that an approval is bound to; any difference voids it. */
export interface CallBinding {
  readonly principal: string
  readonly tool: string
  readonly argsHash: string
  /** The tool's definition when it was approved: a description or schema that changed afterwards was not approved. */
  readonly definitionHash: string
  readonly target: string | undefined
  readonly policyVersion: string
  /** The hash of what the approver was told would happen; see `computePreviewHash`. */
  readonly promiseHash: string
}

/** JSON pointer → hash. */
export type ArgumentLeafHashes = Readonly<Record<string, string>>

const MAX_LEAVES = 256
const MAX_POINTER = 256
const MAX_LEAF_DEPTH = 8

const definitions = new WeakMap<Offer, string>()

export function computeOfferDefinitionHash(offer: Offer): string {
  const known = definitions.get(offer)
  if (known !== undefined) return known
  const { name, version, title, description, effect, params, requestSchema, responseSchema, streamSchema } = offer
  const definition = { name, version, title, description, effect, params, requestSchema, responseSchema, streamSchema }
  const digest = computeJsonSha256(definition)
  definitions.set(offer, digest)
  return digest
}

/** `undefined` for arguments that have no canonical form, such as text with half a surrogate pair. */
export function computeArgumentsHash(key: Uint8Array, body: Json): string | undefined {
  try {
    return computeKeyedHash(key, body)
  } catch {
    return undefined
  }
}

/**
 * A preview has the present state (`before`, which may change while a person decides) and the state after the change.
 * Only the latter is hashed: when a new preview promises another result, the approval was for something else.
 */
export function computePreviewHash(key: Uint8Array, preview: JsonObject | undefined): string {
  const { before: _, ...promise } = preview ?? {}
  return computeKeyedHash(key, promise)
}

/**
 * JSON pointer (RFC 6901) → keyed hash of the value there. Lists are values; objects are descended into. `undefined`
 * for more arguments than a grant can handle.
 */
export function hashArgumentLeaves(key: Uint8Array, body: JsonObject): ArgumentLeafHashes | undefined {
  const leaves = listArgumentLeaves(body)
  if (leaves.length > MAX_LEAVES || leaves.some(([pointer]) => pointer.length > MAX_POINTER)) return undefined
  return Object.fromEntries(leaves.map(([pointer, value]) => [pointer, computeKeyedHash(key, value)]))
}

export function listArgumentLeaves(
  body: JsonObject,
  at = '',
  depth = 0,
): readonly (readonly [pointer: string, value: Json])[] {
  return Object.entries(body).flatMap(([name, value]) => {
    const pointer = `${at}/${escapeJsonPointerToken(name)}`
    const inside = isJsonObject(value) && depth < MAX_LEAF_DEPTH && Object.keys(value).length > 0
    return inside ? listArgumentLeaves(value, pointer, depth + 1) : [[pointer, value] as const]
  })
}

export function computeKeyedHash(key: Uint8Array, value: unknown): string {
  return createHmac('sha256', key).update(canonicalJson(value)).digest('hex')
}

export function computeJsonSha256(value: unknown): string {
  return hash('sha256', canonicalJson(value))
}
