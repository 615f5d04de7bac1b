/**
 * Help score: how well a goal fits a kind of route or a tool, between 0 and 1.
 */
import type { Offer } from '../../bus/capability.ts'
import { listNormalisedWords } from '../resolve/name-normalisation.ts'

/** English and German words that belong to one kind of route; the resolver finds names of things. */
const WORDS = {
  device: 'device light lights lamp switch dim dimmer turn on off set thermostat temperature lock unlock blind fan',
  event: 'scene event automation run activate trigger routine mode szene ereignis starte aktiviere',
  camera: 'camera cameras snapshot picture photo pan look kamera bild foto',
  diagnose: 'why wrong broken health diagnose problem failing error offline slow warum kaputt fehler problem',
} as const

/** The score of the named target counts three times as much as the words around it. */
export function rateNamedTarget(score: number, words: ReadonlySet<string>, kind: keyof typeof WORDS): number {
  return roundScore(Math.min(1, 0.75 * score + (countGoalWordsOfKind(words, kind) > 0 ? 0.25 : 0)))
}

export function countGoalWordsOfKind(words: ReadonlySet<string>, kind: keyof typeof WORDS): number {
  return WORDS[kind].split(' ').filter((word) => words.has(word)).length
}

/** Words that are in many titles, so that sharing them means nothing. */
const LITTLE: ReadonlySet<string> = new Set(['a', 'an', 'the', 'of', 'to', 'in', 'for', 'by', 'its', 'and'])

/** Names count double: `list users` finds `hs4.admin.users.list` before tools that only mention users. */
export function rateTool({ name, title }: Offer, goal: string, words: ReadonlySet<string>): number {
  if (goal.includes(name)) return 1
  const own = listNormalisedWords(`${name.replace(/^hs4/, '').replaceAll(/[._]/g, ' ')} ${title}`).filter(
    (word) => !LITTLE.has(word),
  )
  const goalWords = [...words].filter((word) => !LITTLE.has(word))
  const shared = own.filter((word) => words.has(word)).length
  // One common word is chance. The share is the harmonic mean, as in the resolver's scores.
  return shared < 2 ? 0 : Math.min(0.9, (2 * shared) / (own.length + goalWords.length))
}

export function roundScore(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
