/**
 * Name index: all aliases of one kind, prepared so that a query touches only what it can match.
 *
 *   words      word ▸ aliases with it                      shared words
 *   concepts   concept ▸ aliases with it                   shared meaning
 *   joined     all aliases in one text, searched once      begins with, contains
 *   by strict, by normal, by skeleton                      equal, and the query's own beginnings
 */
import type { Alias } from './alias.ts'
import { findConceptsInText } from './name-concepts.ts'
import { normaliseName, toConfusableSkeleton, toStrictNameKey, splitNameTokens } from './name-normalisation.ts'

export interface NameIndex {
  readonly aliases: readonly Alias[]
  readonly normals: readonly string[]
  /** The target of each alias, as a position in `ids`. */
  readonly targets: Int32Array
  readonly ids: readonly number[]
  readonly wordCounts: Uint8Array
  readonly words: ReadonlyMap<string, readonly number[]>
  readonly concepts: ReadonlyMap<string, readonly number[]>
  /** The concepts of each alias. */
  readonly meanings: readonly (readonly string[])[]
  readonly byStrict: ReadonlyMap<string, readonly number[]>
  readonly byNormal: ReadonlyMap<string, readonly number[]>
  readonly bySkeleton: ReadonlyMap<string, readonly number[]>
  readonly joined: string
  readonly starts: Int32Array
}

/** No normalised text contains it, so no match spans two aliases. */
const BREAK = '\n'

/** Longer names are left out; such a thing can still be found by its number. */
const MAX_ALIAS = 500

export function buildNameIndex(given: readonly Alias[]): NameIndex {
  const named = given
    .filter((alias) => alias.text.length <= MAX_ALIAS)
    .map((alias) => ({ alias, normal: normaliseName(alias.text) }))
    .filter(({ normal }) => normal !== '')
  const aliases = named.map(({ alias }) => alias)
  const normals = named.map(({ normal }) => normal)
  const words = new Map<string, number[]>()
  const wordCounts = new Uint8Array(aliases.length)
  const concepts = new Map<string, number[]>()
  const meanings = normals.map(findConceptsInText)
  const starts = new Int32Array(aliases.length)
  let at = BREAK.length
  for (const [position, normal] of normals.entries()) {
    const tokens = splitNameTokens(normal)
    wordCounts[position] = Math.min(255, tokens.length)
    for (const token of tokens) add(words, token, position)
    for (const concept of meanings[position] ?? []) add(concepts, concept, position)
    starts[position] = at
    at += normal.length + BREAK.length
  }
  const ids = [...new Set(aliases.map((alias) => alias.id))]
  const places = new Map(ids.map((id, place) => [id, place]))
  return {
    aliases,
    normals,
    targets: Int32Array.from(aliases, (alias) => places.get(alias.id) ?? 0),
    ids,
    wordCounts,
    words,
    concepts,
    meanings,
    byStrict: grouped(aliases.map((alias) => toStrictNameKey(alias.text))),
    byNormal: grouped(normals),
    bySkeleton: grouped(aliases.map((alias) => toConfusableSkeleton(alias.text))),
    joined: `${BREAK}${normals.join(BREAK)}${BREAK}`,
    starts,
  }
}

function grouped(keys: readonly string[]): ReadonlyMap<string, readonly number[]> {
  return Map.groupBy(keys.keys(), (position) => keys[position] ?? '')
}

function add(groups: Map<string, number[]>, key: string, position: number): void {
  const positions = groups.get(key)
  if (positions === undefined) groups.set(key, [position])
  else positions.push(position)
}
