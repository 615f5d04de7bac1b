/**
 * Wishes as different people say them, each written down with what becomes of the house before anybody looked at how
 * names are resolved: English, German, a little French and Spanish, with slips, negations, times, questions and things
 * that are not there. A wish names the calls that an agent makes of it: a careful one takes the thing and the act out of
 * the sentence, a hasty one hands the words over as they were said.
 */
import type { JsonObject } from '../src/core/json.ts'
import type { GeneratedThing } from './generated-house.ts'

export type WishCall = readonly [tool: string, args: JsonObject]

export interface StrangersWish {
  readonly said: string
  readonly calls: readonly (WishCall | ((answer: JsonObject) => WishCall))[]
  /** What the hardware is told, by ref. Absent: nothing moves. */
  readonly told?: Readonly<Record<number, number>>
  /** That a question instead of `told` is right as well: the words may mean something else. */
  readonly mayAsk?: boolean
  /** That the thing with this ref moves up or down, and nothing else does. */
  readonly moves?: { readonly ref: number; readonly direction: 'up' | 'down' }
  /** What the last answer says. */
  readonly says?: RegExp
  readonly asks?: boolean
}

const why = 'a stranger’s wish'
const set = (thing: string, to: string | number | boolean): WishCall => ['home_set', { thing, to, why }]
const many = (to: string | number, args: JsonObject = {}): WishCall => ['home_set_many', { to, why, ...args }]
const state = (...of: string[]): WishCall => ['home_state', { of }]
const later = (call: WishCall, args: JsonObject): WishCall => [
  'later',
  { call: { tool: call[0], arguments: call[1] }, why, ...args },
]
const NOTHING = /nothing was done/i
/** What an answer hands out as its next call. */
function follow(answer: JsonObject): WishCall {
  const { tool, arguments: args } = answer['next'] as { tool: string; arguments: JsonObject }
  return [tool, args]
}

/**
 * The virtual house: 101 Hall Lamp (a dimmer), 120 Kitchen Lamp, 131 Dining Dimmer, 141 Front Door Lock, 150 Garage
 * Door, 155 Garden Valve, 186 Office Heater, 190 and 191 two lamps in the bedroom, 195 Attic Lamp, 201 Stair Light,
 * 204 Bedroom Blind. What is told is the value that HomeSeer shows afterwards.
 */
