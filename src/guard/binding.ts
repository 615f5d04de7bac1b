/**
 * Binding: what makes two calls the same call. An approval, a grant and an idempotency key hold for exactly what they
 * were given for, so all of it goes into hashes that are compared.
 *
 * Argument hashes are keyed (HMAC): they are stored and published, and arguments can be as short as a door code.
 */
import { createHmac, hash } from 'node:crypto'
import type { Offer } from '../bus/capability.ts'
import { canonicalJson, isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** Everything that an approval is bound to; any difference voids it. */
export interface CallBinding {
  readonly principal: string
  readonly tool: string
  readonly argsHash: string
  /** What the tool was when it was approved: a description or schema that changes afterwards was not approved. */
  readonly definitionHash: string
  readonly target: string | undefined
  readonly policyVersion: string
  /** What the approver was told would happen; see `computePreviewHash`. */
  readonly promiseHash: string
}

/** Pointer → hash. */
export type LeafHashes = Readonly<Record<string, string>>

const MAX_LEAVES = 256
const MAX_POINTER = 256
const MAX_LEAF_DEPTH = 8

const definitions = new WeakMap<Offer, string>()

export function offerDefinitionHash(offer: Offer): string {
  const known = definitions.get(offer)
  if (known !== undefined) return known
  const { name, version, title, description, effect, params, requestSchema, responseSchema, streamSchema } = offer
  const definition = { name, version, title, description, effect, params, requestSchema, responseSchema, streamSchema }
  const digest = sha256OfJson(definition)
  definitions.set(offer, digest)
  return digest
}

/** `undefined` for arguments that have no canonical form: text with half a character in it. */
export function argumentsHash(key: Uint8Array, body: Json): string | undefined {
  try {
    return keyedHash(key, body)
  } catch {
    return undefined
  }
}

/**
 * A preview is what is now (`before`, which may drift while a person thinks) and what would be. The latter is the
 * promise: when a fresh look promises something else, the approval was for something else.
 */
export function computePreviewHash(key: Uint8Array, preview: JsonObject | undefined): string {
  const { before: _, ...promise } = preview ?? {}
  return keyedHash(key, promise)
}

/**
 * JSON pointer (RFC 6901) → keyed hash of the value there. Lists are values; objects are looked into.
 * `undefined` for more arguments than anybody would loosen by name.
 */
export function hashLeaves(key: Uint8Array, body: JsonObject): LeafHashes | undefined {
  const leaves = listLeaves(body)
  if (leaves.length > MAX_LEAVES || leaves.some(([pointer]) => pointer.length > MAX_POINTER)) return undefined
  return Object.fromEntries(leaves.map(([pointer, value]) => [pointer, keyedHash(key, value)]))
}

export function listLeaves(body: JsonObject, at = '', depth = 0): readonly (readonly [pointer: string, value: Json])[] {
  return Object.entries(body).flatMap(([name, value]) => {
    const pointer = `${at}/${escapeStep(name)}`
    const inside = isJsonObject(value) && depth < MAX_LEAF_DEPTH && Object.keys(value).length > 0
    return inside ? listLeaves(value, pointer, depth + 1) : [[pointer, value] as const]
  })
}

export function escapeStep(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

export function keyedHash(key: Uint8Array, value: unknown): string {
  return createHmac('sha256', key).update(canonicalJson(value)).digest('hex')
}

export function sha256OfJson(value: unknown): string {
  return hash('sha256', canonicalJson(value))
}
