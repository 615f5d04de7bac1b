/**
 * Untrusted text: what a device, a peer node or a HomeSeer system wrote, cleaned for models, people and logs.
 *
 * Nothing invisible gets through: control and format characters (bidirectional overrides, zero-width joiners, tag
 * letters), private and unassigned code points, variation selectors, blank letters. A reader cannot be instructed by
 * text that the person beside it does not see.
 */
import { parseJsonReplacingLoneSurrogates } from './json.ts'
import type { Json, JsonObject } from './json.ts'

const INVISIBLE =
  '\\p{Cc}\\p{Cf}\\p{Co}\\p{Cn}\\p{Cs}\\u{FE00}-\\u{FE0F}\\u{E0100}-\\u{E01EF}\\u{115F}\\u{1160}\\u{17B4}\\u{17B5}\\u{3164}\\u{FFA0}\\u{2800}\\u2028\\u2029'
const ANY_INVISIBLE = new RegExp(`[${INVISIBLE}]`, 'gu')
/** The same without tab, line feed and carriage return, which results use for their layout. */
const INVISIBLE_IN_LINES = new RegExp(`(?![\\t\\n\\r])[${INVISIBLE}]`, 'gu')
/** Printable ASCII and line layout: most of what is ever answered, and found by one quick look. */
// oxlint-disable-next-line no-control-regex -- the three control characters that are allowed are named here
const PLAIN = /^[\t\n\r\x20-\x7E]*$/
/** More marks than any script puts on one letter; a pile of marks would cover the lines around it. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu
/** How many characters are read for each one that is shown: what comes after that is padding. */
const READ_PER_SHOWN = 8

/** One line of visible text, at most `max` characters. */
export function sanitizeLine(text: string, max: number): string {
  const read = text.length <= max * READ_PER_SHOWN ? text : `${text.slice(0, max * READ_PER_SHOWN)}…`
  const line = read
    // Line breaks separate words; everything else that is invisible is removed without a gap.
    .replaceAll(/[\p{Zl}\p{Zp}\p{Zs}\t\n\r\v\f]+/gu, ' ')
    .replaceAll(ANY_INVISIBLE, '')
    .replaceAll(PILED_MARKS, '$1')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
  const characters = Array.from(line)
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join('')}…`
}

/** Whole text with its line breaks, without what is invisible. */
export function sanitizeText(text: string): string {
  return PLAIN.test(text) ? text : text.replaceAll(INVISIBLE_IN_LINES, '').replaceAll(PILED_MARKS, '$1')
}

/** Everything invisible, line layout included, as the caller wants it marked. */
export function replaceInvisible(text: string, replace: (found: string) => string): string {
  return text.replaceAll(ANY_INVISIBLE, replace)
}

/** Whether a model could be shown this text and send it back unchanged. */
export function isPrintableText(text: string): boolean {
  return sanitizeText(text) === text
}

const HIDDEN_IN_JSON = new RegExp(`(?![\\t\\n\\r])[${INVISIBLE}]|\\\\u`, 'u')

/**
 * The value of an untrusted text, as `parseJsonReplacingLoneSurrogates` returns it, cleaned. One test of the whole text shows whether
 * anything has to be done.
 */
export function parseAndSanitizeJson(text: string | undefined): Json | undefined {
  const value = parseJsonReplacingLoneSurrogates(text)
  return value !== undefined && text !== undefined && HIDDEN_IN_JSON.test(text) ? sanitizeJson(value) : value
}

/** Cleans every text in a value, and every member's name. A value that is already clean stays the same object. */
export function sanitizeJson(value: Json): Json {
  if (typeof value === 'string') return sanitizeText(value)
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? visibleItems(value as readonly Json[]) : visibleMembers(value as JsonObject)
}

/** Copied only where something changes: most answers are long lists in which nothing does. */
function visibleItems(items: readonly Json[]): readonly Json[] {
  let copy: Json[] | undefined
  for (let index = 0; index < items.length; index++) {
    const item = items[index] as Json
    const shown = sanitizeJson(item)
    if (shown === item) continue
    copy ??= [...items]
    copy[index] = shown
  }
  return copy ?? items
}

/** Each member is visited once: visiting it twice would mean 2ⁿ visits at n levels. */
function visibleMembers(object: JsonObject): JsonObject {
  const names = Object.keys(object)
  let copy: [string, Json][] | undefined
  for (const [index, name] of names.entries()) {
    const member = object[name] as Json
    const [shownName, shown] = [sanitizeText(name), sanitizeJson(member)]
    if (copy === undefined && shownName === name && shown === member) continue
    copy ??= names.slice(0, index).map((each) => [each, object[each] as Json])
    copy.push([shownName, shown])
  }
  return copy === undefined ? object : Object.fromEntries(copy)
}

/** The text, cut so that its JSON string has at most so many bytes, quotes and escapes included. */
export function cutToJsonBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(JSON.stringify(text)) <= maxBytes) return text
  let end = Math.min(text.length, maxBytes)
  while (Buffer.byteLength(JSON.stringify(text.slice(0, end))) > maxBytes - 8) end = Math.floor(end * 0.9)
  return `${text.slice(0, end).toWellFormed()} …`
}
