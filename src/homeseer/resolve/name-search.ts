/**
 * Name search: every alias a query can mean, scored, the best of each target first.
 *
 * A query is tried unchanged, without filler words, by its concepts, and by its skeleton of look-alike letters. Only
 * the exact name scores one.
 */
import type { Alias } from './alias.ts'
import { findConceptsInText } from './name-concepts.ts'
import { stripFillerWords, listVariantsWithoutOuterFiller } from './filler-words.ts'
import type { NameIndex } from './name-index.ts'
import {
  isEqualIgnoringAccents,
  normaliseName,
  toConfusableSkeleton,
  toStrictNameKey,
  splitNameTokens,
} from './name-normalisation.ts'
import {
  ALIAS_STARTS_WITH_QUERY_SCORE,
  ALIAS_CONTAINS_QUERY_SCORE,
  addConfiguredAliasBonus,
  computeOverlapScore,
  QUERY_STARTS_WITH_ALIAS_SCORE,
} from './name-score.ts'

export interface NameSearchHit {
  readonly id: number
  readonly score: number
  /** Exact only if the strict keys are equal: see `toStrictNameKey`. */
  readonly match: 'exact' | 'fuzzy'
  /** It matches only because some letters look like others. */
  readonly lookAlike: boolean
  readonly alias: Alias
  readonly normalizedAlias: string
  /** The concepts of the alias. */
  readonly concepts: readonly string[]
}

/** Longer than any description of one device. */
const MAX_QUERY = 200
/**
 * Names that are equal except for accents are nearly exact. Names that are equal except for look-alikes do not even get
 * high confidence.
 */
const ACCENT_CAP = 0.99
const FILLER_CAP = 0.98
const LOOK_ALIKE_CAP = 0.89
/** The same concepts in other words. */
const CONCEPT_CAP = 0.88

/** The best hit of each target, best first: score, then what the owner wrote, then the lower id. */
export function searchNames(index: NameIndex, query: string): readonly NameSearchHit[] {
  const searched = query.slice(0, MAX_QUERY)
  const full = normaliseName(searched)
  const scores = new Float64Array(index.aliases.length)
  scoreInto(scores, index, full)
  const stripped = stripFillerWords(full)
  if (stripped !== undefined) scoreInto(scores, index, stripped)
  scoreConcepts(scores, index, searched)
  const looks = toConfusableSkeleton(searched)
  const guesses = new Float64Array(index.aliases.length)
  if (looks !== full) scoreInto(guesses, index, looks)
  for (const position of index.bySkeleton.get(looks) ?? []) guesses[position] = 1
  const values = new Float64Array(index.aliases.length)
  const caps = capsOf(searched)
  for (let position = 0; position < values.length; position++) {
    const score = scores[position] ?? 0
    const guess = guesses[position] ?? 0
    if (score > 0 || guess > 0) values[position] = honestScore(index, position, { caps, score, guess })
  }
  const exact = exactPositions(index, searched)
  for (const position of exact) values[position] = 1
  const order = bestPositions(index, values).sort(
    (left, right) =>
      (values[right] ?? 0) - (values[left] ?? 0) ||
      Number(exact.has(right)) - Number(exact.has(left)) ||
      Number(isOwners(index, right)) - Number(isOwners(index, left)) ||
      idAt(index, left) - idAt(index, right),
  )
  return order.map((position) => {
    const guessed =
      !exact.has(position) && isGuess(scores[position] ?? 0, guesses[position] ?? 0, values[position] ?? 0)
    return hitAt(index, position, { score: values[position] ?? 0, exact: exact.has(position), lookAlike: guessed })
  })
}

/** The score of a match that is not the exact name: less than one, and still less if only the looks agree. */
function honestScore(
  index: NameIndex,
  position: number,
  { caps, score, guess }: { readonly caps: Caps; readonly score: number; readonly guess: number },
): number {
  const alias = index.aliases[position]
  const cap = score === 1 ? caps(alias?.text ?? '') : ACCENT_CAP
  const value = addConfiguredAliasBonus(Math.min(score, cap), alias?.origin === 'configuration')
  return Math.max(Math.min(value, cap), Math.min(addConfiguredAliasBonus(guess, false), LOOK_ALIKE_CAP))
}

function isGuess(score: number, guess: number, value: number): boolean {
  return guess > score || (score === 1 && value <= LOOK_ALIKE_CAP)
}

/** For each target the position of its best alias; of equal ones the owner's, then the first. */
function bestPositions(index: NameIndex, values: Float64Array): number[] {
  const best = new Int32Array(index.ids.length).fill(-1)
  const found: number[] = []
  for (let position = 0; position < values.length; position++) {
    const value = values[position] ?? 0
    if (value === 0) continue
    const target = index.targets[position] ?? 0
    const held = best[target] ?? -1
    if (held < 0) found.push(target)
    const heldValue = held < 0 ? 0 : (values[held] ?? 0)
    const betterOwned = value === heldValue && isOwners(index, position) && !isOwners(index, held)
    if (value > heldValue || betterOwned) best[target] = position
  }
  return found.map((target) => best[target] ?? 0)
}

