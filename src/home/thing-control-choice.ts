/**
 * Thing control choice: finds the control of a thing for a word or number that somebody says.
 *
 *   "on" · "40 %" · 21.5 · "half" · "fünfzig Prozent" · "a bit brighter" · "red" · "open" · a label of the thing itself
 */
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { normaliseText, parseThingCommand } from './home-words.ts'
import type { ThingCommand } from './home-words.ts'
import { parseNumberWords } from './number-words.ts'
import type { Thing, ThingCall, ThingControl } from './thing.ts'

export interface ChosenThingControl {
  readonly call: ThingCall
  /** The new state in words: `on`, `40`, `Movie`. */
  readonly told: string
}

/** Filler words that do not change the meaning. */
const FILLERS = new Set(
  'turn turned switch switched it them please bitte mach mache machen schalte schalten stell stelle stellen fahr fahre fahren fully completely ganz komplett the to be auf'.split(
    ' ',
  ),
)
const FULL = new Set('full voll max maximum maximal'.split(' '))
const PERCENT = /%|percent|prozent|half|halb|quarter|viertel|full|voll/i

/** The control that is meant; otherwise what the thing can do instead. */
export function chooseThingControl(
  thing: Thing,
  to: string | number | boolean,
): Result<ChosenThingControl, readonly string[]> {
  const text = String(to).trim()
  const plain = withoutFillers(text)
  // A dimmer whose range ends just below its own `on` is fully on there.
  const word = parseThingCommand(text) ?? parseThingCommand(plain) ?? (FULL.has(plain) ? 'on' : undefined)
  const byWord = word === undefined ? undefined : controlFor(thing, word)
  if (byWord !== undefined) return ok({ call: byWord.callFor(undefined), told: word ?? text })
  // A number is where it shall be; only words say by how much.
  const byHowMuch = typeof to === 'number' ? undefined : relativeChoice(thing, text)
  const chosen = byHowMuch ?? numberChoice(thing, text) ?? colourChoice(thing, text)
  if (chosen !== undefined) return ok(chosen)
  const labelled = labelledControl(thing, text)
  if (labelled !== undefined) return ok({ call: labelled.callFor(undefined), told: labelled.label ?? text })
  return fail([...new Set(thing.controls.map(describeThingControl))])
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
  if (level === undefined || (word !== 'on' && word !== 'off')) return undefined
  const value = word === 'on' ? (level.maximum ?? 100) : (level.minimum ?? 0)
  return { ...level, callFor: () => level.callFor(value) }
}

function numberChoice(thing: Thing, text: string): ChosenThingControl | undefined {
  const value = parseNumberWords(text)
  if (value === undefined) return undefined
  for (const control of thing.controls.filter(isRanged)) {
    const told = valueFor(control, value, PERCENT.test(text))
    if (told !== undefined) return { call: control.callFor(told), told: String(told) }
  }
  return undefined
}

function isRanged({ wish }: ThingControl): boolean {
  return wish === 'level' || wish === 'temperature'
}

/** Dimmers end at 99 or 100 and mean the same; other ranges end at 255, and a percentage is a part of that. */
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

const MORE = new Set('brighter heller lighter more mehr higher hoeher louder lauter warmer waermer up rauf'.split(' '))
const LESS = new Set(
  'darker dimmer dunkler less weniger lower niedriger quieter leiser cooler colder kaelter kuehler down runter'.split(
    ' ',
  ),
)
const SLIGHTLY = /\b(?:a (?:little )?bit|a little|slightly|somewhat|etwas|ein (?:bisschen|wenig)|leicht)\b/
const GREATLY = /\b(?:much|a lot|far|viel|deutlich)\b/
/** Steps as fractions of the range, and in degrees. */
const STEPS = {
  slight: { level: 0.1, degrees: 0.5 },
  usual: { level: 0.2, degrees: 1 },
  great: { level: 0.4, degrees: 2 },
}

function relativeChoice(thing: Thing, text: string): ChosenThingControl | undefined {
  const control = thing.controls.find(isRanged)
  const step = control === undefined ? undefined : relativeStep(text, control)
  if (control === undefined || step === undefined || thing.level === undefined) return undefined
  const { minimum = 0, maximum = 100 } = control
  // Temperatures have half degrees; everything else is a whole number.
  const fine = control.wish === 'temperature' ? 2 : 1
  const value = Math.min(maximum, Math.max(minimum, Math.round((thing.level + step) * fine) / fine))
  return { call: control.callFor(value), told: String(value) }
}

function relativeStep(text: string, { wish, minimum = 0, maximum = 100 }: ThingControl): number | undefined {
  const signed = /^([+-])\s*(\d+(?:[.,]\d+)?)\s*(?:%|percent|prozent|degrees?|grad|°c?)?$/i.exec(text)
  if (signed !== null && (signed[1] === '+' || minimum >= 0))
    return Number(`${signed[1]}${(signed[2] ?? '').replace(',', '.')}`)
  const folded = normaliseText(text)
  const words = folded.split(' ')
  const direction = words.some((word) => MORE.has(word)) ? 1 : words.some((word) => LESS.has(word)) ? -1 : undefined
  const isNegated = words.some((word) => ['not', 'nicht', 'no', 'kein', 'nie', 'never'].includes(word))
  if (direction === undefined || isNegated) return undefined
  const amount = words.map(parseNumberWords).find((value) => value !== undefined && !SLIGHTLY.test(folded))
  const { slight, usual, great } = STEPS
  const size = SLIGHTLY.test(folded) ? slight : GREATLY.test(folded) ? great : usual
  return direction * (amount ?? (wish === 'temperature' ? size.degrees : size.level * (maximum - minimum)))
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
}

function colourChoice(thing: Thing, text: string): ChosenThingControl | undefined {
  const control = thing.controls.find(({ wish }) => wish === 'colour')
  const hex = /^#?([0-9a-f]{6})$/i.exec(text)?.[1]
  const colour = hex === undefined ? COLOURS[withoutFillers(text)] : Number.parseInt(hex, 16)
  return control === undefined || colour === undefined ? undefined : { call: control.callFor(colour), told: text }
}

/** The label that was said, or the only one whose words were all said: `movie mode` for `Movie`. */
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
  // Other words may reverse the meaning.
  const isPlain = [...words].every(
    (word) =>
      FILLERS.has(word) || MODE_WORDS.has(word) || near.some(({ label }) => normaliseText(label ?? '').includes(word)),
  )
  return near.length === 1 && isPlain ? near[0] : undefined
}

const MODE_WORDS = new Set(['mode', 'modus', 'setting', 'position', 'level', 'speed', 'stufe', 'program', 'programm'])

export function describeThingControl({ wish, label, minimum, maximum }: ThingControl): string {
  if (wish === 'level' || wish === 'temperature') return `${minimum ?? 0} to ${maximum ?? 100}`
  return wish === 'colour' ? 'a colour' : (label ?? wish)
}
