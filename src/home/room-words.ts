/**
 * Room words: what people call rooms and floors, in English and German.
 */
import { normaliseText } from './normalised-text.ts'

/** Words for rooms in both languages: all words of a group mean the same room. */
const ROOM_WORDS: Readonly<Record<string, readonly string[]>> = {
  'living room': [
    'living room',
    'living',
    'livingroom',
    'family room',
    'familyroom',
    'lounge',
    'sitting room',
    'wohnzimmer',
    'stube',
    'wohnbereich',
  ],
  kitchen: ['kitchen', 'kitchenette', 'kueche', 'kochnische'],
  bedroom: ['bedroom', 'bed room', 'master bedroom', 'schlafzimmer', 'schlafraum'],
  bathroom: ['bathroom', 'bath', 'bath room', 'bad', 'badezimmer', 'shower room', 'duschbad'],
  hall: [
    'hall',
    'hallway',
    'corridor',
    'entrance hall',
    'entry',
    'entryway',
    'foyer',
    'flur',
    'diele',
    'korridor',
    'eingangsbereich',
  ],
  office: ['office', 'study', 'home office', 'homeoffice', 'workroom', 'buero', 'arbeitszimmer'],
  'dining room': ['dining room', 'dining', 'diningroom', 'esszimmer', 'essbereich'],
  nursery: ['nursery', 'kids room', 'kid room', 'children room', 'childrens room', 'child room', 'kinderzimmer'],
  'guest room': ['guest room', 'guestroom', 'guest bedroom', 'spare room', 'gaestezimmer', 'gastzimmer'],
  cellar: ['cellar', 'basement', 'keller', 'untergeschoss', 'ug'],
  attic: ['attic', 'loft', 'dachboden', 'dachgeschoss', 'speicher', 'estrich'],
  garage: ['garage', 'carport'],
  garden: ['garden', 'yard', 'garten'],
  terrace: ['terrace', 'patio', 'terrasse'],
  balcony: ['balcony', 'balkon'],
  'laundry room': ['laundry', 'laundry room', 'utility room', 'waschkueche', 'hauswirtschaftsraum'],
  toilet: ['toilet', 'wc', 'guest toilet', 'gaeste wc'],
  'ground floor': ['ground', 'ground floor', 'downstairs', 'main floor', 'erdgeschoss', 'eg', 'unten', 'parterre'],
  'first floor': [
    'first',
    'first floor',
    '1st floor',
    'upstairs',
    'upper floor',
    'obergeschoss',
    'og',
    '1 og',
    'oben',
    'erster stock',
    'ersten stock',
    '1 stock',
  ],
  workshop: ['workshop', 'werkstatt', 'hobby room', 'hobbyraum', 'bastelraum'],
  pantry: [
    'pantry',
    'larder',
    'speisekammer',
    'vorratsraum',
    'vorratskammer',
    'abstellraum',
    'storage room',
    'storeroom',
  ],
  playroom: ['playroom', 'spielzimmer'],
  'boiler room': ['boiler room', 'heizungskeller', 'heizungsraum', 'technikraum', 'plant room'],
  staircase: ['staircase', 'stairwell', 'stairs', 'treppenhaus', 'treppe'],
  conservatory: ['conservatory', 'winter garden', 'sunroom', 'wintergarten'],
  library: ['library', 'bibliothek'],
  'dressing room': [
    'dressing room',
    'walk in closet',
    'closet',
    'ankleide',
    'ankleidezimmer',
    'garderobe',
    'cloakroom',
  ],
  gym: ['gym', 'fitness room', 'fitnessraum'],
  shed: ['shed', 'garden shed', 'schuppen', 'gartenhaus', 'geraeteschuppen'],
  porch: ['porch', 'veranda', 'vordach'],
  driveway: ['driveway', 'einfahrt', 'auffahrt', 'zufahrt', 'hof', 'courtyard'],
  outside: ['outside', 'outdoors', 'draussen', 'aussen'],
}

const GERMAN_ROOM_WORDS = new Set(
  'wohnzimmer stube wohnbereich kueche kochnische schlafzimmer schlafraum bad badezimmer duschbad flur diele korridor eingangsbereich buero arbeitszimmer esszimmer essbereich kinderzimmer gaestezimmer gastzimmer keller untergeschoss dachboden dachgeschoss speicher estrich garten terrasse balkon waschkueche hauswirtschaftsraum erdgeschoss parterre obergeschoss werkstatt hobbyraum bastelraum speisekammer vorratsraum vorratskammer abstellraum spielzimmer heizungskeller heizungsraum technikraum treppenhaus treppe wintergarten bibliothek ankleide ankleidezimmer garderobe fitnessraum schuppen gartenhaus geraeteschuppen veranda vordach einfahrt auffahrt zufahrt hof draussen aussen'.split(
    ' ',
  ),
)

/** The first word of a group in each language. These two translate each other; the other words are only similar. */
const MAIN_ROOM_WORDS: ReadonlySet<string> = new Set(
  Object.values(ROOM_WORDS).flatMap((words) => [
    ...words.slice(0, 1),
    ...words.filter((word) => GERMAN_ROOM_WORDS.has(word)).slice(0, 1),
  ]),
)

export function isCanonicalRoomName(name: string): boolean {
  return MAIN_ROOM_WORDS.has(normaliseText(name))
}

/** Single words for rooms, for spelling correction. */
export const ONE_WORD_ROOM_NAMES: readonly string[] = Object.values(ROOM_WORDS)
  .flat()
  .filter((word) => !word.includes(' '))

const ROOM_BY_WORD: ReadonlyMap<string, string> = new Map(
  Object.entries(ROOM_WORDS).flatMap(([room, words]) => words.map((word) => [word, room] as const)),
)

/** The room that these consecutive words mean; `undefined` for one that is not in the tables. */
export function findCanonicalRoomName(name: string): string | undefined {
  return ROOM_BY_WORD.get(normaliseText(name))
}

const RELATIVE_FLOOR_NAMES = new Set(['upstairs', 'downstairs', 'upper floor', 'main floor', 'oben', 'unten'])

/**
 * Whether the name gives a floor by its position. Such a name only has a meaning if the home's ground floor is known:
 * the first floor is the ground floor in America, and the one above it in Europe.
 */
export function isRelativeFloorName(name: string): boolean {
  return RELATIVE_FLOOR_NAMES.has(normaliseText(name))
}

/** Takes a word that is in normalised form already. */
export function isRoomWord(word: string): boolean {
  return ROOM_BY_WORD.has(word)
}
