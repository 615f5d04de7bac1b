/**
 * Thing search: which things a text may mean. The text is split into places, kinds and words of names; a thing has to
 * match every part. A thing that does not match a part is at best a candidate, and never the answer.
 *
 *   "the reading lamp in the guest room"  ─▶  [reading] [lamp] [guest room]
 */
import {
  SPELLING_EXEMPT_WORDS,
  findThingKind,
  isEverythingText,
  isExclusionText,
  isSameThingWord,
  splitMeaningfulWords,
  type ThingKind,
} from './home-words.ts'
import { normaliseText } from './normalised-text.ts'
import { hasGroundFloor, isOnFloor, findRoomsByWords } from './place-search.ts'
import { findCanonicalRoomName, isRelativeFloorName, ONE_WORD_ROOM_NAMES } from './room-words.ts'
import type { Room, Rooms } from './room.ts'
import { correctMisspelledWord } from './spelling-correction.ts'
import { hasSynonyms, areSynonyms, SYNONYM_VOCABULARY } from './synonyms.ts'
import type { Thing } from './thing.ts'

export interface ThingMatch {
  readonly thing: Thing
  /** Every part was matched. */
  readonly isWhole: boolean
  /** How many parts were matched. */
  readonly parts: number
  /** How many parts match words of the thing's own name, rather than its kind or place. */
  readonly named: number
  /** How many words of its own name are not in the text and do not follow from its room or kind. */
  readonly unsaid: number
  /** Only its place is in the text. */
  readonly isPlaceOnly: boolean
}

export type ThingSearchResult =
  | { readonly kind: 'one'; readonly thing: Thing }
  /**
   * Several match equally, or none matches completely: best first, for a question. `whole` are the complete matches.
   */
  | { readonly kind: 'question'; readonly candidates: readonly Thing[]; readonly whole: readonly Thing[] }
  | { readonly kind: 'none' }

/** What is searched; a snapshot of the home is one. */
export interface ThingDirectory {
  readonly things: readonly Thing[]
  readonly rooms: Pick<Rooms, 'get' | 'all'>
}

interface FindOptions {
  readonly kind?: ThingKind | undefined
  /** Whether the requested change is possible; if this leaves one thing, that one is meant. */
  readonly isAble?: (thing: Thing) => boolean
}

const MAX_CANDIDATES = 6
const MAX_PLACE_WORDS = 4
/** A candidate that matches a smaller share is not offered. */
const WORTH_ASKING = 0.34

export function findThingByText(
  text: string,
  directory: ThingDirectory,
  { kind, isAble }: FindOptions = {},
): ThingSearchResult {
  const trimmed = text.trim()
  const byHandle = directory.things.find(({ handle }) => handle === trimmed)
  if (byHandle !== undefined) return { kind: 'one', thing: byHandle }
  const { matches, isCorrected } = match(trimmed, directory, kind)
  if (matches.length === 0) return { kind: 'none' }
  if (isEverythingText(trimmed))
    return { kind: 'question', candidates: matches.slice(0, MAX_CANDIDATES).map(({ thing }) => thing), whole: [] }
  // A text that only excludes things does not say which one is meant.
  const whole = isExclusionText(trimmed) ? [] : matches.filter(({ isWhole }) => isWhole)
  const able = whole.filter(({ thing }) => isAble?.(thing) ?? true)
  const only =
    (isAble === undefined ? unmistakable(trimmed, sensorsCalledSo(whole)) : undefined) ??
    unmistakable(trimmed, whole) ??
    unmistakable(trimmed, able) ??
    // A thing without controls is not meant by a request for a change that no matching thing can make.
    (able.length === 0
      ? unmistakable(
          trimmed,
          whole.filter(({ thing }) => thing.controls.length > 0),
        )
      : undefined)
  // A corrected misspelling must not be enough to open a door.
  if (only !== undefined && !(isCorrected && only.isSensitive)) return { kind: 'one', thing: only }
  return {
    kind: 'question',
    candidates: (whole.length > 0 ? whole : matches).slice(0, MAX_CANDIDATES).map(({ thing }) => thing),
    whole: whole.map(({ thing }) => thing),
  }
}

