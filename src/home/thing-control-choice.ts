/**
 * Thing control choice: finds the control of a thing for the word or number in a request.
 *
 *   "on" · "40 %" · 21.5 · "half" · "fünfzig Prozent" · "a bit brighter" · "red" · "open" · a label of the thing itself
 */
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { findThingCommand } from './home-words.ts'
import { normaliseText, transliterateUmlauts } from './normalised-text.ts'
import type { ThingCommand } from './home-words.ts'
import { parseQuantity } from './number-words.ts'
import type { Quantity } from './number-words.ts'
import type { Thing, ThingCall, ThingControl } from './thing.ts'

export interface ChosenThingCall {
  readonly call: ThingCall
  /** The new state in words: `on`, `40`, `Movie`. */
  readonly newState: string
}

/** Filler words that do not change the meaning. */
const FILLERS = new Set(
  'turn turned switch switched it them please bitte mach mache machen schalte schalten stell stelle stellen fahr fahre fahren fully completely ganz komplett the to be auf'.split(
    ' ',
  ),
)
const FULL = new Set('full voll max maximum maximal'.split(' '))
const BRIGHTNESS = new Set('brightness helligkeit hell bright power'.split(' '))

/** Whether the text asks for a state, in words or with a question mark. A question never changes anything. */
export function isStateQuestion(text: string): boolean {
  return /[?？¿]/.test(text) || QUESTION_WORDS.has(normaliseText(text).split(' ')[0] ?? '')
}

const QUESTION_WORDS = new Set(
  'is are was were does did has have how why when where who which whether ist sind war waren hat haben wie warum wann wo wer welche welcher welches ob'.split(
    ' ',
  ),
)

/** The control that is meant, or else what the thing can do. */
export function chooseThingControl(
  thing: Thing,
  to: string | number | boolean,
): Result<ChosenThingCall, readonly string[]> {
  const text = String(to).trim()
  if (!isStateQuestion(text) || thing.controls.some(({ label }) => label === text)) {
    const chosen = commandChoice(thing, text) ?? measuredChoice(thing, to, text)
    if (chosen !== undefined) return ok(chosen)
    const labelled = labelledControl(thing, text)
    if (labelled !== undefined) return ok({ call: labelled.callFor(undefined), newState: labelled.label ?? text })
  }
  return fail([...new Set(thing.controls.map(describeThingControlOption))])
}

function commandChoice(thing: Thing, text: string): ChosenThingCall | undefined {
  const plain = withoutFillers(text)
  const word = findThingCommand(text) ?? findThingCommand(plain) ?? (isFullBrightness(thing, plain) ? 'on' : undefined)
  const control = word === undefined ? undefined : controlFor(thing, word)
  return control === undefined ? undefined : { call: control.callFor(undefined), newState: word ?? text }
}

/** A dimmer whose range ends just below the value of its own `on` is fully on at the end of the range. */
function isFullBrightness({ kind, controls }: Thing, plain: string): boolean {
  const words = plain.split(' ')
  return (
    kind === 'light' &&
    controls.some(isRanged) &&
    words.every((word) => FULL.has(word) || BRIGHTNESS.has(word)) &&
    words.some((word) => FULL.has(word))
  )
}

function measuredChoice(thing: Thing, to: string | number | boolean, text: string): ChosenThingCall | undefined {
  // A number is the new value; only words can say by how much to change it.
  const byHowMuch = typeof to === 'number' ? undefined : relativeChoice(thing, text)
  return byHowMuch ?? numberChoice(thing, text) ?? colourChoice(thing, text)
}

function withoutFillers(text: string): string {
  return normaliseText(text)
    .split(' ')
    .filter((word) => !FILLERS.has(word))
    .join(' ')
}

/** `on` never means `open` for a blind; but a light that can only be dimmed is on at its maximum. */
function controlFor(thing: Thing, word: ThingCommand): ThingControl | undefined {
  const exact = thing.controls.find(({ wish }) => wish === word)
  if (exact !== undefined) return exact
  const level = thing.controls.find(({ wish }) => wish === 'level')
  if (level === undefined || (word !== 'on' && word !== 'off') || isOpening(thing)) return undefined
  const value = word === 'on' ? (level.maximum ?? 100) : (level.minimum ?? 0)
  return { ...level, callFor: () => level.callFor(value) }
}

function isOpening({ kind }: Thing): boolean {
  return kind === 'blind' || kind === 'door' || kind === 'window'
}

