/**
 * Word search: where else the texts of a body occur. A call that creates a task leaves its title in the arguments, in
 * the task's entry and in the answer: a person who erases one of them is told of the others, in any script, with or
 * without spaces, also inside a longer text.
 *
 * Pure: it reads through what it is given.
 */
import { canonicalJson, isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { decodeEntryBody } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'

interface WordPlaces {
  readonly size: number
  readonly body: (seq: number) => SaltedBody | undefined
  readonly entry: (seq: number) => { readonly bytes: Uint8Array } | undefined
}

export interface WordSearchResult {
  /** Entries whose bodies contain one of the texts: they can be erased as well. */
  readonly bodies: readonly number[]
  /** Entries that contain one themselves: those stay for good. */
  readonly entries: readonly number[]
}

/** Rows per piece, which take a few milliseconds. */
const PIECE = 500
/** A person who is told of this many erases them and asks again. */
const MAX_NAMED = 100
/** Shorter texts occur everywhere. */
const MIN_LENGTH = 2
/** Times, numbers, hashes, ids and other texts that nobody wrote. */
const NO_WORDS =
  /^(?:[\d.:+-]+|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{16,}|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Za-z0-9+/_-]{40,}={0,2})$/
/** Values that our own tools define: they say nothing about anybody. */
const OUR_WORDS = new Set(
  `INIT GATHER ANALYZE PLAN APPLY VERIFY DONE CANCELLED plan analysis decision reflection reads records writes sensitive
   admin agent approver observer mcp-http mcp-stdio api mesh service ok error denied aborted true false null on off
   [erased] [redacted]`.split(/\s+/),
)
/** Scripts that are written without spaces: a word may end between any two characters. */
const SPACELESS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const WORD_CHARACTER = /[\p{L}\p{N}]/u

/** Yields after each piece. */
export function* findWordsInLedger(
  places: WordPlaces,
  words: readonly string[],
): Generator<undefined, WordSearchResult, void> {
  const found = { bodies: [] as number[], entries: [] as number[] }
  if (words.length === 0) return found
  const finder = createWordFinder(words)
  for (let from = 0; from < places.size; from += PIECE) {
    for (let seq = from; seq < Math.min(from + PIECE, places.size); seq++) {
      const [body, entry] = [places.body(seq)?.body, places.entry(seq)?.bytes]
      if (body !== undefined && found.bodies.length < MAX_NAMED && finder(body)) found.bodies.push(seq)
      if (entry !== undefined && found.entries.length < MAX_NAMED && finder(entry)) found.entries.push(seq)
    }
    yield
  }
  return found
}

/** Returns a test for canonical JSON that contains one of the texts. */
export function createWordFinder(words: readonly string[]): (bytes: Uint8Array) => boolean {
  // As canonical JSON escapes the text inside its quotes.
  const needles = words
    .map((word) => canonicalJson(word).slice(1, -1))
    .map((text) => ({ text, bytes: Buffer.from(text) }))
  return (bytes) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    const hits = needles.filter((needle) => buffer.includes(needle.bytes))
    if (hits.length === 0) return false
    const text = buffer.toString('utf8')
    return hits.some((needle) => hasWord(text, needle.text))
  }
}

/** The texts that somebody wrote: names, addresses and sentences. */
export function listWordsInBody(body: Uint8Array): readonly string[] {
  return [...new Set(textsIn(decodeEntryBody(body)).map((text) => text.trim()))].filter(
    (text) => text.length >= MIN_LENGTH && !NO_WORDS.test(text) && !OUR_WORDS.has(text),
  )
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const end = at + word.length
    if (
      !isJoined(characterBefore(text, at), characterAt(text, at)) &&
      !isJoined(characterBefore(text, end), characterAt(text, end))
    )
      return true
  }
  return false
}

function characterAt(text: string, index: number): string {
  const code = text.codePointAt(index)
  return code === undefined ? '' : String.fromCodePoint(code)
}

/** The character that ends there, which may be a surrogate pair. */
function characterBefore(text: string, index: number): string {
  if (index === 0) return ''
  const isHalf = index > 1 && /[\uDC00-\uDFFF]/.test(text.charAt(index - 1))
  return characterAt(text, index - (isHalf ? 2 : 1))
}

/** Whether two neighbouring characters belong to one word. */
function isJoined(left: string, right: string): boolean {
  const isPart = (character: string): boolean => WORD_CHARACTER.test(character) && !SPACELESS.test(character)
  return isPart(left) && isPart(right)
}

function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : []
}