/** Whether every word of a text is meant by a name, in either language: `Haustür` by `Front Door Camera`. */
export function doesTextMatchName(text: string, name: string): boolean {
  const [words, own] = [splitMeaningfulWords(text), splitMeaningfulWords(name)]
  return (
    words.length > 0 &&
    words.every((word) => own.some((each) => isSameThingWord(each, word) || isSamePlace(each, word)))
  )
}

function isSamePlace(left: string, right: string): boolean {
  const place = findCanonicalRoomName(left)
  return place !== undefined && place === findCanonicalRoomName(right)
}

/** Best first; controllable things before those that can only be read. */
export function matchThings(text: string, directory: ThingDirectory, kind?: ThingKind): readonly ThingMatch[] {
  return match(text, directory, kind).matches
}

function unmistakable(text: string, whole: readonly ThingMatch[]): Thing | undefined {
  const named = whole.filter(({ thing: { name, aliases = [] } }) =>
    [name, ...aliases].some((each) => normaliseText(each) === normaliseText(text)),
  )
  if (named.length === 1) return named[0]?.thing
  const meant = whole.filter(({ isPlaceOnly }) => !isPlaceOnly)
  // A place alone does not say which of its things is meant, even if there is only one.
  if (meant.length < whole.length && named.length === 0 && meant.length === 0) return undefined
  const full = meant.filter(({ unsaid }) => unsaid === 0)
  const [only] = full.length === 1 ? full : meant.length === 1 ? meant : []
  return only?.thing
}

/** A request for the temperature means a sensor with that name, rather than a thing whose temperature is set. */
function sensorsCalledSo(whole: readonly ThingMatch[]): readonly ThingMatch[] {
  const most = Math.max(0, ...whole.map(({ named }) => named))
  const called = whole.filter(({ named }) => named === most)
  return called.every(({ thing }) => thing.kind === 'sensor') ? called : []
}

function match(
  text: string,
  directory: ThingDirectory,
  kind: ThingKind | undefined,
): { readonly matches: readonly ThingMatch[]; readonly isCorrected: boolean } {
  const rooms = directory.rooms.all()
  const typed = splitMeaningfulWords(text)
  if (typed.length === 0) return { matches: [], isCorrected: false }
  const names = new Map(directory.things.map((thing) => [thing, namesOf(thing)]))
  const words = corrected(typed, rooms, names)
  const knowsGroundFloor = hasGroundFloor(directory.things)
  const parts = partsOf(words, rooms).map((part) =>
    knowsGroundFloor || !isRelativeFloorName(part.words.join(' ')) ? part : { ...part, place: undefined },
  )
  const matches = directory.things
    .filter((thing) => kind === undefined || thing.kind === kind)
    .map((thing) =>
      bestMatch(thing, names.get(thing) ?? [], {
        parts,
        room: thing.room === undefined ? undefined : directory.rooms.get(thing.room),
      }),
    )
    .filter(({ parts: count }) => count / parts.length >= WORTH_ASKING)
    .toSorted(byMerit)
  return { matches, isCorrected: words.some((word, index) => word !== typed[index]) }
}

function byMerit(left: ThingMatch, right: ThingMatch): number {
  return (
    Number(right.isWhole) - Number(left.isWhole) ||
    right.parts - left.parts ||
    right.named - left.named ||
    left.unsaid - right.unsaid ||
    right.thing.controls.length - left.thing.controls.length
  )
}

/** The words of each of its names: its own, and learned aliases. */
function namesOf({ name, aliases }: Thing): readonly (readonly string[])[] {
  return [name, ...(aliases ?? [])].map((each) => splitMeaningfulWords(each))
}