export const VIRTUAL_HOUSE_WISHES: readonly StrangersWish[] = [
  { said: 'turn the hall light off please', calls: [set('the hall light', 'off')], told: { 101: 0 } },
  { said: 'Flurlicht an', calls: [set('Flurlicht', 'an')], told: { 101: 99 } },
  { said: 'kithcen lamp on', calls: [set('kithcen lamp', 'on')], told: { 120: 255 } },
  { said: 'mach mal die Küchenlampe aus', calls: [set('die Küchenlampe', 'aus')], told: { 120: 0 } },
  { said: 'dim the dining room to thirty', calls: [set('dining room dimmer', 'thirty percent')], told: { 131: 30 } },
  { said: 'dining off', calls: [set('dining', 'off')], told: { 131: 0 }, mayAsk: true },
  { said: 'bedroom lamp on', calls: [set('bedroom lamp', 'on')], asks: true },
  { said: 'the other bedroom lamp', calls: [set('the other bedroom lamp', 'on')] },
  {
    said: 'both bedroom lamps on',
    calls: [many('on', { room: 'bedroom', kind: 'light' })],
    told: { 190: 255, 191: 255 },
  },
  {
    said: 'Schlafzimmer Licht aus, beide',
    calls: [many('aus', { room: 'Schlafzimmer', kind: 'light' })],
    told: { 190: 0, 191: 0 },
  },
  { said: "don't turn off the hall lamp", calls: [set("don't turn off the hall lamp", 'off')], says: NOTHING },
  { said: 'nicht die Flurlampe ausmachen', calls: [set('nicht die Flurlampe', 'aus')], says: NOTHING },
  { said: 'never switch the attic lamp on', calls: [set('never the attic lamp', 'on')], says: NOTHING },
  { said: 'the hall lamp must not go off', calls: [set('hall lamp', 'not off')], says: NOTHING },
  { said: 'nicht aus', calls: [set('Flurlampe', 'nicht aus')], says: NOTHING },
  { said: 'lass die Lampe an', calls: [set('Küchenlampe', 'an lassen')], says: NOTHING },
  { said: 'kein Licht im Flur', calls: [set('kein Licht im Flur', 'aus')], says: NOTHING },
  { said: 'is the garage open?', calls: [set('is the garage open?', 'open')], says: /question|nothing was done/i },
  { said: 'is the garage open?, asked well', calls: [state('garage')], says: /closed/i },
  { said: 'brennt in der Küche noch Licht?', calls: [set('brennt in der Küche noch Licht?', 'aus')], says: NOTHING },
  { said: 'did you turn on the kitchen lamp?', calls: [set('did you turn on the kitchen lamp', 'on')], says: NOTHING },
  {
    said: 'I wonder whether the kitchen lamp can go on',
    calls: [set('I wonder whether the kitchen lamp is on', 'on')],
    says: NOTHING,
  },
  { said: 'open the skylight', calls: [set('skylight', 'open')], says: NOTHING },
  { said: 'Dachfenster auf', calls: [set('Dachfenster', 'auf')], says: NOTHING },
  { said: 'pool pump on', calls: [set('pool pump', 'on')], says: NOTHING },
  { said: 'garage lamp on', calls: [set('garage lamp', 'on')], says: NOTHING },
  { said: 'garage on', calls: [set('garage', 'on')], says: NOTHING },
  { said: 'open the window', calls: [set('bedroom window', 'open')], says: NOTHING },
  { said: 'warmer, in the living room', calls: [['heating_set', { zone: 'living room', by: 1, why }]], mayAsk: true },
  { said: '2 Grad kälter', calls: [['heating_set', { zone: 'Wohnzimmer', by: -2, why }]], mayAsk: true },
  { said: 'heiz das Bad', calls: [['heating_set', { zone: 'Bad', by: 2, why }]], asks: true },
  { said: 'warmer everywhere', calls: [['heating_set', { zone: 'everywhere', by: 1, why }]], asks: true },
  { said: 'in half an hour', calls: [later(set('hall lamp', 'off'), { in_minutes: 30 })], says: /planned/i },
  { said: 'hall lamp in half an hour', calls: [set('hall lamp in half an hour', 'off')], says: NOTHING },
  { said: 'Flurlampe um sieben', calls: [set('Flurlampe um sieben', 'aus')], says: NOTHING },
  { said: 'off in 10 minutes', calls: [set('hall lamp', 'off in 10 minutes')], says: NOTHING },
  { said: 'um sieben aus', calls: [set('Flurlampe', 'um sieben aus')], says: NOTHING },
  { said: 'on until midnight', calls: [set('kitchen lamp', 'on until midnight')], says: NOTHING },
  { said: 'tonight', calls: [set('kitchen lamp tonight', 'on')], says: NOTHING },
  { said: 'morgen früh', calls: [set('Küchenlampe morgen früh', 'an')], says: NOTHING },
  { said: 'when I come home', calls: [set('hall lamp when I come home', 'off')], says: NOTHING },
  { said: 'if it gets dark', calls: [set('kitchen lamp', 'on if it gets dark')], says: NOTHING },
  { said: 'unless', calls: [set('hall lamp', 'off unless somebody is there')], says: NOTHING },
  { said: 'at seven', calls: [later(set('hall lamp', 'off'), { at: 'um sieben' })], says: NOTHING },
  { said: 'hall lamp and kitchen lamp', calls: [set('hall lamp and kitchen lamp', 'on')], says: NOTHING },
  { said: 'Flurlampe, Küchenlampe', calls: [set('Flurlampe, Küchenlampe', 'aus')], says: NOTHING },
  { said: 'all lights but one', calls: [set('all lights except the hall lamp', 'off')], says: NOTHING },
  {
    said: 'alle Lichter aus außer Flur',
    calls: [set('kitchen lamp', 'on'), many('aus', { kind: 'light', except: ['Flur'] })],
    told: { 120: 0, 131: 0 },
  },
  { said: 'turn off the hall lamp, and “on”', calls: [set('turn off the hall lamp', 'on')], says: NOTHING },
  { said: 'turn on the stair light', calls: [set('turn on the stair light', 'on')], told: { 201: 99 }, mayAsk: true },
  { said: 'stair lights off', calls: [set('stair lights', 'off')], told: { 201: 0 } },
  { said: 'Treppenlicht an', calls: [set('Treppenlicht', 'an')], told: { 201: 99 } },
  { said: 'Treppe aus', calls: [set('Treppenhauslicht', 'aus')], told: { 201: 0 }, mayAsk: true },
  { said: 'bedroom blinds up', calls: [set('bedroom blinds', 'up')], told: { 204: 99 } },
  { said: 'Rollo im Schlafzimmer runter', calls: [set('Rollo im Schlafzimmer', 'runter')], told: { 204: 0 } },
  { said: 'unlock the front door', calls: [set('front door', 'unlock')], says: /person/i },
  { said: 'sperr die Haustür auf', calls: [set('Haustür', 'aufsperren')], says: /person|nothing was done/i },
  { said: 'unlock everything', calls: [many('unlock')], says: NOTHING },
  { said: 'open everything', calls: [set('everything', 'open')], says: NOTHING },
  { said: 'allume la lampe de la cuisine', calls: [set('la lampe de la cuisine', 'allumer')], mayAsk: true },
  { said: 'éteins tout', calls: [set('toutes les lumières', 'éteindre')], says: NOTHING },
  { said: 'abre el garaje', calls: [set('el garaje', 'abrir')], says: NOTHING },
  { said: 'enciende la luz del pasillo', calls: [set('la luz del pasillo', 'encender')], mayAsk: true },
  { said: 'hall lamp 250', calls: [set('hall lamp', 250)], says: NOTHING },
  { said: 'minus ten', calls: [set('hall lamp', -10)], says: NOTHING },
  { said: 'purple', calls: [set('hall lamp', 'purple')], says: NOTHING },
  { said: 'a bit darker', calls: [set('hall lamp', 'a bit darker')], moves: { ref: 101, direction: 'down' } },
  { said: 'etwas heller', calls: [set('Flurlampe', 'etwas heller')], moves: { ref: 101, direction: 'up' } },
  { said: 'party mode', calls: [['home_scene_run', { scene: 'party mode', why }]], says: NOTHING },
  {
    said: 'movie night, of which there are two',
    calls: [['home_scene_run', { scene: 'Movie Night', why }]],
    asks: true,
  },
  { said: 'is the bedroom window shut?', calls: [state('bedroom window')], says: /closed/i },
  { said: 'wie warm ist es im Wohnzimmer?', calls: [state('Wohnzimmer Temperatur')], says: /\d\d(\.\d)? °?C/ },
  { said: 'what is on?', calls: [['home_overview', {}]], says: /./ },
  { said: 'who opened the garage?', calls: [['changes', { about: 'garage', since: '1h' }]], says: /./ },
  { said: 'is the office heater on?', calls: [set('office heater', 'on?')], says: /question/ },
  { said: 'Ist die Flurlampe an', calls: [set('Flurlampe', 'ist sie an')], says: /question/ },
  { said: 'are all lights off?', calls: [many('off?', { kind: 'light' })], says: /question/ },
  { said: 'hall lamp at seven', calls: [set('hall lamp', 'at 7')], says: NOTHING },
  { said: 'Flurlampe um 7', calls: [set('Flurlampe', 'um 7')], says: NOTHING },
  { said: 'make the hall lamp warmer', calls: [set('hall lamp', 'warmer')], says: NOTHING },
  { said: 'hall lamp 21 degrees', calls: [set('hall lamp', '21 °C')], says: NOTHING },
  { said: 'Flurlicht dreiviertel', calls: [set('Flurlicht', 'dreiviertel')], told: { 101: 75 } },
  { said: 'hall lamp on at forty percent', calls: [set('hall lamp', 'on at 40 percent')], told: { 101: 40 } },
  { said: 'hall lamp to zero', calls: [set('hall lamp', 0)], told: { 101: 0 } },
  { said: 'Haustür öffnen', calls: [set('Haustür', 'öffnen')], says: /Front Door Lock/ },
  { said: 'kitchen counter on', calls: [set('kitchen counter', 'on')], told: { 180: 255 } },
  { said: 'Küchentheke aus', calls: [set('Küchentheke', 'aus')], told: { 180: 0 } },
  { said: 'everything off leaves blinds', calls: [many('off', { room: 'bedroom', kind: 'blind' })], says: NOTHING },
  { said: 'half of everything downstairs', calls: [many('50 %', { room: 'attic' })], says: NOTHING },
  {
    said: 'lights on on the first floor',
    calls: [many('on', { room: 'first floor', kind: 'light' })],
    told: { 190: 255, 201: 99 },
  },
  { said: 'lights off upstairs', calls: [many('off', { room: 'upstairs', kind: 'light' })], told: { 190: 0, 201: 0 } },
  { said: 'wie warm ist es im Wohnzimmer', calls: [state('Wohnzimmer Temperatur')], says: /Temperature.*20\.2/ },
  { said: 'what about upstairs', calls: [state('upstairs')], says: /Upstairs.*is wanted/ },
  { said: 'and the garage', calls: [state('garage')], says: /closed: “Garage Door”/ },
  { said: 'show me the front door', calls: [['look', { camera: 'Haustür' }]], says: /Front Door Camera/ },
  {
    said: 'holiday last year',
    calls: [['heating_holiday', { zone: 'living', from: '2025-12-01', to: '2025-12-03', why }]],
    says: /over already/,
  },
  {
    said: 'warmer and off',
    calls: [['heating_set', { zone: 'living', to: 22, mode: 'off', why }]],
    says: /only one of/,
  },
  { said: '21 and one more', calls: [['heating_set', { zone: 'living', to: 21, by: 1, why }]], says: /only one of/ },
  { said: 'take it back later', calls: [later(['undo', { why }], { in_minutes: 30 })], says: /by its `id`/ },
  {
    said: 'on the 31st of November',
    calls: [later(set('hall lamp', 'off'), { at: '2027-11-31T10:00' })],
    says: /do not fit/,
  },
]

