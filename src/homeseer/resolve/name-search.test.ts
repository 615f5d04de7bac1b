import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/any-text.ts'
import type { Alias } from './alias.ts'
import { buildNameIndex } from './name-index.ts'
import { searchNames } from './name-search.ts'
import { normaliseName, splitNameTokens } from './name-normalisation.ts'
import { toMatchConfidence, computeOverlapScore } from './name-score.ts'

const alias = (id: number, text: string, origin: Alias['origin'] = 'name'): Alias => ({
  kind: 'device',
  id,
  text,
  origin,
})

function search(query: string, ...aliases: readonly Alias[]) {
  return searchNames(buildNameIndex(aliases), query).map(({ id, score, match, lookAlike }) => ({
    id,
    score,
    match,
    lookAlike,
  }))
}

/** The rules as one would write them without an index. */
function plainScore(query: string, text: string): number {
  const [q, a] = [normaliseName(query), normaliseName(text)]
  if (q === '' || a === '') return 0
  const [qTokens, aTokens] = [splitNameTokens(q), splitNameTokens(a)]
  const shared = qTokens.filter((token) => aTokens.includes(token)).length
  const scores = [computeOverlapScore(shared, qTokens.length, aTokens.length)]
  if (a === q) scores.push(1)
  if (a.startsWith(q)) scores.push(0.94)
  if (a.includes(q)) scores.push(0.86)
  if (q.startsWith(a)) scores.push(0.8)
  return Math.round(Math.max(...scores) * 1e6) / 1e6
}

describe('name search', () => {
  it('computes the scores of the contract', () => {
    const lamp = alias(1, 'Kitchen Lamp')
    expect(search('kitchen lamp', lamp)).toEqual([{ id: 1, score: 1, match: 'exact', lookAlike: false }])
    expect(search('kitch', lamp)).toMatchObject([{ score: 0.94, match: 'fuzzy' }])
    expect(search('lamp', lamp)).toMatchObject([{ score: 0.86 }])
    expect(search('kitchen lamps', lamp)).toMatchObject([{ score: 0.8 }])
    expect(search('lamp of zeus', lamp)).toMatchObject([{ score: 0.625 }])
    expect(search('zeus', lamp)).toEqual([])
    expect([0.9, 0.72, 0.71].map(toMatchConfidence)).toEqual(['high', 'medium', 'low'])
  })

  it('agrees with a literal implementation of the rules, on any names', () => {
    const word = fc.constantFrom('hall', 'lamp', 'lamps', 'kitchen', 'k', 'door', 'halla')
    const words = fc.array(word, { minLength: 1, maxLength: 4 }).map((list) => list.join(' '))
    fc.assert(
      fc.property(words, fc.array(words, { minLength: 1, maxLength: 6 }), (query, names) => {
        const found = new Map(
          search(query, ...names.map((name, id) => alias(id, name))).map((hit) => [hit.id, hit.score]),
        )
        for (const [id, name] of names.entries()) {
          const contract = plainScore(query, name)
          // What shares no word may be found by its meaning, and is never as good as the name.
          const score = found.get(id) ?? 0
          expect(contract > 0 ? Math.abs(score - contract) < 1e-6 : score <= 0.88).toBe(true)
        }
      }),
    )
  })

  it('ranks configured aliases higher, and keeps the best alias of each device', () => {
    expect(search('reading', alias(1, 'Reading Lamp'), alias(2, 'Reading Light', 'configuration'))).toMatchObject([
      { id: 2, score: 0.96 },
      { id: 1, score: 0.94 },
    ])
    expect(search('lamp', alias(1, 'Hall Lamp'), alias(1, 'Lamp'))).toMatchObject([{ id: 1, score: 1 }])
  })

  it('ignores filler words, unless a name contains them', () => {
    expect(search('turn on the lamp please', alias(1, 'Lamp'))).toMatchObject([{ score: 1, match: 'exact' }])
    expect(search('lamp off', alias(1, 'Lamp'), alias(2, 'Lamp Off'))).toMatchObject([
      { id: 2, match: 'exact' },
      { id: 1, score: 0.98, match: 'fuzzy' },
    ])
    expect(search('please', alias(1, 'Lamp'))).toEqual([])
  })

  it('never reports a similar or look-alike name as an exact match', () => {
    expect(search('kuche', alias(1, 'Küche'))).toMatchObject([{ score: 0.99, match: 'fuzzy', lookAlike: false }])
    for (const query of ['Frоnt Door', 'Ｆront Door', 'Fr\u200bont Door', 'Front Dοοr'])
      expect(search(query, alias(1, 'Front Door'))).toEqual([{ id: 1, score: 0.89, match: 'fuzzy', lookAlike: true }])
    expect(search('front door', alias(1, 'Frоnt Dооr'))).toEqual([
      { id: 1, score: 0.89, match: 'fuzzy', lookAlike: true },
    ])
    expect(search('Frоnt Dооr', alias(1, 'Front Door', 'configuration'))).toMatchObject([
      { score: 0.89, match: 'fuzzy' },
    ])
  })

  it('matches exactly in any script', () => {
    expect(search('лампа на кухне', alias(1, 'Лампа на кухне'))).toMatchObject([{ score: 1, match: 'exact' }])
    expect(search('キッチン', alias(1, 'キッチンランプ'))).toMatchObject([{ score: 0.94 }])
  })

  it('returns scores above zero for any query over any names', () => {
    const any = anyText({ maxLength: 30 })
    fc.assert(
      fc.property(any, fc.array(any, { maxLength: 5 }), (query, names) => {
        for (const { score, match } of search(query, ...names.map((name, id) => alias(id, name)))) {
          expect(score).toBeGreaterThan(0)
          expect(match === 'exact').toBe(score === 1)
        }
      }),
    )
    expect(search('x'.repeat(100_000), alias(1, 'x'.repeat(300)))).toHaveLength(1)
    expect(search('x', alias(1, 'x'.repeat(100_000)))).toEqual([])
  })
})