function isOwners(index: NameIndex, position: number): boolean {
  return index.aliases[position]?.origin === 'configuration'
}

function idAt(index: NameIndex, position: number): number {
  return index.aliases[position]?.id ?? 0
}

function hitAt(
  index: NameIndex,
  position: number,
  { score, exact, lookAlike }: { readonly score: number; readonly exact: boolean; readonly lookAlike: boolean },
): NameSearchHit {
  const alias = index.aliases[position]
  const normalizedAlias = index.normals[position]
  if (alias === undefined || normalizedAlias === undefined) throw new RangeError(`no alias at ${position}`)
  const concepts = index.meanings[position] ?? []
  return { id: alias.id, score, match: exact ? 'exact' : 'fuzzy', lookAlike, alias, normalizedAlias, concepts }
}

/** The limit of a score for a match in a tolerant form. */
type Caps = (alias: string) => number

function capsOf(searched: string): Caps {
  const stripped = stripFillerWords(toStrictNameKey(searched))
  return (alias) => {
    if (stripped !== undefined && stripped === toStrictNameKey(alias)) return FILLER_CAP
    return isEqualIgnoringAccents(searched, alias) ||
      (stripped !== undefined && isEqualIgnoringAccents(stripped, alias))
      ? ACCENT_CAP
      : LOOK_ALIKE_CAP
  }
}

/** Aliases with exactly the name in the query or, if there are none, with the name that is left without fillers. */
function exactPositions(index: NameIndex, searched: string): ReadonlySet<number> {
  const key = toStrictNameKey(searched)
  const whole = index.byStrict.get(key)
  if (whole !== undefined) return new Set(whole)
  for (const inner of listVariantsWithoutOuterFiller(key)) {
    const called = index.byStrict.get(inner)
    if (called !== undefined) return new Set(called)
  }
  const stripped = stripFillerWords(key)
  return new Set(stripped === undefined ? [] : index.byStrict.get(stripped))
}

function scoreInto(scores: Float64Array, index: NameIndex, query: string): void {
  if (query === '') return
  const raise: Raise = (position, score) => {
    if (score > (scores[position] ?? 0)) scores[position] = score
  }
  scoreWords(index, query, raise)
  scoreText(index, query, raise)
  for (let length = 1; length < query.length; length++)
    for (const position of index.byNormal.get(query.slice(0, length)) ?? [])
      raise(position, QUERY_STARTS_WITH_ALIAS_SCORE)
  for (const position of index.byNormal.get(query) ?? []) raise(position, 1)
}

type Raise = (position: number, score: number) => void

function scoreWords(index: NameIndex, query: string, raise: Raise): void {
  const tokens = splitNameTokens(query)
  for (const [position, shared] of countShared(index.words, tokens))
    raise(position, computeOverlapScore(shared, tokens.length, index.wordCounts[position] ?? 1))
}

function scoreConcepts(scores: Float64Array, index: NameIndex, searched: string): void {
  const wanted = findConceptsInText(searched)
  for (const [position, shared] of countShared(index.concepts, wanted)) {
    const overlap = computeOverlapScore(shared, wanted.length, index.meanings[position]?.length ?? 1)
    // The contract scores shared words; concepts find aliases that share none.
    if (scores[position] === 0) scores[position] = Math.min(overlap, CONCEPT_CAP)
  }
}

/** How many of the words each alias has, by its position; aliases with none are left out. */
function countShared(
  positionsByWord: ReadonlyMap<string, readonly number[]>,
  words: readonly string[],
): ReadonlyMap<number, number> {
  const shared = new Map<number, number>()
  for (const word of words)
    for (const position of positionsByWord.get(word) ?? []) shared.set(position, (shared.get(position) ?? 0) + 1)
  return shared
}

/** One pass over all aliases; after a match it continues behind that alias, so each is found once. */
function scoreText(index: NameIndex, query: string, raise: Raise): void {
  const { joined, starts } = index
  let at = joined.indexOf(query)
  while (at >= 0) {
    const position = aliasAt(starts, at)
    raise(position, at === starts[position] ? ALIAS_STARTS_WITH_QUERY_SCORE : ALIAS_CONTAINS_QUERY_SCORE)
    const next = position + 1 < starts.length ? (starts[position + 1] ?? joined.length) : joined.length
    at = joined.indexOf(query, next)
  }
}

/** The last alias that starts at or before the position. */
function aliasAt(starts: Int32Array, place: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= place) low = middle
    else high = middle - 1
  }
  return low
}
