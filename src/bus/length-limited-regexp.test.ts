import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileLengthLimitedRegExp, computeMaxMatchableTextLength } from './length-limited-regexp.ts'

describe('bounded pattern', () => {
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
  ])('%s is applied to texts of up to %d characters', (source, limit) => {
    expect(computeMaxMatchableTextLength(source)).toBe(limit)
  })

  it.each(['(a+)+$', '^(a|aa)*$', '^(?:a?){30}a{30}$', '^([a-z]+-)*x$', '^(a)\\1+$', '^(?<x>a)\\k<x>$', '((a*)*)*'])(
    '%s can take exponential time and is therefore never applied',
    (source) => {
      expect(computeMaxMatchableTextLength(source)).toBe(0)
      expect(compileLengthLimitedRegExp(source, 'u').test('a'.repeat(50_000))).toBe(true)
    },
  )

  it('a sequence of repetitions lowers the length limit until the worst case is affordable', () => {
    const limits = [1, 2, 3, 4, 8].map((count) => computeMaxMatchableTextLength(`^${'a*'.repeat(count)}$`))
    expect(limits).toEqual([10_000_000, 3_162, 215, 56, 7])
  })

  it('matches as a regular expression within the length limit', () => {
    const decimal = compileLengthLimitedRegExp('^-?\\d+(\\.\\d+)?$', 'u')
    expect([decimal.test('-20.5'), decimal.test('20,5'), decimal.test('9'.repeat(5_000))]).toEqual([true, false, true])
  })

  it('a limit is computed for any text without throwing', () => {
    const unit = fc.constantFrom('a', '(', ')', '[', ']', '{', '}', '*', '+', '?', '|', '\\', '^', '$', ',', '0', '1')
    fc.assert(
      fc.property(fc.string({ unit }), (source) => {
        expect(computeMaxMatchableTextLength(source)).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  it('text that is not a regular expression throws a SyntaxError', () => {
    expect(() => compileLengthLimitedRegExp('(', 'u')).toThrow(SyntaxError)
  })
})
