/**
 * Home words: what people call kinds of things and what they want of them, in English and German.
 *
 * Words are compared in normalised form, in the singular. A compound is taken apart into the words of the tables:
 * `Küchenlampe` is the lamp of the kitchen, `Kaffeemaschine` the coffee machine.
 */
import { normaliseText } from './normalised-text.ts'
import { isRoomWord } from './room-words.ts'
import { hasSynonyms, areSynonyms } from './synonyms.ts'

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
  door: ['door', 'gate', 'tuer', 'tor', 'pforte'],
  lock: ['lock', 'deadbolt', 'schloss'],
  window: ['window', 'fenster'],
  valve: ['valve', 'sprinkler', 'irrigation', 'ventil', 'bewaesserung'],
  heater: ['heater', 'radiator', 'heizluefter', 'heizkoerper', 'heizstab'],
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
  // Words for measured quantities are not kinds: the humidity of a room is not its battery.
  sensor: ['sensor', 'detector', 'fuehler', 'melder'],
  other: [],
}

const STOP_WORDS = new Set(
  'the a an of in on at to for my our please all every any is are der die das den dem des im in am an auf zu von vom fuer mein meine unser unsere bitte alle alles jede ist sind und and'.split(
    ' ',
  ),
)

/** What a thing should do. */
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

export function findThingCommand(text: string): ThingCommand | undefined {
  const folded = normaliseText(text)
  return entriesOf(WISH_WORDS).find(([, words]) => words.includes(folded))?.[0]
}

/** The meaningful words, in the singular, compounds split. */
export function splitMeaningfulWords(text: string): readonly string[] {
  return normaliseText(text)
    .split(' ')
    .filter((word) => word !== '' && !STOP_WORDS.has(word))
    .flatMap((word) => NUMERALS.get(word) ?? splitCompound(word))
}

/** `bedroom two` is `Bedroom 2`. The word for one is left out, because of `the one in the hall`. */
const NUMERALS: ReadonlyMap<string, string> = new Map(
  ['two zwei zwo', 'three drei', 'four vier', 'five fuenf', 'six sechs'].flatMap((words, index) =>
    words.split(' ').map((word) => [word, String(index + 2)] as const),
  ),
)

/** Whether the text means several things: `lights`, `alle Lampen`, `every lamp`. */
export function isPluralText(text: string): boolean {
  const words = normaliseText(text).split(' ')
  return words.some(
    (word) => ALL_WORDS.has(word) || (findThingKind(word) === undefined && findThingKind(singular(word)) !== undefined),
  )
}

/** Whether the text names nothing but everything: `all of it`, `alles`. A thing with such a name is not meant. */
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

/** Everyday words that must not be corrected into names. */
export const SPELLING_EXEMPT_WORDS: ReadonlySet<string> = new Set(
  'there where other another every again always about above after around before behind below between inside under until while which whose these those their would could should might ausser ohne unter ueber hinter neben zwischen wieder immer jetzt heute morgen gestern andere anderen jeder jedes damit davon dafuer welche welcher warum wann sollte koennte wuerde aussen innen gleich spaeter vorher nachher'.split(
    ' ',
  ),
)

const ALL_WORDS = new Set('all every each both alle alles jede jeder jedes beide saemtliche'.split(' '))

const KIND_BY_WORD: ReadonlyMap<string, ThingKind> = new Map(
  entriesOf(KIND_WORDS).flatMap(([kind, words]) => words.map((word) => [word, kind] as const)),
)

export function findThingKind(word: string): ThingKind | undefined {
  return KIND_BY_WORD.get(word)
}

/** Two words for one thing: synonyms, or names of one kind. */
export function isSameThingWord(left: string, right: string): boolean {
  if (left === right || areSynonyms(left, right)) return true
  const kind = findThingKind(left)
  return kind !== undefined && kind === findThingKind(right)
}

const KIND_ENDINGS = [...KIND_BY_WORD.keys()]
  .filter((word) => word.length >= 4)
  .toSorted((left, right) => right.length - left.length)

const MIN_COMPOUND_PART = 3

/** `kuechenlampe` ▸ `kueche` `lampe`; `kaffeemaschine` ▸ `kaffee` `maschine`; `lamps` ▸ `lamp`. */
function splitCompound(word: string): readonly string[] {
  const single = singular(word)
  if (isKnownWord(single)) return [single]
  const forms = [single, ...plurals(single)]
  for (const form of forms)
    for (let at = MIN_COMPOUND_PART; at <= form.length - MIN_COMPOUND_PART; at++) {
      const head = findCompoundHead(form.slice(0, at))
      if (head !== undefined && isKnownWord(form.slice(at))) return [head, form.slice(at)]
    }
  for (const form of forms) {
    const ending = KIND_ENDINGS.find((kind) => form.length > kind.length + 2 && form.endsWith(kind))
    if (ending !== undefined) return [...splitCompound(form.slice(0, -ending.length)), ending]
  }
  return [single]
}

/** The first half without the letters that German inserts between the halves of a compound. */
function findCompoundHead(first: string): string | undefined {
  return [first, first.replace(/n$/, ''), first.replace(/s$/, '')].find(isKnownWord)
}

function isKnownWord(word: string): boolean {
  return KIND_BY_WORD.has(word) || isRoomWord(word) || hasSynonyms(word)
}

function singular(word: string): string {
  return [word, ...plurals(word)].find(isKnownWord) ?? word
}

/** Possible singular forms. */
function plurals(word: string): readonly string[] {
  const forms = [
    ...(word.endsWith('ies') ? [word.replace(/ies$/, 'y')] : []),
    ...[/s$/, /es$/, /n$/, /en$/, /er$/, /e$/]
      .filter((ending) => ending.test(word))
      .map((ending) => word.replace(ending, '')),
  ]
  return [...forms, ...forms.map((form) => form.replaceAll('ae', 'a').replaceAll('oe', 'o').replaceAll('ue', 'u'))]
}

function entriesOf<Key extends string, Value>(
  record: Readonly<Record<Key, Value>>,
): readonly (readonly [Key, Value])[] {
  return Object.entries(record) as [Key, Value][]
}
