/**
 * Voice assistant trigger detection: whether a phrase that HomeSeer says aloud may be a command. What is said aloud is
 * heard by the voice assistants of the house, and they ask nobody; HomeSeer itself replaces some marks by what a
 * script answers.
 *
 *   a name that only an assistant has          always
 *   a word that some of them listen to         if it is used as a call, or if the phrase names something that opens or guards
 *   open, unlock, disarm + door, lock, alarm   unless the phrase states a fact, because there are unknown assistants
 */
import {
  ALARM_ARMING_CONTROL_LABELS,
  OPEN_CLOSE_CONTROL_LABELS,
  LOCK_AND_UNLOCK_CONTROL_LABELS,
} from '../catalog/control-label-tables.ts'
import {
  ALARM_WORDS,
  DOOR_WORDS,
  GARAGE_WORDS,
  GATE_WORDS,
  HOUSE_MODE_WORDS,
  LOCK_WORDS,
} from '../catalog/device-name-tables.ts'
import { toLatinLookAlikes } from '../resolve/name-normalisation.ts'
import { foldAccentsAndCase, hasWordInTable, splitDeviceNameWords } from '../catalog/device-name-word-matching.ts'

/** Marks that HomeSeer replaces before it speaks. */
const REPLACED = /\$\$|\$script|&n?hs\b/iu

/** The name's sounds with anything in between: `A-lex-a` and `Ah, Lexa` sound like the name. */
const SOUNDS = [
  'a h? l+ [ae] h? (?:x+|k+s+|cks|cs+|gs) a h?',
  '(?:hey|hay|ok|okay|okey) (?:google|gugel|googel)',
  's i r i',
]
const NAMES = ['bixby', 'cortana', 'jarvis', 'nabu', 'mycroft', 'homeseer']
const ASSISTANTS = new RegExp(
  [...SOUNDS.map((sounds) => sounds.replaceAll(' ', String.raw`[^\p{L}]*`)), ...NAMES]
    .map((name) => String.raw`(?<!\p{L})(?:${name})(?!\p{L})`)
    .join('|'),
  'u',
)

const WAKE_WORDS = /\b(?:computer|echo|ziggy|amazon|google|assistant)\b/u
const CALLED = /(?:^|[,.;:!?])\W*(?:hey |ok |okay |hello )?(?:computer|echo|ziggy|amazon)\b/u

const THINGS = [LOCK_WORDS, DOOR_WORDS, GATE_WORDS, GARAGE_WORDS, ALARM_WORDS, HOUSE_MODE_WORDS]
const ACTS = [LOCK_AND_UNLOCK_CONTROL_LABELS, ALARM_ARMING_CONTROL_LABELS, OPEN_CLOSE_CONTROL_LABELS]

/** Words of statements and questions. */
const STATEMENT =
  /\b(?:is|are|was|were|has|have|been|someone|somebody|who|did|ist|sind|war|waren|wurde|wurden|hat|haben|steht|stehen|jemand|wer|est|sont|reste|staat|zijn|esta|estan|sta|stanno|er|ar|jest|sa|je|jsou|on)\b/u

export function mightTriggerVoiceAssistant(phrase: string): boolean {
  const plain = foldAccentsAndCase(phrase.normalize('NFKC').replaceAll(/\p{Cf}/gu, ''))
  if (REPLACED.test(phrase) || ASSISTANTS.test(toLatinLookAlikes(plain)) || CALLED.test(plain)) return true
  const words = splitDeviceNameWords(phrase)
  const namesThing = THINGS.some((table) => hasWordInTable(words, table))
  if (WAKE_WORDS.test(plain) && namesThing) return true
  return namesThing && ACTS.some((table) => hasWordInTable(words, table)) && !STATEMENT.test(plain)
}