/** In a generated house with odd names: the same sentences about whatever the seed has drawn. */
export function createStrangersWishes(
  things: readonly GeneratedThing[],
  draw: (limit: number) => number,
): readonly StrangersWish[] {
  const of = (kind: GeneratedThing['kind'], fits: (thing: GeneratedThing) => boolean = () => true): GeneratedThing => {
    const all = things.filter((thing) => thing.kind === kind && fits(thing))
    const one = all[draw(all.length)]
    if (one === undefined) throw new Error(`this house has no such ${kind}`)
    return one
  }
  const odd = (name: string): GeneratedThing => of('odd', (thing) => thing.name === name)
  const plain = ({ room }: GeneratedThing): boolean => !/\d$|Bedroom|Schlafzimmer/.test(`${room.name}${room.other}`)
  const lights = ({ room }: GeneratedThing): readonly GeneratedThing[] =>
    things.filter((thing) => thing.kind === 'light' && thing.room === room)
  const each = (some: readonly GeneratedThing[], value: number): Readonly<Record<number, number>> =>
    Object.fromEntries(some.map(({ ref }) => [ref, value]))

  const lamp = of('light', plain)
  const { room, which } = lamp
  const [english, german] = which
  const second = of('light', (thing) => plain(thing) && thing.room !== room)
  const stat = of('thermostat', plain)
  const blind = of('blind', plain)
  const bare = of('light', (thing) => plain(thing) && !lights(thing).some((one) => one.which[0] === english))
  const radio = things.filter((thing) => thing.which[0] === 'Radio')
  const mute = of('light', (thing) => plain(thing) && !radio.some((one) => one.room === thing.room))
  const floor = things.filter((thing) => thing.kind === 'light' && thing.room.floor === 'Cellar')
  const said = `${english.toLowerCase()} lamp in the ${room.name}`

  return [
    {
      said: 'a thermostat is not a dimmer',
      calls: [many('19 °C', { room: room.name })],
      says: NOTHING,
    },
    {
      said: `${blind.room.name} blind 30 percent closed`,
      calls: [set(blind.room.name + ' blind', '30 percent closed')],
      told: { [blind.ref]: 70 },
    },
    { said: 'back up', calls: [set(blind.room.name + ' blind', 'open')], told: { [blind.ref]: 99 } },
    { said: 'nothing but a room', calls: [state(stat.room.other)], says: /shows/ },

    { said: 'on, would you', calls: [set(`${room.name} ${english} light`, 'on')], told: { [lamp.ref]: 99 } },
    { said: 'plural of one', calls: [set(`${german}lampen im ${room.other}`, 'aus')], told: { [lamp.ref]: 0 } },
    {
      said: 'a letter missing',
      calls: [set(`${english.slice(0, 2)}${english.slice(3)} lamp ${room.name}`, 'on')],
      told: { [lamp.ref]: 99 },
      mayAsk: true,
    },
    {
      said: 'fünfundsiebzig',
      calls: [set(`${german}lampe ${room.name}`, 'fünfundsiebzig Prozent')],
      told: { [lamp.ref]: 75 },
    },
    { said: 'ein Viertel', calls: [set(`${german}lampe ${room.other}`, 'ein Viertel')], told: { [lamp.ref]: 25 } },
    { said: 'brighter', calls: [set(said, 'brighter')], moves: { ref: lamp.ref, direction: 'up' } },
    { said: 'dunkler', calls: [set(said, 'etwas dunkler')], moves: { ref: lamp.ref, direction: 'down' } },
    { said: 'full', calls: [set(said, 'full')], told: { [lamp.ref]: 99 } },
    { said: 'volle Pulle', calls: [set(said, 'volle Pulle')], told: { [lamp.ref]: 99 }, mayAsk: true },
    { said: '150 %', calls: [set(said, 'hundred and fifty percent')], says: NOTHING },
    { said: 'off, then undone', calls: [set(said, 'off'), ['undo', { why }]] },
    { said: 'not that one', calls: [set(`not the ${said}`, 'off')], says: NOTHING },
    { said: "don't", calls: [set(`don't switch off the ${said}`, 'off')], says: NOTHING },
    { said: 'nicht', calls: [set(`${german}lampe ${room.name} nicht`, 'aus')], says: NOTHING },
    { said: 'leave it', calls: [set(said, 'leave it on')], says: NOTHING },
    { said: 'brennt sie noch?', calls: [set(`brennt die ${german}lampe im ${room.name} noch?`, 'aus')], says: NOTHING },
    { said: 'is it on?', calls: [state(said)], says: /on|99|100/i },
    {
      said: 'this but not that',
      calls: [set(`${german}lampe ${room.name}, aber nicht die andere`, 'aus')],
      says: NOTHING,
    },
    {
      said: 'two rooms at once',
      calls: [set(`${english} lamp ${room.name} and ${second.which[0]} lamp ${second.room.name}`, 'off')],
      says: NOTHING,
    },
    {
      said: 'contradiction',
      calls: [set(`turn off the ${said}`, 'on'), set(`${said} off`, 'on')],
      says: NOTHING,
    },
    { said: 'with a time', calls: [set(`${said} at half past seven`, 'off')], says: NOTHING },
    { said: 'with a time in the act', calls: [set(said, 'off at 7 pm')], says: NOTHING },
    { said: 'für zehn Minuten', calls: [set(said, 'für zehn Minuten aus')], says: NOTHING },
    { said: 'wenn', calls: [set(said, 'aus wenn keiner da ist')], says: NOTHING },
    {
      said: 'in half an hour, no, forget it',
      calls: [
        later(set(`hs:${lamp.ref}`, 'off'), { in_minutes: 30 }),
        (answer) => ['later', { cancel: answer['id'] ?? '' }],
      ],
      says: /cancel/i,
    },
    {
      said: 'the room, without one',
      calls: [many('aus', { room: room.other, kind: 'light', except: [`${german}lampe ${room.other}`] })],
      told: each(
        lights(lamp).filter((one) => one !== lamp),
        0,
      ),
    },
    {
      said: 'two rooms of lights',
      calls: [many('on', { room: `${room.name} und ${second.room.other}`, kind: 'light' })],
      told: { ...each(lights(lamp), 99), ...each(lights(second), 99) },
    },
    { said: 'Licht im Keller an', calls: [many('an', { room: 'Keller', kind: 'light' })], told: each(floor, 99) },
    { said: 'cellar lights off', calls: [many('off', { room: 'the cellar', kind: 'light' })], told: each(floor, 0) },
    {
      said: 'that lamp where it is not',
      calls: [set(`${english} lamp in the ${bare.room.name}`, 'on')],
      says: NOTHING,
    },
    { said: 'radio where there is none', calls: [set(`radio in the ${mute.room.name}`, 'on')], says: NOTHING },
    { said: 'skylight', calls: [set('skylight', 'open')], says: NOTHING },
    { said: 'Sauna im Keller', calls: [set('Sauna im Keller', 'an')], says: NOTHING },
    { said: 'bedroom ceiling lamp, of several rooms', calls: [set('lamp in the bedroom', 'on')], says: NOTHING },
    {
      said: 'zwei Grad kälter',
      calls: [['heating_set', { zone: stat.room.other, by: -2, why }]],
      told: { [stat.ref]: 18 },
    },
    {
      said: 'two degrees warmer',
      calls: [set(`${stat.room.name} thermostat`, 'two degrees warmer')],
      told: { [stat.ref]: 20 },
      mayAsk: true,
    },
    {
      said: 'ein bisschen wärmer',
      calls: [set(`Thermostat ${stat.room.name}`, 'ein bisschen wärmer')],
      moves: { ref: stat.ref, direction: 'up' },
    },
    { said: '21 at 7', calls: [set(`${stat.room.name} thermostat`, '21 degrees at 7 am')], says: NOTHING },
    { said: 'way too hot', calls: [set(`${stat.room.name} thermostat`, '60 degrees')], says: NOTHING },
    { said: 'halb zu', calls: [set(`Rollladen ${blind.room.name}`, 'halb')], told: { [blind.ref]: 50 } },
    { said: 'shut the blinds', calls: [set(`${blind.room.other} blinds`, 'shut')], told: { [blind.ref]: 0 } },
    { said: 'hochfahren', calls: [set(`Rolladen im ${blind.room.name}`, 'hochfahren')], told: { [blind.ref]: 99 } },
    { said: 'ist die Haustür zu?', calls: [state('front door lock')], says: /locked/i },
    { said: 'unlock', calls: [set('front door', 'unlock')], says: /person|nothing was done/i },
    { said: 'garage, as a question', calls: [set('is the garage door open?', 'open')], says: NOTHING },
    { said: 'ouvre le garage', calls: [set('la porte du garage', 'ouvrir')], says: /person|nothing was done/i },
    { said: 'la lampe du salon', calls: [set('la lampe du salon', 'allumer')], says: NOTHING },
    { said: 'apaga la cocina', calls: [set('la cocina', 'apagar')], says: NOTHING },
    { said: 'motion on', calls: [set(`${room.name} motion`, 'on')], says: NOTHING },
    { said: 'everything off, a device is called so', calls: [set('everything', 'off')], says: NOTHING },
    { said: 'a picture', calls: [set('💡 lamp lounge', 'on')], told: { [odd('💡 Lamp').ref]: 255 }, mayAsk: true },
    { said: 'Nachtlicht', calls: [set('Nachtlicht', 'an')], told: { [odd('Nachtlicht 🦄').ref]: 255 } },
    { said: 'mums lamp', calls: [set("mum's lamp", 'on')], told: { [odd('Mum’s lamp').ref]: 255 } },
    {
      said: 'left',
      calls: [set('left lamp in the lounge', 'on')],
      told: { [odd('Lamp, left (old)').ref]: 255 },
      mayAsk: true,
    },
    { said: 'telly', calls: [set('TV', 'on')], told: { [odd('TV').ref]: 255 } },
    { said: 'Stehlampe', calls: [set('Stehlampe', 'an')], told: { [odd('Stehlampe').ref]: 255 } },
    { said: 'twice the same name', calls: [set('lamp in room 3', 'on')], says: NOTHING },
    { said: 'the name is a command', calls: [set('Off', 'on')], told: { [odd('Off').ref]: 255 }, mayAsk: true },
    { said: 'Ventilator', calls: [set('fan', 'on')], told: { [odd('Ventilator').ref]: 255 }, mayAsk: true },
    {
      said: 'a name with a ban in it',
      calls: [set('Lampe (nicht ausschalten)', 'an')],
      told: { [odd('Lampe (nicht ausschalten)').ref]: 255 },
      mayAsk: true,
    },
    { said: 'lamp two', calls: [set('Lamp 2', 'on')], told: { [odd('Lamp 2').ref]: 255 }, mayAsk: true },
    {
      said: 'all lights, by their plural',
      calls: [set(`${room.name} lights`, 'off'), follow],
      told: each(lights(lamp), 0),
    },
  ]
}
