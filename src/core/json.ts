/**
 * JSON: values that survive a wire, the one canonical form that is hashed and signed (RFC 8785), and how a stranger's
 * text is read.
 */
import canonicalizeValue from 'canonicalize'
import type { Result } from './result.ts'
import { fail, ok } from './result.ts'

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

/** Whether a text is the canonical one of the value that was read from it: two spellings would have two hashes. */
export function isCanonicalText(text: string, value: Json): boolean {
  // What the engine writes again as it was, with every object's names in order, is canonical but for halves of characters.
  if (hasNamesInOrder(value, PLAIN_DEPTH) && JSON.stringify(value) === text && !text.includes(String.raw`\ud`))
    return true
  try {
    return canonicalJson(value) === text
  } catch {
    return false
  }
}

function hasNamesInOrder(value: Json, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth === 0) return false
  if (Array.isArray(value)) return (value as readonly Json[]).every((one) => hasNamesInOrder(one, depth - 1))
  const names = Object.keys(value)
  if (sorted(names) !== names) return false
  for (const name of names) {
    const member = (value as JsonObject)[name]
    if (typeof member === 'object' && !hasNamesInOrder(member, depth - 1)) return false
  }
  return true
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
  const ordered = inOrder(value, PLAIN_DEPTH)
  if (ordered === NOT_PLAIN) return undefined
  const text = JSON.stringify(ordered)
  // The engine escapes half a character where RFC 8785 forbids it.
  return text.includes(String.raw`\ud`) ? undefined : text
}

/**
 * Keys that were sorted before: rows of a list share them, and so do events of a kind. Comparing names costs far more
 * than seeing that they are the very same ones.
 */
interface SortedNames {
  readonly given: readonly string[]
  /** Absent where they were in order. */
  readonly names: readonly string[] | undefined
}

/** The newest take the place of the oldest. */
const LAST_NAMES: SortedNames[] = []
const MAX_LAST_NAMES = 16
const MAX_KNOWN_LIST = 64
let nextLastName = 0

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
  let ordered: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    const one = inOrder(list[index], depth - 1)
    if (one === NOT_PLAIN) return NOT_PLAIN
    if (one === list[index]) continue
    ordered ??= [...list]
    ordered[index] = one
  }
  return ordered ?? list
}

function membersInOrder(object: object, depth: number): unknown {
  const given = Object.keys(object)
  const names = sorted(given)
  // Nothing is copied until something has to be.
  let ordered: Record<string, unknown> | undefined = names === given ? undefined : {}
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? ''
    const member = (object as Record<string, unknown>)[name]
    const one = member === undefined ? undefined : inOrder(member, depth - 1)
    // The engine puts numbers first whatever the order of writing, and takes `__proto__` for something else.
    if (one === NOT_PLAIN || name === '__proto__' || (name !== given[index] && startsWithDigit(name))) return NOT_PLAIN
    if (ordered === undefined && one !== member) ordered = { ...object }
    if (ordered !== undefined) ordered[name] = one
  }
  return ordered ?? object
}

function sorted(given: readonly string[]): readonly string[] {
  for (const known of LAST_NAMES) if (isSameList(known.given, given)) return known.names ?? given
  const names = isSorted(given) ? undefined : given.toSorted()
  // One object with a million names must not be held for its names.
  if (given.length <= MAX_KNOWN_LIST) {
    LAST_NAMES[nextLastName] = { given, names }
    nextLastName = (nextLastName + 1) % MAX_LAST_NAMES
  }
  return names ?? given
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
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
export function parseJsonOrUndefined(text: string | undefined): Json | undefined {
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
export function parseReceivedJson(text: string | undefined): Json | undefined {
  const whole = text?.toWellFormed()
  if (whole === undefined || !HALF.test(whole)) return parseJsonOrUndefined(whole)
  return parseJsonOrUndefined(whole.replaceAll(ESCAPE, (escape) => (isHalf(escape) ? String.raw`\ufffd` : escape)))
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

// Strict JSON: what a stranger sent, read so that everybody behind us reads the same.
//
//   bytes ──▶ UTF-8 ──▶ JSON.parse ──▶ one scan over the text ──▶ value
//
// The scan finds what JSON.parse lets pass and what later stages (hashing, signing, another parser in a peer) would
// stumble over: a key given twice, nesting without end, half a surrogate pair, a number too big to be one.

export interface JsonFault {
  readonly kind:
    | 'not-utf8'
    | 'not-json'
    | 'too-deep'
    | 'duplicate-key'
    | 'forbidden-key'
    | 'broken-text'
    | 'huge-number'
  readonly message: string
}

export const MAX_JSON_DEPTH = 64

/** A byte order mark is kept: no JSON begins with one. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function parseStrictJson(bytes: Uint8Array): Result<Json, JsonFault> {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return fail({ kind: 'not-utf8', message: 'The text is not valid UTF-8.' })
  }
  return parseStrictJsonText(text)
}

export function parseStrictJsonText(text: string): Result<Json, JsonFault> {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return fail({ kind: 'not-json', message: 'The text is not valid JSON.' })
  }
  const fault = scan(text)
  return fault === undefined ? ok(value) : fail(fault)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39

/** The keys seen in each open object; `undefined` for an open array. */
type Open = Set<string> | undefined

/** Trusts that the text is JSON, because JSON.parse has said so. */
function scan(text: string): JsonFault | undefined {
  const open: Open[] = []
  let keyComes = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = endOfString(text, at)
      const fault = checkString(text.slice(at, end), keyComes ? open.at(-1) : undefined)
      if (fault !== undefined) return fault
      keyComes = false
      at = end - 1
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (open.length === MAX_JSON_DEPTH)
        return { kind: 'too-deep', message: `Objects and arrays are nested deeper than ${MAX_JSON_DEPTH} levels.` }
      keyComes = code === OPEN_OBJECT
      open.push(keyComes ? new Set() : undefined)
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      open.pop()
      keyComes = false
    } else if (code === COMMA) {
      keyComes = open.at(-1) !== undefined
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const end = endOfNumber(text, at)
      // JSON.parse reads 1e999 as Infinity, which no JSON can say again.
      if (!Number.isFinite(Number(text.slice(at, end))))
        return { kind: 'huge-number', message: 'A number is too large to be represented.' }
      at = end - 1
    }
  }
  return undefined
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === QUOTE) return at + 1
  }
  return text.length
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1
  // '+', '-', '.', digits, 'E' and 'e': nothing else continues a number, and none of these can follow one.
  while (at < text.length && /[-+.0-9Ee]/.test(text.charAt(at))) at++
  return at
}

function checkString(literal: string, keys: Open): JsonFault | undefined {
  let text = literal.slice(1, -1)
  if (literal.includes('\\')) {
    text = JSON.parse(literal) as string
    if (!text.isWellFormed()) return { kind: 'broken-text', message: 'A string holds half of a surrogate pair.' }
  }
  if (keys === undefined) return undefined
  // As an own property it is harmless; copied by assignment it would replace a prototype.
  if (text === '__proto__') return { kind: 'forbidden-key', message: 'The key "__proto__" is not accepted.' }
  if (keys.has(text)) return { kind: 'duplicate-key', message: `The key ${JSON.stringify(text)} is given twice.` }
  keys.add(text)
  return undefined
}
