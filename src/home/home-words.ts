/**
 * Home words: what people call rooms, kinds of things and what they want of them, in English and German.
 *
 * Words are compared in a folded form: lower case, umlauts written out, no accents, plurals cut. A German compound is
 * taken apart where it ends in a word of these tables: `Küchenlampe` is the lamp of the kitchen.
 */
export const THING_KINDS = [
  'light',
  'switch',
  'blind',
  'door',
  'lock',
  'window',
  'valve',
  'heater',
  'thermostat',
  'fan',
  'alarm',
  'camera',
  'speaker',
  'screen',
  'sensor',
  'other',
] as const
export type ThingKind = (typeof THING_KINDS)[number]

const KIND_WORDS: Readonly<Record<ThingKind, readonly string[]>> = {
  light: [
    'light',
    'lamp',
    'bulb',
    'lighting',
    'dimmer',
    'luminaire',
    'licht',
    'lampe',
    'leuchte',
    'beleuchtung',
    'strahler',
    'birne',
  ],
  switch: ['switch', 'plug', 'outlet', 'socket', 'schalter', 'steckdose'],
  blind: [
    'blind',
    'shade',
    'shutter',
    'curtain',
    'cover',
    'rollo',
    'rolladen',
    'rollladen',
    'jalousie',
    'vorhang',
    'storen',
    'gardine',
    'markise',
    'awning',
    'drape',
    'raffstore',
    'rollo',
  ],
  door: ['door', 'gate', 'garage door', 'tuer', 'tor', 'pforte', 'garagentor', 'haustuer'],
  lock: ['lock', 'deadbolt', 'schloss', 'tuerschloss'],
  window: ['window', 'fenster'],
  valve: ['valve', 'sprinkler', 'irrigation', 'ventil', 'bewaesserung'],
  heater: ['heater', 'radiator', 'boiler relay', 'heizluefter', 'heizkoerper', 'heizstab'],
  thermostat: [
    'thermostat',
    'setpoint',
    'heating',
    'temperature',
    'heizung',
    'thermostat',
    'temperatur',
    'solltemperatur',
  ],
  fan: ['fan', 'ventilation', 'extractor', 'luefter', 'ventilator', 'lueftung', 'abzug', 'dunstabzug'],
  alarm: ['alarm', 'siren', 'alarmanlage', 'sirene'],
  camera: ['camera', 'cam', 'kamera'],
  speaker: ['speaker', 'volume', 'lautsprecher', 'lautstaerke'],
  screen: ['screen', 'display', 'bildschirm', 'anzeige'],
  sensor: ['sensor', 'motion', 'humidity', 'battery', 'fuehler', 'melder', 'batterie', 'feuchte'],
  other: [],
}

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

/** The first word for a room in each language: these two are each other's translation, the others only near it. */
const MAIN_ROOM_WORDS: ReadonlySet<string> = new Set(
  Object.values(ROOM_WORDS).flatMap((words) => [
    ...words.slice(0, 1),
    ...words.filter((word) => GERMAN_ROOM_WORDS.has(word)).slice(0, 1),
  ]),
)

export function isMainRoomName(name: string): boolean {
  return MAIN_ROOM_WORDS.has(normaliseText(name))
}

const STOP_WORDS = new Set(
  'the a an of in on at to for my our please all every any is are der die das den dem des im in am an auf zu von vom fuer mein meine unser unsere bitte alle alles jede ist sind und and'.split(
    ' ',
  ),
)

/** What a thing is to do. */
export type ThingCommand = 'on' | 'off' | 'open' | 'close' | 'lock' | 'unlock' | 'stop'

const WISH_WORDS: Readonly<Record<ThingCommand, readonly string[]>> = {
  on: ['on', 'true', 'start', 'an', 'ein', 'einschalten', 'anschalten', 'anmachen', 'yes'],
  off: ['off', 'false', 'aus', 'ausschalten', 'abschalten', 'ausmachen', 'no'],
  open: [
    'open',
    'up',
    'auf',
    'offen',
    'oeffnen',
    'hoch',
    'raise',
    'rauf',
    'hochfahren',
    'hochziehen',
    'auffahren',
    'aufmachen',
    'aufziehen',
  ],
  close: [
    'close',
    'closed',
    'down',
    'zu',
    'schliessen',
    'geschlossen',
    'runter',
    'lower',
    'shut',
    'zumachen',
    'zuziehen',
    'zufahren',
    'runterfahren',
    'runterlassen',
    'herunterfahren',
    'herunterlassen',
  ],
  lock: ['lock', 'locked', 'abschliessen', 'verriegeln', 'zuschliessen', 'absperren', 'zusperren'],
  unlock: ['unlock', 'unlocked', 'aufschliessen', 'entriegeln', 'aufsperren'],
  stop: ['stop', 'stopp', 'halt', 'pause'],
}

export function parseThingCommand(text: string): ThingCommand | undefined {
  const folded = normaliseText(text)
  return entriesOf(WISH_WORDS).find(([, words]) => words.includes(folded))?.[0]
}

