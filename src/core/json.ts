/**
 * JSON: values that can be sent, the canonical form that is hashed and signed (RFC 8785), and how untrusted text is
 * parsed.
 */
import canonicalizeValue from 'canonicalize'
import type { Result } from './result.ts'
import { fail, ok } from './result.ts'

export type JsonPrimitive = string | number | boolean | null
export type Json = JsonPrimitive | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/**
 * RFC 8785 text. Throws on what JSON cannot express (undefined at the root, NaN, lone surrogates): only our own code
 * can cause that.
 */
export function canonicalJson(value: unknown): string {
  const text = plainText(value) ?? canonicalizeValue(value)
  if (text === undefined) throw new TypeError('undefined has no canonical JSON')
  return text
}

/**
 * The value as everybody reads it from its JSON text: the same object where it is plain data, else a copy. Throws on
 * what JSON cannot express, and on what is nested deeper than other nodes accept.
 */
export function toPlainJson(value: unknown): Json {
  if (inOrder(value, PLAIN_DEPTH) !== NOT_PLAIN) return value as Json
  // Throws on a cycle, which the next check would follow for ever.
  canonicalJson(value)
  if (!isNestedWithinDepth(value, MAX_JSON_DEPTH - 1))
    throw new RangeError(`nested deeper than ${MAX_JSON_DEPTH} levels`)
  return JSON.parse(JSON.stringify(value)) as Json
}

/** The members that have a value: JSON has no `undefined`. */
export function omitUndefined<Members extends object>(
  members: Members,
): { readonly [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Members
}

/** One member's name in a JSON Pointer (RFC 6901 § 3). */
export function escapeJsonPointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

export function unescapeJsonPointerToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The same with its RFC 8785 text, so that what is hashed is what is sent. */
export function toJsonWithCanonicalText(value: unknown): { readonly text: string; readonly value: Json } {
  const text = plainText(value)
  if (text !== undefined) return { text, value: value as Json }
  const plain = toPlainJson(value)
  return { text: canonicalJson(plain), value: plain }
}

/**
 * Whether a text is the canonical form of the value that was parsed from it: two spellings of one value would have two
 * hashes.
 */
export function isCanonicalJsonText(text: string, value: Json): boolean {
  if (isPlainCanonicalText(text, value)) return true
  try {
    return canonicalJson(value) === text
  } catch {
    return false
  }
}

/**
 * A quick check that recognises the canonical form of nearly every stored text without serialising the value again. The
 * text is valid JSON, since the value was parsed from it. So it is canonical if no string in it is escaped, the names
 * of each object are in order and none occurs twice, and nothing between the strings can be spelled in another way.
 * `false` means that the quick check cannot tell.
 */
function isPlainCanonicalText(text: string, value: Json): boolean {
  if (text.includes('\\') || !text.isWellFormed()) return false
  const names = countNamesInOrder(value, PLAIN_DEPTH)
  return names >= 0 && countColons(text, { isSpaced: false }) === names
}

/**
 * The number of colons outside of the strings of a JSON text without escapes; `undefined` where only a full scan can
 * tell: beside a number that is no short integer, below `MAX_JSON_DEPTH`, and at a space that is not allowed.
 */
function countColons(text: string, { isSpaced }: { readonly isSpaced: boolean }): number | undefined {
  let [colons, depth] = [0, 0]
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = text.indexOf('"', at + 1) + 1
    else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      at = endOfInteger(text, at)
      if (at < 0) return undefined
    } else {
      // What is left of JSON is space, `true`, `false`, `null`, and what joins values.
      if (code <= SPACE && !isSpaced) return undefined
      if (code === COLON) colons += 1
      else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth += 1
      else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1
      if (depth > MAX_JSON_DEPTH) return undefined
      at += 1
    }
  }
  return colons
}

/**
 * The number of names in all objects of the value; negative where the names of one object are not in order, or may have
 * been written in another order.
 */
function countNamesInOrder(value: Json, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth === 0) return NOT_IN_ORDER
  let count = 0
  if (Array.isArray(value)) {
    for (const one of value as readonly Json[]) count += countNamesInOrder(one, depth - 1)
    return count
  }
  const names = Object.keys(value)
  // The engine lists integer-like names first, wherever they stood in the text.
  if (sorted(names) !== names || startsWithDigit(names[0] ?? '')) return NOT_IN_ORDER
  for (const name of names) {
    const member = (value as JsonObject)[name]
    if (typeof member === 'object') count += countNamesInOrder(member, depth - 1)
  }
  return count + names.length
}