/** Only unknown words are corrected. */
function corrected(
  typed: readonly string[],
  rooms: readonly Room[],
  names: ReadonlyMap<Thing, readonly (readonly string[])[]>,
): readonly string[] {
  const isKnown = (word: string): boolean =>
    findThingKind(word) !== undefined || findCanonicalRoomName(word) !== undefined || hasSynonyms(word)
  if (typed.every(isKnown)) return typed
  const ours = new Set([
    ...[...names.values()].flat(2),
    ...[...names.keys()].flatMap(({ floor }) => splitMeaningfulWords(floor ?? '')),
    ...rooms.flatMap(({ aliases }) => aliases.flatMap(splitMeaningfulWords)),
  ])
  return typed.map((word) => {
    if (isKnown(word) || ours.has(word) || SPELLING_EXEMPT_WORDS.has(word)) return word
    return (
      correctMisspelledWord(word, ours) ??
      correctMisspelledWord(word, ONE_WORD_ROOM_NAMES) ??
      correctMisspelledWord(word, SYNONYM_VOCABULARY) ??
      word
    )
  })
}

interface TextPart {
  readonly words: readonly string[]
  /** The rooms of this home that the word may mean; absent if it is no place. */
  readonly rooms: ReadonlySet<string> | undefined
  /** The room or floor that this word names, even if this home does not have it. */
  readonly place: string | undefined
}

/** Longest places first: `guest room` is neither a guest nor a room. */
function partsOf(words: readonly string[], rooms: readonly Room[]): readonly TextPart[] {
  const parts: TextPart[] = []
  for (let from = 0; from < words.length;) {
    const part = placeAt(words.slice(from, from + MAX_PLACE_WORDS), rooms) ?? {
      words: words.slice(from, from + 1),
      rooms: undefined,
      place: undefined,
    }
    parts.push(part)
    from += part.words.length
  }
  return parts
}

function placeAt(ahead: readonly string[], rooms: readonly Room[]): TextPart | undefined {
  for (let length = ahead.length; length > 0; length--) {
    const words = ahead.slice(0, length)
    const place = findCanonicalRoomName(words.join(' '))
    const keys = findRoomsByWords(rooms, words).map(({ key }) => key)
    if (keys.length > 0 || place !== undefined) return { words, rooms: new Set(keys), place }
  }
  return undefined
}

interface MatchContext {
  readonly parts: readonly TextPart[]
  readonly room: Room | undefined
}

function bestMatch(thing: Thing, names: readonly (readonly string[])[], about: MatchContext): ThingMatch {
  const [best] = names.map((name) => matchOf(thing, name, about)).toSorted(byMerit)
  return best ?? matchOf(thing, [], about)
}

function matchOf(thing: Thing, name: readonly string[], { parts, room }: MatchContext): ThingMatch {
  const hit = new Set<string>()
  let [count, places, byName] = [0, 0, 0]
  let isKindNamed = false
  for (const { words, rooms, place } of parts) {
    const named = words.map((word) => name.find((own) => isSameThingWord(own, word)))
    const isNamed = named.every((own) => own !== undefined)
    const isHere = (thing.room !== undefined && rooms?.has(thing.room) === true) || isOnFloor(words, place, thing)
    const isKind = words.length === 1 && findThingKind(words[0] ?? '') === thing.kind
    if (isNamed) for (const own of named) hit.add(own ?? '')
    if (words.every((word) => name.some((own) => own === word || areSynonyms(own, word)))) byName++
    if (isKind) isKindNamed = true
    if (isNamed || isHere || isKind || (place !== undefined && isNamedPlace(name, place))) count++
    if (isHere && !isKind) places++
  }
  const roomWords = new Set((room?.aliases ?? []).flatMap(splitMeaningfulWords))
  const unsaid = name.filter(
    (word) => !hit.has(word) && !roomWords.has(word) && !(isKindNamed && findThingKind(word) === thing.kind),
  )
  return {
    thing,
    isWhole: count === parts.length,
    parts: count,
    named: byName,
    unsaid: unsaid.length,
    isPlaceOnly: places === parts.length,
  }
}

/** A `Kitchen speaker` is in the kitchen because of its name. */
function isNamedPlace(name: readonly string[], place: string): boolean {
  return name.some((word) => findCanonicalRoomName(word) === place)
}
