/**
 * Same words: where the sentences of a body stand a second time. A call that makes a task leaves its title in the
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

/** Entries whose body has one of the phrases, in order. Yields after each piece. */
export function* entriesWith(
  ledger: Bodies,
  phrases: readonly string[],
): Generator<undefined, readonly number[], void> {
  const found: number[] = []
  if (phrases.length === 0) return found
  // As canonical JSON spells a value: a phrase inside a longer text is another text.
  const needles = phrases.map((phrase) => Buffer.from(canonicalJson(phrase)))
  for (let from = 0; from < ledger.size; from += PIECE) {
    for (let seq = from; seq < Math.min(from + PIECE, ledger.size); seq++) {
      const body = ledger.body(seq)?.body
      if (body === undefined) continue
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
      if (needles.some((needle) => bytes.includes(needle))) found.push(seq)
      if (found.length >= MAX_NAMED) return found
    }
    yield
  }
  return found
}

/** What somebody wrote in more than one word: single ones, such as a status, stand everywhere. */
export function phrasesIn(body: Uint8Array): readonly string[] {
  return [...new Set(textsIn(decodeBody(body)))].filter((text) => /\S\s+\S/u.test(text))
}

function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : []
}
