import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileBoundedPattern, computeMaxMatchableTextLength } from './bounded-pattern.ts'

describe('pattern', () => {
  it.each([
    ['^[a-z]{2}$', Infinity],
    ['^\\d{4}-\\d{2}-\\d{2}$', Infinity],
    ['^(?:on|off)$', Infinity],
    ['^[a-z]+$', 10_000_000],
    ['^a\\*b\\+c$', Infinity],
    ['^[*+?{(]$', Infinity],
    ['[a-z]+', 3_162],
    ['^\\w+@\\w+$', 3_162],
    ['^\\d+(?:\\.\\d+)?$', 2_236],
  ])('%s is run on texts of up to %d characters', (source, limit) => {
    expect(computeMaxMatchableTextLength(source)).toBe(limit)
  })

  it.each(['(a+)+$', '^(a|aa)*$', '^(?:a?){30}a{30}$', '^([a-z]+-)*x$', '^(a)\\1+$', '^(?<x>a)\\k<x>$', '((a*)*)*'])(
    '%s, which can take exponential time, is not run',
    (source) => {
      expect(computeMaxMatchableTextLength(source)).toBe(0)
      expect(compileBoundedPattern(source, 'u').test('a'.repeat(50_000))).toBe(true)
    },
  )

  it('a row of repetitions shortens the limit until its worst case is affordable', () => {
    const limits = [1, 2, 3, 4, 8].map((count) => computeMaxMatchableTextLength(`^${'a*'.repeat(count)}$`))
    expect(limits).toEqual([10_000_000, 3_162, 215, 56, 7])
  })

  it('tells what fits from what does not, within the limit', () => {
    const decimal = compileBoundedPattern('^-?\\d+(\\.\\d+)?$', 'u')
    expect([decimal.test('-20.5'), decimal.test('20,5'), decimal.test('9'.repeat(5_000))]).toEqual([true, false, true])
  })

  it('finds a limit for any text at all', () => {
    const unit = fc.constantFrom('a', '(', ')', '[', ']', '{', '}', '*', '+', '?', '|', '\\', '^', '$', ',', '0', '1')
    fc.assert(
      fc.property(fc.string({ unit }), (source) => {
        expect(computeMaxMatchableTextLength(source)).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  it('refuses text that is not a regular expression', () => {
    expect(() => compileBoundedPattern('(', 'u')).toThrow(SyntaxError)
  })
})
