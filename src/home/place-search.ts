/**
 * Place search: which rooms, or which things on a floor, somebody may mean by a name.
 */
import { correctMisspelledWord } from './spelling-correction.ts'
import { SPELLING_EXEMPT_WORDS, isSameThingWord, splitMeaningfulWords } from './home-words.ts'
import { findCanonicalRoomName, isCanonicalRoomName, isRelativeFloorName, ONE_WORD_ROOM_NAMES } from './room-words.ts'
import type { Room } from './room.ts'
import { areSynonyms } from './synonyms.ts'
import type { Thing } from './thing.ts'

const GROUND_FLOOR = 'ground floor'
const FLOOR_WORDS = new Set('floor storey story level stock stockwerk etage geschoss'.split(' '))

/** Finds rooms by name; also used by tools with a room argument. */
export function findRoomsByName(text: string, rooms: readonly Room[]): readonly Room[] {
  const words = splitMeaningfulWords(text)
  const known = words.length === 0 ? [] : findRoomsByWords(rooms, words)
  if (known.length > 0 || words.length === 0) return known
  const ours = new Set(rooms.flatMap(({ aliases }) => aliases.flatMap(splitMeaningfulWords)))
  const fixed = words.map((word) =>
    ours.has(word) || SPELLING_EXEMPT_WORDS.has(word)
      ? word
      : (correctMisspelledWord(word, ours) ?? correctMisspelledWord(word, ONE_WORD_ROOM_NAMES) ?? word),
  )
  return findRoomsByWords(rooms, fixed)
}

/**
 * Rooms with exactly this name; else those whose name is a translation of it; else those for which the tables have a
 * word.
 */
export function findRoomsByWords(rooms: readonly Room[], words: readonly string[]): readonly Room[] {
  const text = words.join(' ')
  const called = rooms.filter(({ aliases }) =>
    aliases.flatMap(splitAlternatives).some((alias) => splitMeaningfulWords(alias).join(' ') === text),
  )
  if (called.length > 0) return called
  const named = rooms.filter((room) => isRoomNamed(room, words, findCanonicalRoomName(text)))
  const translated = isCanonicalRoomName(text) ? named.filter(({ aliases }) => aliases.some(isCanonicalRoomName)) : []
  return translated.length > 0 ? translated : named
}

/** `Büro/Office` is called by either name, and by both. */
function splitAlternatives(name: string): readonly string[] {
  return name.includes('/') ? [name, ...name.split('/')] : [name]
}

function isRoomNamed({ key, aliases }: Room, words: readonly string[], place: string | undefined): boolean {
  if (place !== undefined && (key === place || aliases.some((alias) => findCanonicalRoomName(alias) === place)))
    return true
  const wanted = withoutGeneric(words)
  return aliases.some((alias) => {
    const own = withoutGeneric(splitMeaningfulWords(alias))
    return own.length === wanted.length && own.every((word, index) => isSameThingWord(word, wanted[index] ?? ''))
  })
}

/** In `Anna's room` the word `room` is generic; in `room 2` it is not. */
function withoutGeneric(words: readonly string[]): readonly string[] {
  const left = words.filter((word) => !areSynonyms(word, 'room'))
  return left.some((word) => /\p{L}/u.test(word)) ? left : words
}

/** Of these things, those on the named floor; for tools with a floor argument. */
export function findThingsOnFloor(text: string, things: readonly Thing[]): readonly Thing[] {
  const words = splitMeaningfulWords(text)
  const isUnclear = isRelativeFloorName(text) && !hasGroundFloor(things)
  const place = isUnclear ? undefined : (findCanonicalRoomName(words.join(' ')) ?? findCanonicalRoomName(text))
  return things.filter((thing) => isOnFloor(words, place, thing))
}

export function hasGroundFloor(things: readonly Thing[]): boolean {
  return things.some(({ floor }) => floor !== undefined && findCanonicalRoomName(floor) === GROUND_FLOOR)
}

export function isOnFloor(words: readonly string[], place: string | undefined, { floor }: Thing): boolean {
  if (floor === undefined) return false
  if (place !== undefined && findCanonicalRoomName(floor) === place) return true
  const own = withoutFloorWord(splitMeaningfulWords(floor))
  const wanted = withoutFloorWord(words)
  return (
    own.length > 0 &&
    wanted.length === own.length &&
    own.every((word, index) => isSameThingWord(word, wanted[index] ?? ''))
  )
}

/** `Second` and `the second floor` are one floor. */
function withoutFloorWord(words: readonly string[]): readonly string[] {
  const left = words.filter((word) => !FLOOR_WORDS.has(word))
  return left.length > 0 ? left : words
}
