/**
 * Help score: how well a goal in somebody's words fits a kind of route or a tool, between 0 and 1.
 */
import type { Offer } from '../../bus/capability.ts'
import { listNormalisedWords } from '../resolve/name-normalisation.ts'

/** English and German words that go with one kind of route; names of things are found by the resolver. */
const WORDS = {
  device: 'device light lights lamp switch dim dimmer turn on off set thermostat temperature lock unlock blind fan',
  event: 'scene event automation run activate trigger routine mode szene ereignis starte aktiviere',
  camera: 'camera cameras snapshot picture photo pan look kamera bild foto',
  diagnose: 'why wrong broken health diagnose problem failing error offline slow warum kaputt fehler problem',
} as const

/** How well a goal names a thing counts three times as much as the words around it. */
export function rateNamedTarget(score: number, words: ReadonlySet<string>, kind: keyof typeof WORDS): number {
  return roundScore(Math.min(1, 0.75 * score + (countGoalWords(words, kind) > 0 ? 0.25 : 0)))
}

export function countGoalWords(words: ReadonlySet<string>, kind: keyof typeof WORDS): number {
  return WORDS[kind].split(' ').filter((word) => words.has(word)).length
}

/** In every other title: two tools that share these have nothing in common. */
const LITTLE: ReadonlySet<string> = new Set(['a', 'an', 'the', 'of', 'to', 'in', 'for', 'by', 'its', 'and'])

/** Names count double: `list users` is `hs4.admin.users.list` before anything that mentions users. */
export function rateTool({ name, title }: Offer, goal: string, words: ReadonlySet<string>): number {
  if (goal.includes(name)) return 1
  const own = listNormalisedWords(`${name.replace(/^hs4/, '').replaceAll(/[._]/g, ' ')} ${title}`).filter(
    (word) => !LITTLE.has(word),
  )
  const said = [...words].filter((word) => !LITTLE.has(word))
  const shared = own.filter((word) => words.has(word)).length
  // One word in common is chance. The share is the harmonic mean, as the resolver scores names.
  return shared < 2 ? 0 : Math.min(0.9, (2 * shared) / (own.length + said.length))
}

export function roundScore(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