/** A larger number than any text can have names. */
const NOT_IN_ORDER = -(2 ** 40)

/**
 * The index after an integer; negative for a number that might be written in another way: a fraction, an exponent, −0,
 * more digits than are exact.
 */
function endOfInteger(text: string, start: number): number {
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start
  let at = first
  while (isDigit(text.charCodeAt(at))) at += 1
  const next = text.charCodeAt(at)
  const goesOn = next === DOT || next === UPPER_E || next === LOWER_E
  return goesOn || at - first > EXACT_DIGITS || (first > start && text.charCodeAt(first) === ZERO) ? -1 : at
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

/** Deeper than any answer of ours, and far from a stack overflow. */
const PLAIN_DEPTH = 32
const ESCAPED_SURROGATE = String.raw`\ud`
const NOT_PLAIN = Symbol('not plain')

/**
 * Every call is hashed, and nearly everything that is hashed is plain data: the engine serialises that several times
 * faster than any script, and in the form that RFC 8785 § 3.2.2 prescribes, once the keys are in order. `undefined` for
 * everything else, which is left to the library.
 */
function plainText(value: unknown): string | undefined {
  const ordered = inOrder(value, PLAIN_DEPTH)
  if (ordered === NOT_PLAIN) return undefined
  const text = JSON.stringify(ordered)
  // The engine escapes a lone surrogate, which RFC 8785 forbids.
  return text.includes(ESCAPED_SURROGATE) ? undefined : text
}

/**
 * Names that were sorted before: rows of a list share them, and so do events of a kind. Comparing names costs far more
 * than finding that they are the same ones.
 */
interface SortedNames {
  readonly given: readonly string[]
  /** Absent where they were already in order. */
  readonly names: readonly string[] | undefined
}

/** The newest replace the oldest. */
const LAST_NAMES: SortedNames[] = []
const MAX_LAST_NAMES = 16
const MAX_KNOWN_LIST = 64
let nextLastName = 0

/** The same data with its keys in order. A value whose keys are already in order is returned as it is. */
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
  // An object is copied only when the first difference is found.
  let ordered: Record<string, unknown> | undefined = names === given ? undefined : {}
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? ''
    const member = (object as Record<string, unknown>)[name]
    const one = member === undefined ? undefined : inOrder(member, depth - 1)
    // The engine puts integer-like names first whatever the order of assignment, and treats `__proto__` specially.
    if (one === NOT_PLAIN || name === '__proto__' || (name !== given[index] && startsWithDigit(name))) return NOT_PLAIN
    if (ordered === undefined && one !== member) ordered = { ...object }
    if (ordered !== undefined) ordered[name] = one
  }
  return ordered ?? object
}

function sorted(given: readonly string[]): readonly string[] {
  for (const known of LAST_NAMES) if (isSameList(known.given, given)) return known.names ?? given
  const names = isSorted(given) ? undefined : given.toSorted()
  // The names of an object with a million members must not stay in memory.
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

/** Names that were in canonical order when they were parsed still are. */
function isSorted(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index++) if ((names[index - 1] ?? '') > (names[index] ?? '')) return false
  return true
}

function startsWithDigit(name: string): boolean {
  return isDigit(name.charCodeAt(0))
}

/** The parsed value; `undefined`, which is not a JSON value, for text that is not JSON. */
export function parseJsonOrUndefined(text: string | undefined): Json | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}

/** Matches every escape as a whole and a surrogate pair as one, so that what remains of a pair is a lone surrogate. */
const ESCAPE = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)/g
const HALF = /\\u[dD][89a-fA-F]/

/**
 * The value of an untrusted text. Plug-ins and firmware count UTF-16 units: a title that was cut may end in half of an
 * emoji, which other wires cannot carry. It is read as U+FFFD, so that one such text does not make the whole answer
 * unreadable.
 */
