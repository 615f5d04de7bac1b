/**
 * Name concepts: words with the same meaning in a house: plurals, synonyms, German and English words, parts of
 * compounds.
 *
 *   blinds ▸ blind      Küchenlampe ▸ kitchen light      Haustür ▸ front door      lamp, light, Licht ▸ light
 *
 * A match of concepts is only a good guess, so the caller is asked.
 */
import { normaliseName } from './name-normalisation.ts'

/** One concept per line: its name, then every word for it. A line may name several concepts. */
const LINES = [
  'light: light lights lamp lamps bulb bulbs lighting licht lichter lampe lampen leuchte leuchten beleuchtung',
  'blind: blind blinds shade shades shutter shutters curtain curtains rollo rollos rollladen rolladen rollläden rolläden jalousie jalousien raffstore raffstores vorhang vorhänge',
  'door: door doors tür türen türe',
  'front door: haustür haustüre eingangstür wohnungstür',
  'lock: lock locks schloss schlösser',
  'door lock: türschloss',
  'gate: gate gates tor tore',
  'garage door: garagentor garagentür',
  'window: window windows fenster',
  'valve: valve valves ventil ventile',
  'plug: plug plugs outlet outlets socket sockets steckdose steckdosen',
  'fan: fan fans lüfter ventilator ventilatoren',
  'heating: heating heizung heizungen',
  'heater: heater heaters heizlüfter heizgerät radiator heizkörper',
  'thermostat: thermostat thermostats thermostate',
  'boiler: boiler kessel heizkessel',
  'camera: camera cameras kamera kameras',
  'alarm: alarm alarms alarmanlage',
  'temperature: temperature temperatures temperatur temperaturen',
  'battery: battery batteries batterie batterien',
  'motion: motion bewegung bewegungsmelder',
  'contact: contact contacts kontakt kontakte',
  'kitchen: kitchen küche',
  'hall: hall hallway corridor flur diele gang',
  'living room: wohnzimmer lounge',
  'living: living wohn',
  'bedroom: bedroom bedrooms schlafzimmer',
  'bathroom: bathroom bath bad badezimmer',
  'office: office study büro arbeitszimmer',
  'dining room: esszimmer',
  'attic: attic loft dachboden',
  'cellar: cellar basement keller',
  'garden: garden yard garten',
  'garage: garage garagen',
  'porch: porch veranda vordach',
  'landing: landing treppenabsatz',
  'stair: stair stairs staircase treppe treppenhaus',
  'room: room rooms zimmer raum',
  'ground floor: erdgeschoss eg downstairs',
  'first floor: obergeschoss og upstairs',
  'floor: floor etage stock stockwerk',
  'ground: ground unten',
  'first: first oben',
  'outside: outside outdoors draußen außen',
  'evening: evening abend',
  'movie: movie film movies',
  'night: night nacht',
  'dinner: dinner abendessen',
  'left: left links linke',
  'right: right rechts rechte',
  'counter: counter theke',
  'mood: mood stimmung',
  'scene: scene szene',
]

/** Words around a name that say what to do, or have no meaning. */
const LITTLE = new Set(
  [
    'a an the my our this that it in on off at of to for from into with by and or please can could would you i want like now just',
    'turn switch set put make get bring dim brighten raise lower adjust change start stop run activate trigger show tell give is are was what which how why who where when any all every each there do does open opened close closed shut unlock up down read check see percent degrees degree me us if still',
    'bitte schalte schalt schalten mach mache machen stelle stell stellen setze fahre fahr dimme dimm aktiviere starte öffne öffnen offen schließe schließen geschlossen sperre auf zu an aus ein hoch runter den die das der dem des ein eine einen einem im in am ist sind welche welcher welches was wie wo wann warum alle alles jede jeder jedes noch mal mir uns prozent grad und oder von vom zum zur zeig zeige gibt es brennt brennen',
  ]
    .flatMap((line) => line.split(' '))
    .map(normaliseName),
)

const CONCEPTS = new Map(
  LINES.flatMap((line) => {
    const [name = '', words = ''] = line.split(': ')
    return words.split(' ').map((word) => [normaliseName(word), name.split(' ')] as const)
  }),
)

/** Endings at which compounds are split, the longest first. */
const ENDINGS = [...CONCEPTS.keys()]
  .filter((word) => word.length >= 4)
  .sort((left, right) => right.length - left.length)

/** Cached, because most names of a house share their words. */
const known = new Map<string, readonly string[]>()
const MAX_KNOWN = 20_000

/** The concepts in a text, each once; a word without a concept stands for itself. */
export function findConceptsInText(text: string): readonly string[] {
  const words = normaliseName(text).split(' ')
  return [...new Set(words.filter((word) => word !== '' && !LITTLE.has(word)).flatMap(conceptsOfWord))]
}

function conceptsOfWord(word: string): readonly string[] {
  const before = known.get(word)
  if (before !== undefined) return before
  const found = CONCEPTS.get(word) ?? CONCEPTS.get(withoutDigraphs(word)) ?? takenApart(word)
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(word, found)
  return found
}

/** The word without the letters that replace umlauts: `Tuer` for `Tür`. */
function withoutDigraphs(word: string): string {
  return word.replaceAll(/([aou])e/g, '$1')
}

/** Splits a compound: `kuchenlampe` is `kuche`, a joint, `lampe`; of `leselampe` only the end is known. */
function takenApart(word: string): readonly string[] {
  const plain = withoutDigraphs(word)
  for (const spelling of plain === word ? [word] : [plain, word]) {
    const ending = ENDINGS.find((one) => spelling.length >= one.length + 3 && spelling.endsWith(one))
    if (ending === undefined) continue
    const front = spelling.slice(0, -ending.length)
    const meaning = [front, front.replace(/n$/, ''), front.replace(/s$/, '')].map((part) => CONCEPTS.get(part))
    return [...(meaning.find((one) => one !== undefined) ?? [front]), ...(CONCEPTS.get(ending) ?? [ending])]
  }
  return [word]
}

/** Concepts that name a kind of thing, with the kinds of devices that belong to it. */
export const DEVICE_KINDS_BY_CONCEPT: Readonly<Record<string, readonly string[]>> = {
  light: ['light'],
  blind: ['blind'],
  door: ['door', 'lock'],
  gate: ['door'],
  lock: ['lock'],
  window: ['sensor', 'blind'],
  valve: ['valve', 'main_valve'],
  plug: ['outlet', 'switch'],
  fan: ['fan'],
  heating: ['thermostat', 'heater'],
  heater: ['heater', 'thermostat'],
  thermostat: ['thermostat'],
  alarm: ['alarm'],
}
