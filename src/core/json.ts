/**
 * JSON: values that survive a wire, and the one canonical form that is hashed and signed (RFC 8785).
 *
 * Pure.
 */
import canonicalizeValue from 'canonicalize'

export type JsonPrimitive = string | number | boolean | null
export type Json = JsonPrimitive | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** RFC 8785 text. Throws on what JSON cannot say (undefined at the root, NaN, lone surrogates): only we can cause it. */
export function canonicalJson(value: unknown): string {
  const text = plainText(value) ?? canonicalizeValue(value)
  if (text === undefined) throw new TypeError('undefined has no canonical JSON')
  return text
}

/** Deeper than any answer of ours, and far from the end of the stack. */
const PLAIN_DEPTH = 32
const NOT_PLAIN = Symbol('not plain')

/**
 * Every call is hashed, and nearly all that is hashed is plain data: the engine writes that several times faster than any
 * script, in the very text that RFC 8785 § 3.2.2 took from it, once the keys are in order. `undefined` for everything
 * that is less than plain; the library knows what to make of it.
 */
function plainText(value: unknown): string | undefined {
  const ordered = inOrder(value, PLAIN_DEPTH)
  if (ordered === NOT_PLAIN) return undefined
  const text = JSON.stringify(ordered)
  // The engine escapes half a character where RFC 8785 forbids it.
  return text.includes(String.raw`\ud`) ? undefined : text
}

/** The same data with its keys in order; the very same value where they already are. */
function inOrder(value: unknown, depth: number): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : NOT_PLAIN
  if (typeof value !== 'object' || depth === 0) return NOT_PLAIN
  if (Array.isArray(value)) return listInOrder(value, depth)
  const kind: unknown = Object.getPrototypeOf(value)
  return kind === Object.prototype || kind === null ? membersInOrder(value, depth) : NOT_PLAIN
}

function listInOrder(list: readonly unknown[], depth: number): unknown {
  const ordered: unknown[] = []
  let same = true
  for (const item of list) {
    const one = inOrder(item, depth - 1)
    if (one === NOT_PLAIN) return NOT_PLAIN
    same &&= one === item
    ordered.push(one)
  }
  return same ? list : ordered
}

function membersInOrder(object: object, depth: number): unknown {
  const given = Object.keys(object)
  const names = given.toSorted()
  const ordered: Record<string, unknown> = {}
  let same = true
  for (const [index, name] of names.entries()) {
    const member = (object as Record<string, unknown>)[name]
    const one = member === undefined ? undefined : inOrder(member, depth - 1)
    // The engine puts numbers first whatever the order of writing, and takes `__proto__` for something else.
    const moves = name !== given[index]
    if (one === NOT_PLAIN || name === '__proto__' || (moves && /^\d/.test(name))) return NOT_PLAIN
    same &&= !moves && one === member
    ordered[name] = one
  }
  return same ? object : ordered
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