export function parseJsonReplacingLoneSurrogates(text: string | undefined): Json | undefined {
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

/** The limit for another node's answers; far deeper than any real answer is. */
export const MAX_REMOTE_JSON_DEPTH = 64

export function isNestedWithinDepth(value: unknown, levels: number): boolean {
  return countMembersWithinDepth(value, levels) !== undefined
}

/**
 * How many members and items a value has at all levels; `undefined` where it is nested deeper than that many levels.
 * Counted level by level without recursion: the value is untrusted, and most functions on values recurse as deep as the
 * value does.
 */
export function countMembersWithinDepth(value: unknown, levels: number): number | undefined {
  let level: readonly unknown[] = [value]
  let members = 0
  for (let depth = 0; depth <= levels; depth++) {
    const below: unknown[] = []
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue
      if (Array.isArray(each)) {
        members += each.length
        for (const item of each as readonly unknown[]) if (typeof item === 'object' && item !== null) below.push(item)
        continue
      }
      // Iterates over names: a list of all values of a large object takes longer to make than to read.
      const names = Object.keys(each)
      members += names.length
      for (const name of names) {
        const member = (each as Readonly<Record<string, unknown>>)[name]
        if (typeof member === 'object' && member !== null) below.push(member)
      }
    }
    if (below.length === 0) return members
    level = below
  }
  return undefined
}

// Strict JSON: parses untrusted text so that every later reader gets the same value.
//
//   bytes ──▶ UTF-8 ──▶ JSON.parse ──▶ one scan over the text ──▶ value
//
// The scan finds what JSON.parse accepts and what later stages (hashing, signing, another parser in a peer) would fail
// on: a duplicate key, endless nesting, half a surrogate pair, a number beyond the range of a double.

export interface StrictJsonFault {
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

export function parseStrictJsonBytes(bytes: Uint8Array): Result<Json, StrictJsonFault> {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return fail({ kind: 'not-utf8', message: 'The text is not valid UTF-8.' })
  }
  return parseStrictJsonText(text)
}

export function parseStrictJsonText(text: string): Result<Json, StrictJsonFault> {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return fail({ kind: 'not-json', message: 'The text is not valid JSON.' })
  }
  if (isPlainStrictText(text, value)) return ok(value)
  const fault = scan(text)
  return fault === undefined ? ok(value) : fail(fault)
}

/**
 * A quick check that finds nothing wrong in nearly every text: nothing in it is escaped, every number is a short
 * integer, and the value has as many names as the text, so none occurs twice. `false` means that only `scan` can tell.
 */
function isPlainStrictText(text: string, value: Json): boolean {
  if (text.includes('\\') || text.includes(FORBIDDEN_KEY)) return false
  // Counted first: it finds out whether the value is nested too deep to be walked.
  const colons = countColons(text, { isSpaced: true })
  return colons !== undefined && colons === countNames(value)
}

/** The number of names in all objects of the value. */
function countNames(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const one of value as readonly Json[]) if (typeof one === 'object') count += countNames(one)
    return count
  }
  const names = Object.keys(value)
  for (const name of names) {
    const member = (value as JsonObject)[name]
    if (typeof member === 'object') count += countNames(member)
  }
  return count + names.length
}

// As an own property it is harmless; copied by assignment it would replace a prototype.
const FORBIDDEN_KEY = '__proto__'

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
const SPACE = 0x20
const COLON = 0x3a
const DOT = 0x2e
const UPPER_E = 0x45
const LOWER_E = 0x65
/** Every integer of so many digits is exact in a double. */
const EXACT_DIGITS = 15

/** The keys seen in each open object; `undefined` for an open array. */
type Open = Set<string> | undefined

/** Relies on JSON.parse having accepted the text. */
function scan(text: string): StrictJsonFault | undefined {
  const open: Open[] = []
  const hasEscapes = text.includes('\\')
  let keyComes = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = hasEscapes ? endOfString(text, at) : text.indexOf('"', at + 1) + 1
      const keys = keyComes ? open.at(-1) : undefined
      const fault = hasEscapes || keys !== undefined ? checkString(text.slice(at, end), keys) : undefined
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
      // JSON.parse reads 1e999 as Infinity, which JSON cannot express.
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

function checkString(literal: string, keys: Open): StrictJsonFault | undefined {
  let text = literal.slice(1, -1)
  if (literal.includes('\\')) {
    text = JSON.parse(literal) as string
    if (!text.isWellFormed()) return { kind: 'broken-text', message: 'A string holds half of a surrogate pair.' }
  }
  if (keys === undefined) return undefined
  if (text === FORBIDDEN_KEY) return { kind: 'forbidden-key', message: 'The key "__proto__" is not accepted.' }
  if (keys.has(text)) return { kind: 'duplicate-key', message: `The key ${JSON.stringify(text)} is given twice.` }
  keys.add(text)
  return undefined
}