/** Single words for rooms, for spelling correction. */
export const SINGLE_ROOM_WORDS: readonly string[] = Object.values(ROOM_WORDS)
  .flat()
  .filter((word) => !word.includes(' '))

/** Lower case, umlauts written out, without accents and punctuation. */
export function normaliseText(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/['’]s\b/g, ' ')
    .replaceAll('ä', 'ae')
    .replaceAll('ö', 'oe')
    .replaceAll('ü', 'ue')
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** The meaningful words, in the singular, compounds split. */
export function splitMeaningfulWords(text: string): readonly string[] {
  return normaliseText(text)
    .split(' ')
    .filter((word) => word !== '' && !STOP_WORDS.has(word))
    .flatMap(parts)
}

/** Whether several are meant: `lights`, `alle Lampen`, `every lamp`. */
export function isPluralText(text: string): boolean {
  const words = normaliseText(text).split(' ')
  return words.some(
    (word) => ALL_WORDS.has(word) || (findThingKind(word) === undefined && findThingKind(singular(word)) !== undefined),
  )
}

/** Whether nothing is named but everything: `all of it`, `alles`. What happens to be called so is not meant. */
export function isEverythingText(text: string): boolean {
  const words = normaliseText(text)
    .split(' ')
    .filter((word) => !STOP_WORDS.has(word) || ALL_WORDS.has(word))
  return words.length > 0 && words.every((word) => ALL_WORDS.has(word) || EVERYTHING_WORDS.has(word))
}

const EVERYTHING_WORDS = new Set(
  'everything anything everywhere whole entire house home it ueberall ganze gesamte haus zuhause'.split(' '),
)

/** Whether something is excluded or denied: `all but the hall lamp`, `nicht die Küche`. */
export function isExclusionText(text: string): boolean {
  return normaliseText(text)
    .split(' ')
    .some((word) => EXCLUDING_WORDS.has(word))
}

const EXCLUDING_WORDS = new Set(
  'not no none never except without but dont don nothing instead neither nor nicht kein keine keinen nie niemals ausser ohne nichts statt weder sondern ausgenommen'.split(
    ' ',
  ),
)

/** Everyday words that are not misspelt names. */
export const EVERYDAY_WORDS: ReadonlySet<string> = new Set(
  'there where other another every again always about above after around before behind below between inside under until while which whose these those their would could should might ausser ohne unter ueber hinter neben zwischen wieder immer jetzt heute morgen gestern andere anderen jeder jedes damit davon dafuer welche welcher warum wann sollte koennte wuerde aussen innen gleich spaeter vorher nachher'.split(
    ' ',
  ),
)

const ALL_WORDS = new Set('all every each both alle alles jede jeder jedes beide saemtliche'.split(' '))

/** The room that these consecutive words mean; `undefined` for one that is not in the tables. */
export function findRoomName(name: string): string | undefined {
  const folded = normaliseText(name)
  return Object.entries(ROOM_WORDS).find(([, words]) => words.includes(folded))?.[0]
}

export function findThingKind(word: string): ThingKind | undefined {
  return entriesOf(KIND_WORDS).find(([, words]) => words.includes(word))?.[0]
}

const KIND_ENDINGS = entriesOf(KIND_WORDS)
  .flatMap(([, words]) => words)
  .filter((word) => word.length >= 4 && !word.includes(' '))
  .toSorted((left, right) => right.length - left.length)

/** `kuechenlampe` ▸ `kueche` `lampe`; `lamps` ▸ `lamp`. */
function parts(word: string): readonly string[] {
  const single = singular(word)
  if (findThingKind(single) !== undefined || findRoomName(single) !== undefined) return [single]
  for (const form of [single, ...plurals(single)]) {
    const ending = KIND_ENDINGS.find((kind) => form.length > kind.length + 2 && form.endsWith(kind))
    if (ending === undefined) continue
    const first = form.slice(0, -ending.length)
    // The letters that German puts between the halves of a compound.
    const head = [first, first.replace(/n$/, ''), first.replace(/s$/, '')].find(
      (each) => findRoomName(each) !== undefined,
    )
    return [head ?? first, ending]
  }
  return [single]
}

function singular(word: string): string {
  for (const form of [word, ...plurals(word)])
    if (findThingKind(form) !== undefined || findRoomName(form) !== undefined) return form
  return word
}

/** Possible singular forms. */
function plurals(word: string): readonly string[] {
  const forms = [/s$/, /es$/, /n$/, /en$/, /er$/, /e$/]
    .filter((ending) => ending.test(word))
    .map((ending) => word.replace(ending, ''))
  return [...forms, ...forms.map((form) => form.replaceAll('ae', 'a').replaceAll('oe', 'o').replaceAll('ue', 'u'))]
}

function entriesOf<Key extends string, Value>(
  record: Readonly<Record<Key, Value>>,
): readonly (readonly [Key, Value])[] {
  return Object.entries(record) as [Key, Value][]
}