/** Percent are for levels and degrees for temperatures; a number alone is for both. */
function numberChoice(thing: Thing, text: string): ChosenThingCall | undefined {
  const quantity = parseQuantity(text)
  if (quantity === undefined || (quantity.side !== undefined && !isOpening(thing))) return undefined
  // It is not clear whether `30 % down` is counted from the present position or from the top.
  if (quantity.side !== undefined && !quantity.isFraction && UP_OR_DOWN.test(text)) return undefined
  const value = quantity.side === 'closed' ? 100 - quantity.value : quantity.value
  const zero = value === 0 ? controlForZero(thing, quantity) : undefined
  if (zero !== undefined) return { call: zero.callFor(undefined), newState: zero.wish }
  for (const control of thing.controls.filter((each) => isMeasuredIn(each, quantity))) {
    const chosen = valueFor(control, value, quantity.unit === 'percent')
    if (chosen !== undefined) return { call: control.callFor(chosen), newState: String(chosen) }
  }
  return undefined
}

const UP_OR_DOWN = /\b(?:up|hoch|rauf|down|runter|herunter)\b/i

/** A dimmer whose range begins above zero is switched off for zero, and such a blind is closed. */
function controlForZero(thing: Thing, quantity: Quantity): ThingControl | undefined {
  const isLevel = thing.controls.some(
    (each) => each.wish === 'level' && isMeasuredIn(each, quantity) && each.minimum !== 0,
  )
  return isLevel ? thing.controls.find(({ wish }) => wish === (isOpening(thing) ? 'close' : 'off')) : undefined
}

function isMeasuredIn({ wish }: ThingControl, { unit }: Quantity): boolean {
  return (wish === 'level' && unit !== 'degrees') || (wish === 'temperature' && unit !== 'percent')
}

function isRanged({ wish }: ThingControl): boolean {
  return wish === 'level' || wish === 'temperature'
}

/** Dimmers end at 99 or 100, which mean the same; other ranges end at 255, of which a percentage is taken. */
function valueFor(
  { wish, minimum = 0, maximum = 100 }: ThingControl,
  value: number,
  isPercent: boolean,
): number | undefined {
  const isScale = wish === 'level' && maximum >= 95 && maximum <= 100
  if (isScale && value > maximum && value <= 100) return maximum
  if (wish === 'level' && isPercent && !isScale && value >= 0 && value <= 100)
    return Math.round(minimum + ((maximum - minimum) * value) / 100)
  return value >= minimum && value <= maximum ? value : undefined
}

/** Comparatives, by what they compare. */
const COMPARATIVES: Readonly<
  Record<'any' | 'brightness' | 'volume' | 'warmth', readonly [more: string, less: string]>
> = {
  any: ['more mehr higher hoeher up rauf hoch', 'less weniger lower niedriger down runter herunter'],
  brightness: ['brighter heller lighter', 'darker dimmer dunkler'],
  volume: ['louder lauter', 'quieter leiser softer'],
  warmth: ['warmer waermer hotter heisser', 'cooler colder kaelter kuehler'],
}
const SLIGHTLY =
  /\b(?:a (?:little )?bit|a little|slightly|somewhat|etwas|ein (?:bisschen|wenig)|leicht|a touch|a tad)\b/
const GREATLY = /\b(?:much|a lot|far|viel|deutlich)\b/
const RELATIVE_FILLERS = /\b(?:by|um|make|turn|turned|it|please|bitte|mach|mache|machen|es|noch|still|das|the)\b/g
/** Steps as fractions of the range, and in degrees. */
const STEPS = {
  slight: { level: 0.1, degrees: 0.5 },
  usual: { level: 0.2, degrees: 1 },
  great: { level: 0.4, degrees: 2 },
}

function relativeChoice(thing: Thing, text: string): ChosenThingCall | undefined {
  const control = thing.controls.find(isRanged)
  const step = control === undefined ? undefined : relativeStep(text, control, thing)
  if (control === undefined || step === undefined || thing.level === undefined) return undefined
  const { minimum = 0, maximum = 100 } = control
  // Temperatures have half degrees; everything else is a whole number.
  const fine = control.wish === 'temperature' ? 2 : 1
  const value = Math.min(maximum, Math.max(minimum, Math.round((thing.level + step) * fine) / fine))
  return { call: control.callFor(value), newState: String(value) }
}

function relativeStep(text: string, control: ThingControl, thing: Thing): number | undefined {
  const { wish, minimum = 0, maximum = 100 } = control
  const signed = /^([+-])\s*(\d+(?:[.,]\d+)?)\s*(?:%|percent|prozent|degrees?|grad|°c?)?$/i.exec(text)
  if (signed !== null && (signed[1] === '+' || minimum >= 0))
    return isMeasuredIn(control, parseQuantity(text.slice(1)) ?? { value: 0, isFraction: false })
      ? Number(`${signed[1]}${(signed[2] ?? '').replace(',', '.')}`)
      : undefined
  const comparative = findComparative(text, control, thing)
  if (comparative === undefined) return undefined
  const { direction, rest } = comparative
  const { slight, usual, great } = STEPS
  const size = SLIGHTLY.test(rest) ? slight : GREATLY.test(rest) ? great : usual
  const left = rest.replace(SLIGHTLY, ' ').replace(GREATLY, ' ').replaceAll(RELATIVE_FILLERS, ' ').trim()
  if (left === '') return direction * (wish === 'temperature' ? size.degrees : size.level * (maximum - minimum))
  // Any other word in the text may change the meaning: `warmer than upstairs`, `not brighter`.
  const amount = parseQuantity(left)
  const isAmount =
    amount !== undefined && !amount.isFraction && amount.side === undefined && isMeasuredIn(control, amount)
  return isAmount ? direction * amount.value : undefined
}

