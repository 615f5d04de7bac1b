import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/any-text.ts'
import { firstSentence, line, nameText, plain, textOf, valueText } from './text.ts'

describe('untrusted text in the console', () => {
  it('has characters that reorder, hide or move text replaced by U+FFFD', () => {
    expect(plain('a\u202Eb\u200Bc\u001B[2Jd\u2028e')).toBe('a\uFFFDb\uFFFDc\uFFFD[2Jd\uFFFDe')
    expect(plain('two\nlines\tstay')).toBe('two\nlines\tstay')
  })

  it('keeps at most four combining marks on a letter', () => {
    expect(plain('é\u0302')).toBe('é\u0302')
    expect(plain(`Z${'\u0301'.repeat(40)}`)).toBe(`Z${'\u0301'.repeat(4)}`)
  })

  it('is truncated at its length limit', () => {
    expect(plain('x'.repeat(30), 10)).toBe(`${'x'.repeat(10)}…`)
  })

  it('never contains a control or format character, for any input', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 200 }), (text) => {
        expect(line(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u)
      }),
    )
  })

  it('has identifiers and JSON values formatted as words', () => {
    expect(['movesHardware', 'target_value', 'path', 'OPTimeout'].map(nameText)).toEqual([
      'moves hardware',
      'target value',
      'path',
      'OPTimeout',
    ])
    expect([true, false, ['On', 'Off'], 5, null].map((value) => valueText(value))).toEqual([
      'yes',
      'no',
      'On, Off',
      '5',
      '–',
    ])
    expect(valueText([{ a: 1 }])).toBe('[{"a":1}]')
    expect(valueText(['a\u202Eb'])).toBe('a\uFFFDb')
  })

  it('can be reduced to one line or to its first sentence', () => {
    expect(line('  a \n b ')).toBe('a b')
    expect(firstSentence('Opens a door. Then it waits.')).toBe('Opens a door.')
    expect(textOf(undefined)).toBe('–')
    expect(textOf({ a: 1 })).toBe('{"a":1}')
  })
})
