/**
 * Synonyms: words of English and German that mean the same in the name of a thing: `Leselampe` is the reading lamp,
 * `Stehlampe` the floor lamp. In the form of `normalised-text.ts`; each group has one meaning.
 */
const GROUPS: readonly string[] = [
  'ceiling decke decken',
  'wall wand',
  'table tisch',
  'desk schreibtisch',
  'standing steh floorstanding floor',
  'reading lese',
  'bed bett bedside',
  'nightstand nachttisch',
  'night nacht',
  'mood stimmung stimmungs ambient ambiente',
  'corner ecke eck',
  'sofa couch',
  'shelf regal',
  'mirror spiegel',
  'stairs stair staircase treppe treppen treppenhaus',
  'counter worktop theke arbeitsplatte',
  'island insel kochinsel',
  'front haus eingang eingangs entrance main haupt',
  'back rear hinter hintere terrassen',
  'left links linke linker linkes',
  'right rechts rechte rechter rechtes',
  'upper top oben obere',
  'lower bottom unten untere',
  'big large gross grosse grosser',
  'small little klein kleine kleiner',
  'north nord',
  'south sued',
  'east ost',
  'west',
  'tv television telly fernseher',
  'coffee kaffee',
  'machine maschine',
  'washing wasch',
  'dryer tumbler trockner waeschetrockner',
  'dishwasher spuelmaschine geschirrspueler',
  'fridge refrigerator kuehlschrank',
  'freezer gefrierschrank tiefkuehler gefriertruhe',
  'oven backofen ofen',
  'kettle wasserkocher',
  'radio',
  'stove cooker hob herd kochfeld',
  'microwave mikrowelle',
  'toaster',
  'vacuum hoover staubsauger',
  'iron buegeleisen',
  'charger wallbox ladestation ladegeraet',
  'projector beamer',
  'fireplace kamin kaminofen',
  'sauna',
  'humidifier luftbefeuchter',
  'dehumidifier entfeuchter luftentfeuchter',
  'aquarium fishtank',
  'wardrobe schrank kleiderschrank',
  'music musik stereo',
  'computer pc rechner',
  'printer drucker',
  'pump pumpe',
  'fountain brunnen springbrunnen',
  'pool schwimmbad schwimmbecken',
  'pond teich',
  'tree baum',
  'christmas xmas weihnacht weihnachts',
  'strip leiste band streifen lichterkette lichtband',
  'spot spots strahler spotlight',
  'chandelier kronleuchter luester',
  'pendant haenge pendel',
  'path way weg',
  'driveway einfahrt auffahrt zufahrt',
  'motion movement bewegung bewegungs',
  'smoke rauch',
  'water wasser',
  'leak leck',
  'rain regen',
  'wind',
  'sun sonne sonnen',
  'humidity moisture feuchte feuchtigkeit luftfeuchte luftfeuchtigkeit',
  'power leistung strom',
  'energy energie verbrauch',
  'battery batterie akku',
  'mailbox letterbox briefkasten',
  'doorbell bell klingel',
  'parents eltern',
  'kids children child kinder',
  'guest guests gast gaeste',
  'master',
  'room zimmer raum',
  'mode modus betriebsart',
  'scene szene',
  'error fault fehler stoerung errors faults',
  'number nummer numbers code codes',
  'boiler kessel therme heizkessel burner brenner',
  'schedule program programm zeitplan timer',
  'temperature temperatur',
  'user benutzer account',
  'camera kamera',
  'backup sicherung',
  'message nachricht telegram',
]

const BY_WORD: ReadonlyMap<string, number> = new Map(
  GROUPS.flatMap((group, index) => group.split(' ').map((word) => [word, index] as const)),
)

/** For spelling correction. */
export const SYNONYM_VOCABULARY: readonly string[] = [...BY_WORD.keys()]

export function areSynonyms(left: string, right: string): boolean {
  const meaning = BY_WORD.get(left)
  return meaning !== undefined && meaning === BY_WORD.get(right)
}

/** The first word of the group that it is in; otherwise itself. */
export function findMainSynonym(word: string): string {
  const group = BY_WORD.get(word)
  return group === undefined ? word : (GROUPS[group]?.split(' ')[0] ?? word)
}

export function hasSynonyms(word: string): boolean {
  return BY_WORD.has(word)
}
