/**
 * Word search: where else the texts of a body occur. A call that creates a task leaves its title in the arguments, in
 * the task's entry and in the answer: a person who erases one of them is told of the others, in any script, with or
 * without spaces, in upper or lower case, also inside a longer text.
 *
 * Pure: it reads through what it is given.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { decodeEntryBody } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'

export interface WordPlaces {
  readonly size: number
  readonly body: (seq: number) => SaltedBody | undefined
  readonly entry: (seq: number) => { readonly bytes: Uint8Array } | undefined
  /** Whether the stored body is not the one that the entry commits to, so that its texts cannot be searched. */
  readonly isAltered: (seq: number) => boolean
}

export interface WordSearchResult {
  /** Entries whose bodies contain one of the texts. They can be erased as well. */
  readonly bodies: readonly number[]
  /** Entries that contain one of the texts themselves. They can never be erased. */
  readonly entries: readonly number[]
  readonly altered: readonly number[]
}

/** How many rows are searched per piece, which takes a few milliseconds. */
const PIECE = 500
/** How many finds are named. A person who is told of this many erases them and asks again. */
const MAX_NAMED = 100
/** Shorter texts occur everywhere, so they are not searched for. */
const MIN_LENGTH = 2
/** Texts of this length are found inside a longer word, too: most languages inflect names, and some join them. */
const MIN_LENGTH_INSIDE = 5
/** How deeply JSON may be nested in strings of JSON: an answer has one level, a recorded answer two. */
const MAX_NESTING = 4
/** Times, dates, short numbers, hashes, ids and other texts that no person wrote. */
const NO_WORDS =
  /^(?:(?:[.:+-]*\d){0,6}[.:+-]*|\d{4}-\d\d-\d\d|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{16,}|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Za-z0-9+/_-]{40,}={0,2})$/
/** Values that our own tools define: they say nothing about anybody. */
const OUR_WORDS = new Set(
  `INIT GATHER ANALYZE PLAN APPLY VERIFY DONE CANCELLED plan analysis decision reflection reads records writes sensitive
   admin agent approver observer mcp-http mcp-stdio api mesh service ok error denied aborted true false null on off
   [erased] [redacted]`
    .split(/\s+/)
    .map(foldText),
)
/** Scripts without spaces, or in which particles are joined to words: a word may end between any two characters. */
const SPACELESS =
  /[\p{Script=Hangul}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const WORD_CHARACTER = /[\p{L}\p{N}]/u

/** Yields after each piece. */
export function* findTextsInLedger(
  places: WordPlaces,
  words: readonly string[],
): Generator<undefined, WordSearchResult, void> {
  const found = { bodies: [] as number[], entries: [] as number[], altered: [] as number[] }
  if (words.length === 0) return found
  const finder = createAnyWordPredicate(words)
  for (let from = 0; from < places.size; from += PIECE) {
    for (let seq = from; seq < Math.min(from + PIECE, places.size); seq++) {
      const [body, entry] = [places.body(seq)?.body, places.entry(seq)?.bytes]
      if (body !== undefined && found.bodies.length < MAX_NAMED && finder(body)) found.bodies.push(seq)
      if (found.altered.length < MAX_NAMED && places.isAltered(seq)) found.altered.push(seq)
      if (entry !== undefined && found.entries.length < MAX_NAMED && finder(entry)) found.entries.push(seq)
    }
    yield
  }
  return found
}

/**
 * Returns a test for JSON that contains one of the texts: also in other case, in another Unicode form of the same
 * characters, and in JSON that is itself a string of the JSON, as in the answer of a tool.
 */
export function createAnyWordPredicate(words: readonly string[]): (bytes: Uint8Array) => boolean {
  const needles = [...new Set(words.map(foldText))].filter((needle) => needle !== '')
  return (bytes) => {
    let text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
    for (let depth = 0; depth <= MAX_NESTING; depth++) {
      const folded = foldText(text)
      if (needles.some((needle) => hasWord(folded, needle))) return true
      if (!text.includes('\\')) return false
      text = undoJsonEscapes(text)
    }
    return false
  }
}

/** The texts in a body that a person wrote: names, addresses, telephone numbers and sentences. */
export function listHumanTextsInBody(body: Uint8Array): readonly string[] {
  return [...new Set(listTexts(decodeEntryBody(body)).map((text) => text.trim()))].filter(
    (text) => isLongEnough(text) && !NO_WORDS.test(text) && !OUR_WORDS.has(foldText(text)),
  )
}

function isLongEnough(text: string): boolean {
  return text.length >= MIN_LENGTH || SPACELESS.test(text)
}

/**
 * Folds a text so that two texts that a reader takes for the same are equal. Upper case is applied last, because `ς`
 * and `σ`, `ß` and `ss` share it.
 */
function foldText(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
    .toUpperCase()
    .normalize('NFC')
}

function undoJsonEscapes(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/g, (_, code: string | undefined, character: string) =>
    code === undefined ? (CONTROL_ESCAPES[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

const CONTROL_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

function hasWord(text: string, word: string): boolean {
  const mayBeInside = word.length >= MIN_LENGTH_INSIDE
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const end = at + word.length
    if (
      mayBeInside ||
      (!isJoined(characterBefore(text, at), characterAt(text, at)) &&
        !isJoined(characterBefore(text, end), characterAt(text, end)))
    )
      return true
  }
  return false
}

function characterAt(text: string, index: number): string {
  const code = text.codePointAt(index)
  return code === undefined ? '' : String.fromCodePoint(code)
}

/** The character that ends at this index, which may be a surrogate pair. */
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

/** The strings of a value, and of JSON that stands in a string. */
function listTexts(root: Json | undefined): readonly string[] {
  const texts: string[] = []
  const waiting: { readonly value: Json | undefined; readonly nesting: number }[] = [{ value: root, nesting: 0 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, nesting } = next
    const nested = typeof value === 'string' && nesting < MAX_NESTING ? parseNestedJson(value) : undefined
    if (nested !== undefined) waiting.push({ value: nested, nesting: nesting + 1 })
    else if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) for (const item of value) waiting.push({ value: item, nesting })
    else if (isJsonObject(value)) for (const item of Object.values(value)) waiting.push({ value: item, nesting })
  }
  return texts
}

function parseNestedJson(text: string): Json | undefined {
  if (!/^\s*[[{"]/.test(text)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
