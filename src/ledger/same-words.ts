/**
 * Same words: where the words of a body stand a second time. A call that makes a task leaves its title in the
 * arguments, in the task's entry and in the answer: who erases one of them is told of the others.
 *
 * Pure: it reads through what it is given.
 */
import { canonicalJson, isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { decodeBody } from './body.ts'
import type { SaltedBody } from './body-records.ts'

interface Bodies {
  readonly size: number
  readonly body: (seq: number) => SaltedBody | undefined
}

/** Bodies per piece: a few milliseconds. */
const PIECE = 500
/** Whoever is told of so many erases them and asks again. */
const MAX_NAMED = 100
const MAX_OF_PLAIN_WORD = 20

/** Entries whose body has one of the phrases, alone or inside a longer text, in order. Yields after each piece. */
export function* entriesWith(
  ledger: Bodies,
  phrases: readonly string[],
): Generator<undefined, readonly number[], void> {
  const needles = phrases.map((phrase) => ({ ...spelling(phrase), found: [] as number[] }))
  for (let from = 0; needles.length > 0 && from < ledger.size; from += PIECE) {
    for (let seq = from; seq < Math.min(from + PIECE, ledger.size); seq++) {
      const body = ledger.body(seq)?.body
      if (body === undefined) continue
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
      for (const { text, found } of needles) if (bytes.includes(text)) found.push(seq)
    }
    yield
  }
  // A plain word that stands in very many entries, such as a status, says nothing about whom it was written.
  const named = needles.filter(({ isPlain, found }) => !isPlain || found.length <= MAX_OF_PLAIN_WORD)
  const found = new Set(named.flatMap((needle) => needle.found))
  return [...found].toSorted((one, other) => one - other).slice(0, MAX_NAMED)
}

/** What somebody may have written: names, addresses and sentences in any script, but no numbers, hashes and ids. */
export function phrasesIn(body: Uint8Array): readonly string[] {
  return [...new Set(textsIn(decodeBody(body)))].filter((text) => LETTERS.test(text) && !MACHINE.test(text))
}

/** Two letters are a name in Chinese. */
const LETTERS = /\p{L}[\p{M}\s]*\p{L}/u
/** Hex of hashes and salts, ULIDs, times, and words with underscores or dots in them as programs use. */
const MACHINE =
  /^(?:[0-9a-f]{16,}|[0-9A-HJKMNP-TV-Z]{26}|\d{4}-\d\d-\d\dT[\d:.]+Z|[A-Z][A-Z_]+|[a-z0-9]+(?:[_.][a-z0-9]+)+)$/
const PLAIN_WORD = /^[A-Za-z0-9-]+$/

/**
 * As canonical JSON spells it inside a text. A plain word has to be a value of its own: `an` is in every other text.
 */
function spelling(phrase: string): { readonly text: string; readonly isPlain: boolean } {
  const isPlain = PLAIN_WORD.test(phrase)
  const text = canonicalJson(phrase)
  return { text: isPlain ? text : text.slice(1, -1), isPlain }
}

function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : []
}
