import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { entriesWith, phrasesIn } from './same-words.ts'

/** Where the words of the first body stand among all of them. */
function sameWords(bodies: readonly Json[]): readonly number[] {
  const stored = bodies.map((body) => ({ salt: new Uint8Array(32), body: Buffer.from(canonicalJson(body)) }))
  const phrases = phrasesIn(stored[0]?.body ?? new Uint8Array(0))
  const search = entriesWith({ size: stored.length, body: (seq) => stored[seq] }, phrases)
  for (let step = search.next(); ; step = search.next()) if (step.done === true) return step.value
}

describe('the same words', () => {
  it.each([
    ['a sentence', 'Anna has a fever', { note: 'Anna has a fever' }],
    ['a sentence inside a longer one', 'Anna has a fever', ['told: Anna has a fever, call her']],
    ['a name without a space', 'Schmidt', { assignee: 'Schmidt' }],
    ['an e-mail address', 'anna@example.org', 'write to anna@example.org today'],
    ['a name in Chinese', '王芳', { title: '提醒王芳关窗' }],
    ['a name in Arabic', 'فاطمة', { title: 'غرفة فاطمة' }],
    ['a name in Hindi', 'प्रिया', { title: 'प्रिया का कमरा' }],
    ['a name with an apostrophe and a quote', `O'Brien "Bob"`, { by: `O'Brien "Bob"` }],
  ])('are named: %s', (_, words, other) => {
    expect(sameWords([{ text: words }, { text: 'something else' }, other])).toEqual([0, 2])
  })

  it('are not looked for where they are numbers, hashes, ids and times', () => {
    const machine = {
      a: '0'.repeat(64),
      b: '01JABCDEFGHJKMNPQRSTVWXYZ0',
      c: '2026-01-01T00:00:00.000Z',
      d: 'call.enter',
      e: '17',
    }
    expect(phrasesIn(Buffer.from(canonicalJson(machine)))).toEqual([])
  })

  it('leave out a plain word that stands everywhere, and name one that does not', () => {
    const everywhere = Array.from({ length: 40 }, () => ({ status: 'done' }))
    expect(sameWords([{ status: 'done', who: 'anna' }, ...everywhere, { who: 'anna' }])).toEqual([0, 41])
  })
})
