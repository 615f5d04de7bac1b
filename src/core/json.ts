/**
 * JSON: values that survive a wire, and the one canonical form that is hashed and signed (RFC 8785).
 *
 * Pure.
 */
import canonicalizeValue from 'canonicalize'

export type JsonPrimitive = string | number | boolean | null
export type Json = JsonPrimitive | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/**
 * RFC 8785 text. Throws on what JSON cannot say (undefined at the root, NaN, lone surrogates): only we can cause it.
 */
export function canonicalJson(value: unknown): string {
  const text = plainText(value) ?? canonicalizeValue(value)
  if (text === undefined) throw new TypeError('undefined has no canonical JSON')
  return text
}

/** Deeper than any answer of ours, and far from the end of the stack. */
const PLAIN_DEPTH = 32
const NOT_PLAIN = Symbol('not plain')

/**
 * Every call is hashed, and nearly all that is hashed is plain data: the engine writes that several times faster than
 * any script, and in the text that RFC 8785 § 3.2.2 prescribes, once the keys are in order. `undefined` for
 * everything that is less than plain; the library knows what to make of it.
 */
function plainText(value: unknown): string | undefined {
  const ordered = inOrder(value, PLAIN_DEPTH, LAST_NAMES)
  if (ordered === NOT_PLAIN) return undefined
  const text = JSON.stringify(ordered)
  // The engine escapes half a character where RFC 8785 forbids it.
  return text.includes(String.raw`\ud`) ? undefined : text
}

/** The keys of the previous object: rows of a list share them, and so do events of a kind, so they need not be sorted again. */
interface LastNames {
  given: readonly string[]
  names: readonly string[]
}

const LAST_NAMES: LastNames = { given: [], names: [] }

/** The same data with its keys in order; the very same value where they already are. */
function inOrder(value: unknown, depth: number, last: LastNames): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : NOT_PLAIN
  if (typeof value !== 'object' || depth === 0) return NOT_PLAIN
  if (Array.isArray(value)) return listInOrder(value, depth, last)
  const kind: unknown = Object.getPrototypeOf(value)
  return kind === Object.prototype || kind === null ? membersInOrder(value, depth, last) : NOT_PLAIN
}

function listInOrder(list: readonly unknown[], depth: number, last: LastNames): unknown {
  let ordered: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    const one = inOrder(list[index], depth - 1, last)
    if (one === NOT_PLAIN) return NOT_PLAIN
    if (one === list[index]) continue
    ordered ??= [...list]
    ordered[index] = one
  }
  return ordered ?? list
}

function membersInOrder(object: object, depth: number, last: LastNames): unknown {
  const given = Object.keys(object)
  const names = sorted(given, last)
  const ordered: Record<string, unknown> = {}
  let same = true
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? ''
    const member = (object as Record<string, unknown>)[name]
    const one = member === undefined ? undefined : inOrder(member, depth - 1, last)
    // The engine puts numbers first whatever the order of writing, and takes `__proto__` for something else.
    const moves = name !== given[index]
    if (one === NOT_PLAIN || name === '__proto__' || (moves && startsWithDigit(name))) return NOT_PLAIN
    same &&= !moves && one === member
    ordered[name] = one
  }
  return same ? object : ordered
}

function sorted(given: readonly string[], last: LastNames): readonly string[] {
  if (isSorted(given)) return given
  if (given.length !== last.given.length || given.some((name, index) => name !== last.given[index])) {
    last.given = given
    last.names = given.toSorted()
  }
  return last.names
}

/** What was canonical when it was read still is. */
function isSorted(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index++) if ((names[index - 1] ?? '') > (names[index] ?? '')) return false
  return true
}

function startsWithDigit(name: string): boolean {
  const code = name.charCodeAt(0)
  return code >= 0x30 && code <= 0x39
}

/** What a text spells. `undefined` is no JSON value, so it means that there was none. */
export function jsonIn(text: string | undefined): Json | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}

/** Every escape as a whole, a pair as one: what then is half of a pair stands alone. */
const ESCAPE = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)/g
const HALF = /\\u[dD][89a-fA-F]/

/**
 * What a stranger's text spells. Plug-ins and firmware count in halves of characters: a title that was cut after so
 * many of them may end in one half of an emoji, which no other wire can carry. It is read as U+FFFD, so that one such
 * text does not hide all the others.
 */
export function receivedJson(text: string | undefined): Json | undefined {
  const whole = text?.toWellFormed()
  if (whole === undefined || !HALF.test(whole)) return jsonIn(whole)
  return jsonIn(whole.replaceAll(ESCAPE, (escape) => (isHalf(escape) ? String.raw`\ufffd` : escape)))
}

function isHalf(escape: string): boolean {
  return escape.length === 6 && HALF.test(escape)
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Of what another node answers; far more than any answer has. */
export const MAX_STRANGER_DEPTH = 64

/**
 * Whether a value is nested at most so deep. Found level by level: the value is a stranger's, and most of what is done
 * with values goes as deep into the stack as they go.
 */
export function isNestedWithin(value: unknown, levels: number): boolean {
  let level: readonly unknown[] = [value]
  for (let depth = 0; depth <= levels; depth++) {
    const below: unknown[] = []
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue
      for (const member of Object.values(each)) if (typeof member === 'object' && member !== null) below.push(member)
    }
    if (below.length === 0) return true
    level = below
  }
  return false
}
