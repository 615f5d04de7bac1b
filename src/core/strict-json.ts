/**
 * Strict JSON: what a stranger sent, read so that everybody behind us reads the same.
 *
 *   bytes ──▶ UTF-8 ──▶ JSON.parse ──▶ one scan over the text ──▶ value
 *
 * The scan finds what JSON.parse lets pass and what later stages (hashing, signing, another parser in a peer) would
 * stumble over: a key given twice, nesting without end, half a surrogate pair, a number too big to be one.
 *
 * Pure.
 */
import { isUtf8 } from 'node:buffer'
import type { Json } from './json.ts'
import type { Result } from './result.ts'
import { fail, ok } from './result.ts'

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

export const MAX_DEPTH = 64

export function readJson(bytes: Uint8Array): Result<Json, JsonFault> {
  if (!isUtf8(bytes)) return fail({ kind: 'not-utf8', message: 'The text is not valid UTF-8.' })
  return readJsonText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
}

export function readJsonText(text: string): Result<Json, JsonFault> {
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
      if (open.length === MAX_DEPTH)
        return { kind: 'too-deep', message: `Objects and arrays are nested deeper than ${MAX_DEPTH} levels.` }
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
