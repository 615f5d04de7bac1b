/**
 * Wish: what somebody wants a thing to be, from the word or number that they say to the control that does it.
 *
 *   "on" · "40 %" · 21.5 · "half" · "open" · a label of the thing itself
 *
 * Pure.
 */
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { fold, wishWord } from './home-words.ts'
import type { WishWord } from './home-words.ts'
import type { Thing, ThingCall, ThingControl } from './thing.ts'

export interface ChosenControl {
  readonly call: ThingCall
  /** What will be told, in words: `on`, `40`, `Movie`. */
  readonly told: string
}

const NUMBER = /^(-?\d+(?:[.,]\d+)?)\s*(?:%|percent|prozent|°|°c|c|degrees|grad)?$/i
const FRACTIONS: Readonly<Record<string, number>> = { half: 50, halb: 50, full: 100, voll: 100, quarter: 25 }

/** The control that is meant; otherwise what the thing can be told instead. */
export function chooseControl(thing: Thing, to: string | number | boolean): Result<ChosenControl, readonly string[]> {
  const text = String(to).trim()
  const word = wishWord(text)
  const byWord = word === undefined ? undefined : controlFor(thing, word)
  if (byWord !== undefined) return ok({ call: byWord.callFor(undefined), told: word ?? text })
  const number = NUMBER.exec(text)?.[1]?.replace(',', '.')
  const value = number === undefined ? FRACTIONS[fold(text)] : Number(number)
  const ranged = value === undefined ? undefined : rangedControl(thing, value)
  if (ranged !== undefined) return ok({ call: ranged.callFor(value), told: text })
  const labelled = thing.controls.find(({ label }) => label !== undefined && fold(label) === fold(text))
  if (labelled !== undefined) return ok({ call: labelled.callFor(undefined), told: labelled.label ?? text })
  return fail(thing.controls.map(describeControl))
}

/** `on` for a blind is meant as `open` by nobody; but a light that only dims is on at its most. */
function controlFor(thing: Thing, word: WishWord): ThingControl | undefined {
  const exact = thing.controls.find(({ wish }) => wish === word)
  if (exact !== undefined) return exact
  const level = thing.controls.find(({ wish }) => wish === 'level')
  if (level === undefined || (word !== 'on' && word !== 'off')) return undefined
  const value = word === 'on' ? (level.maximum ?? 100) : (level.minimum ?? 0)
  return { ...level, callFor: () => level.callFor(value) }
}

function rangedControl(thing: Thing, value: number): ThingControl | undefined {
  return thing.controls.find(
    ({ wish, minimum = -Infinity, maximum = Infinity }) =>
      (wish === 'level' || wish === 'temperature') && value >= minimum && value <= maximum,
  )
}

export function describeControl({ wish, label, minimum, maximum }: ThingControl): string {
  if (wish === 'level' || wish === 'temperature') return `${minimum ?? 0} to ${maximum ?? 100}`
  return label ?? wish
}