/**
 * Finds a comparative that fits the thing: a dimmer does not get warmer, and `more` of a blind may mean either
 * direction.
 */
function findComparative(
  text: string,
  { wish }: ThingControl,
  thing: Thing,
): { readonly direction: 1 | -1; readonly rest: string } | undefined {
  const compared = wish === 'temperature' ? 'warmth' : thing.kind === 'speaker' ? 'volume' : 'brightness'
  const lists = [COMPARATIVES.any, ...(isOpening(thing) ? [] : [COMPARATIVES[compared]])]
  const [more, less] = [0, 1].map((index) => lists.flatMap((list) => (list[index] ?? '').split(' ')))
  const words = foldWords(text)
  const comparatives = words.filter((word) => more?.includes(word) === true || less?.includes(word) === true)
  const [only] = comparatives
  if (comparatives.length !== 1 || only === undefined) return undefined
  // Without `by`, `30 % down` may also be a position.
  if (isOpening(thing) && !/\b(?:by|um)\b/i.test(text)) return undefined
  return { direction: more?.includes(only) === true ? 1 : -1, rest: words.filter((word) => word !== only).join(' ') }
}

/** Splits into words, keeping numbers with their units: `1,5`, `10 %`. */
function foldWords(text: string): readonly string[] {
  return transliterateUmlauts(text.toLowerCase())
    .split(/[\s!]+/)
    .filter((word) => word !== '')
}

const COLOURS: Readonly<Record<string, number>> = {
  red: 0xff_00_00,
  rot: 0xff_00_00,
  green: 0x00_ff_00,
  gruen: 0x00_ff_00,
  blue: 0x00_00_ff,
  blau: 0x00_00_ff,
  yellow: 0xff_ff_00,
  gelb: 0xff_ff_00,
  orange: 0xff_80_00,
  purple: 0x80_00_80,
  violet: 0x80_00_ff,
  lila: 0x80_00_80,
  violett: 0x80_00_ff,
  pink: 0xff_69_b4,
  rosa: 0xff_b6_c1,
  magenta: 0xff_00_ff,
  cyan: 0x00_ff_ff,
  tuerkis: 0x40_e0_d0,
  turquoise: 0x40_e0_d0,
  white: 0xff_ff_ff,
  weiss: 0xff_ff_ff,
  // About 3,000 K and 6,500 K.
  'warm white': 0xff_b1_6e,
  warmweiss: 0xff_b1_6e,
  'cool white': 0xff_fe_fa,
  'cold white': 0xff_fe_fa,
  kaltweiss: 0xff_fe_fa,
}

function colourChoice(thing: Thing, text: string): ChosenThingCall | undefined {
  const control = thing.controls.find(({ wish }) => wish === 'colour')
  const hex = /^#?([0-9a-f]{6})$/i.exec(text)?.[1]
  const colour = hex === undefined ? COLOURS[withoutFillers(text)] : Number.parseInt(hex, 16)
  return control === undefined || colour === undefined ? undefined : { call: control.callFor(colour), newState: text }
}

/** The label in the text, or the only label whose words are all in it: `movie mode` for `Movie`. */
function labelledControl({ controls }: Thing, text: string): ThingControl | undefined {
  const folded = normaliseText(text)
  const exact = controls.find(({ label }) => label !== undefined && normaliseText(label) === folded)
  if (exact !== undefined) return exact
  const words = new Set(folded.split(' '))
  const near = controls.filter(
    ({ label }) =>
      label !== undefined &&
      normaliseText(label).length > 2 &&
      normaliseText(label)
        .split(' ')
        .every((each) => words.has(each)),
  )
  // Other words in the text may reverse its meaning.
  const isPlain = [...words].every(
    (word) =>
      FILLERS.has(word) || MODE_WORDS.has(word) || near.some(({ label }) => normaliseText(label ?? '').includes(word)),
  )
  return near.length === 1 && isPlain ? near[0] : undefined
}

const MODE_WORDS = new Set(['mode', 'modus', 'setting', 'position', 'level', 'speed', 'stufe', 'program', 'programm'])

export function describeThingControlOption({ wish, label, minimum, maximum }: ThingControl): string {
  if (wish === 'level' || wish === 'temperature') return `${minimum ?? 0} to ${maximum ?? 100}`
  return wish === 'colour' ? 'a colour' : (label ?? wish)
}
