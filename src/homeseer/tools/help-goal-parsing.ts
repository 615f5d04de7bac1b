/**
 * Help goal parsing: interprets the words of a goal without looking at the house: whether it is a question, about one
 * thing or several, and what is to be done. In English and German.
 */
import type { JsonObject } from '../../core/json.ts'
import { chooseControlPair } from '../catalog/control-choice-and-read-back.ts'
import type { ControlPair } from '../wire/device.ts'
import type { ControlUse } from '../wire/control-use.ts'
import { listNormalisedWords, normaliseName } from '../resolve/name-normalisation.ts'

export type GoalDeviceCommand = 'on' | 'off' | 'open' | 'close' | 'lock' | 'unlock'

const QUESTION =
  /^(which|what|whats|where|when|why|how|who|is|are|was|were|does|do|did|has|have|any|show|list|check|tell|look|read|welche[rsnm]?|was|wo|wann|warum|wieso|wie|wer|ist|sind|hat|haben|brennt|brennen|gibt|zeig|zeige|pruf|prufe)\b/
const REQUEST = /^(can|could|would|will|please|kannst|konntest|wurdest|bitte)\b/

/** Whether the goal is a question, which changes nothing. */
export function isQuestionText(goal: string): boolean {
  const words = normaliseName(goal)
  return !REQUEST.test(words) && (QUESTION.test(words) || goal.trim().endsWith('?'))
}

const MANY = new Set(
  'all every each everything both lights lamps blinds shades shutters curtains doors windows locks plugs heaters fans alle alles jede jeder jedes samtliche lichter lampen leuchten rollladen rolladen rollos jalousien vorhange turen fenster steckdosen schlosser'.split(
    ' ',
  ),
)

export function isGoalAboutSeveralDevices(goal: string): boolean {
  return listNormalisedWords(goal).some((word) => MANY.has(word))
}

/**
 * The verbs of each action; words that can also be prepositions (on, an, auf, zu) count only if there is no other verb.
 */
const VERBS: readonly (readonly [GoalDeviceCommand, RegExp])[] = [
  ['unlock', /\b(unlock|aufsperren|aufschliessen|entriegeln|entriegle|sperre? .*\bauf|schliesse? .*\bauf)\b/],
  ['lock', /\b(lock (?:the|my|up|both|all)|absperren|zusperren|abschliessen|verriegeln|verriegle|schliesse? .*\bab)\b/],
  ['open', /\b(open|offne|offnen|raise|pull up|hochfahren|fahre? .*\b(hoch|auf)|mache? .*\bauf)\b/],
  ['close', /\b(close|shut|schliesse?|schliessen|lower|pull down|runterfahren|fahre? .*\b(runter|zu)|mache? .*\bzu)\b/],
  ['off', /\b(off|aus|ausschalten|ausmachen)\b/],
  ['on', /\b(turn on|switch on|put on|einschalten|anschalten|anmachen|(?:turn|switch|put) .*\bon)\b|\b(on|an|ein)$/],
  ['open', /\b(auf|hoch|rauf|up)$/],
  ['close', /\b(zu|runter|down)$/],
]

export function findGoalVerb(goal: string): GoalDeviceCommand | undefined {
  const words = normaliseName(goal.replaceAll('ß', 'ss'))
  return VERBS.find(([, verb]) => verb.test(words))?.[0]
}

const USES: Readonly<Record<GoalDeviceCommand, readonly ControlUse[]>> = {
  on: ['On'],
  off: ['Off'],
  open: [],
  close: [],
  lock: ['DoorLock'],
  unlock: ['DoorUnLock'],
}
const LABELS: Readonly<Record<GoalDeviceCommand, readonly string[]>> = {
  on: ['on', 'an', 'ein'],
  off: ['off', 'aus'],
  open: ['open', 'auf', 'offnen', 'up'],
  close: ['close', 'closed', 'zu', 'schliessen', 'down'],
  lock: ['lock', 'abschliessen', 'verriegeln'],
  unlock: ['unlock', 'aufschliessen', 'entriegeln'],
}

/** The number in the words, with an optional unit. */
function numberIn(goal: string): number | undefined {
  const number = /(-?\d{1,5}(?:[.,]\d{1,2})?)\s*(?:%|percent|degrees|°|prozent|grad)?/i.exec(goal)?.[1]
  return number === undefined ? undefined : Number(number.replace(',', '.'))
}

/** The arguments for a thing with these controls; `undefined` if the thing cannot do what the words ask for. */
export function chooseControlArgumentsForGoal(controls: readonly ControlPair[], goal: string): JsonObject | undefined {
  const value = numberIn(goal)
  if (value !== undefined && chooseControlPair(controls, { kind: 'value', value }).ok) return { value }
  const action = findGoalVerb(goal)
  const byAction =
    action === undefined
      ? undefined
      : (controls.find(({ use }) => USES[action].includes(use)) ??
        controls.find(({ label, range }) => range === undefined && LABELS[action].includes(normaliseName(label))))
  if (byAction !== undefined) return { label: byAction.label }
  // If the thing has no button for the verb, no other button is meant.
  if (action === 'open' || action === 'close' || action === 'lock' || action === 'unlock') return undefined
  const words = listNormalisedWords(goal)
  const named = controls
    .filter(
      ({ range, label }) =>
        range === undefined && label !== '' && listNormalisedWords(label).every((word) => words.includes(word)),
    )
    // A label counts only if all of its words are in the goal, such as `On Last Level`.
    .toSorted((left, right) => right.label.length - left.label.length)[0]
  return named === undefined || LABELS.on.includes(normaliseName(named.label)) ? undefined : { label: named.label }
}
