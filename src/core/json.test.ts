import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../test/any-text.ts'
import {
  canonicalJson,
  isCanonicalJsonText,
  parseJsonReplacingLoneSurrogates,
  toJsonWithCanonicalText,
  toPlainJson,
} from './json.ts'
import type { Json } from './json.ts'

describe('canonical JSON', () => {
  it('sorts the names of objects beyond the size of its cache of sorted names', () => {
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${99 - index}`, index]))
    expect(canonicalJson(many).slice(0, 9)).toBe('{"k35":64')
    for (let index = 0; index < 40; index++)
      expect(canonicalJson({ [`b${index}`]: 1, [`a${index}`]: 2 })).toBe(`{"a${index}":2,"b${index}":1}`)
  })
  it('follows RFC 8785: names sorted by UTF-16 unit, shortest numbers, no white space', () => {
    const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 }
    expect(canonicalJson(value)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}')
    expect(canonicalJson([1e21, 1.1, -0, 333_333_333.333_333_3, 1e-7])).toBe('[1e+21,1.1,0,333333333.3333333,1e-7]')
  })

  it.each([
    '{"a":1,"b":{"c":[1,-2,true,null,"x:y, {z}"]},"é":"\u2028"}',
    '{"a": 1}',
    '{"a":1,"a":1}',
    '{"a":{"b":1,"b":1}}',
    '{"b":1,"a":1}',
    '{"a":1,"1":2}',
    '{"1":2,"a":1}',
    '{"a":-0}',
    '{"a":1.0}',
    '{"a":1e3}',
    '{"a":1E3}',
    '{"a":9007199254740993}',
    '{"a":123456789012345}',
    '{"a":"\\u0041"}',
    '{"a":"\\n"}',
    '{"a":"\\ud800"}',
    '{"a":"\ud800"}',
    '{"__proto__":1,"a":2}',
    '["a" ,"b"]',
    '\n1',
  ])('treats %j as canonical exactly if the reference implementation writes it like this', (text) => {
    const value = JSON.parse(text) as Json
    expect(isCanonicalJsonText(text, value)).toBe(writtenByReference(value) === text)
  })

  it('distinguishes a canonical text from any other spelling of the same value', () => {
    const spelling = fc.array(
      fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '"b"', '"1"', '1', '-1', '0', '.5', 'e1', ' ', 'true'),
      {
        maxLength: 12,
      },
    )
    const isCanonical = (text: string): boolean => isCanonicalJsonText(text, JSON.parse(text) as Json)
    const written = (text: string): boolean => writtenByReference(JSON.parse(text)) === text
    fc.assert(
      fc.property(fc.json(), fc.nat(), spelling, (json, at, pieces) => {
        const spaced = `${json.slice(0, at % json.length)} ${json.slice(at % json.length)}`
        const texts = [json, JSON.stringify(JSON.parse(json)), spaced, pieces.join('')].filter(isJson)
        expect(texts.map(isCanonical)).toEqual(texts.map(written))
      }),
      { numRuns: 2_000 },
    )
  })

  it('throws on values that JSON cannot express', () => {
    expect(() => canonicalJson(Number.NaN)).toThrow('NaN')
    expect(() => canonicalJson(undefined)).toThrow('undefined')
    expect(() => canonicalJson('\uD800')).toThrow('surrogate')
  })

  it('belongs to the plain value that is returned with it', () => {
    const plain = { b: [1, { a: null }], 10: 'x' }
    expect(toJsonWithCanonicalText(plain).value).toBe(plain)
    expect(toJsonWithCanonicalText({ at: new Date(0), b: 1 })).toEqual({
      text: '{"at":"1970-01-01T00:00:00.000Z","b":1}',
      value: { at: '1970-01-01T00:00:00.000Z', b: 1 },
    })
    const nest = (levels: number): unknown => (levels === 0 ? 1 : [nest(levels - 1)])
    expect(toPlainJson(nest(64))).toEqual(nest(64))
    expect(() => toPlainJson(nest(65))).toThrow('64')
    const parent: Record<string, unknown> = {}
    parent['children'] = Array.from({ length: 20 }, () => ({ parent }))
    expect(() => toPlainJson(parent)).toThrow('Circular')
  })

  it('equals the output of the reference implementation for any value', () => {
    const key = fc.oneof(anyText(), fc.nat().map(String), fc.constantFrom('__proto__', 'toJSON', '\\ud800'))
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(
          null,
          undefined,
          true,
          -0,
          1e21,
          5e-324,
          Number.NaN,
          '\\ud',
          '\ud83d\ude00',
          '\ud83d',
          new Date(0),
        ),
        fc.double(),
        anyText(),
        fc.array(tie('value'), { maxLength: 5 }),
        fc.dictionary(key, tie('value'), { maxKeys: 8 }),
      ),
    }))
    const of = (make: (given: unknown) => string | undefined, given: unknown): string | undefined => {
      try {
        return make(given)
      } catch {
        return 'thrown'
      }
    }
    fc.assert(
      fc.property(value, (given) => {
        expect(of(canonicalJson, given)).toBe(of(canonicalize, given) ?? 'thrown')
      }),
      { numRuns: 2_000 },
    )
  })

  it('sorts deeply nested values and detects cycles as the reference implementation does', () => {
    const deep = Array.from({ length: 100 }).reduce<unknown>((inner) => ({ b: 1, a: [inner] }), 0)
    expect(canonicalJson(deep)).toBe(canonicalize(deep))
    const loop: Record<string, unknown> = {}
    loop['self'] = loop
    expect(() => canonicalJson(loop)).toThrow('Circular')
    expect(canonicalJson({ b: 1, 10: 2, 9: 3 })).toBe('{"10":2,"9":3,"b":1}')
    expect(canonicalJson(JSON.parse('{"z":1,"__proto__":{"a":2}}'))).toBe('{"__proto__":{"a":2},"z":1}')
  })
})

describe('parsing received JSON', () => {
  it('returns the same value as JSON.parse if all surrogates are paired', () => {
    expect(parseJsonReplacingLoneSurrogates(String.raw`{"a":"\ud83d\ude00 \u00e4 \\ud83d 😀"}`)).toEqual({
      a: '😀 ä \\ud83d 😀',
    })
    expect(parseJsonReplacingLoneSurrogates('{"a":')).toBeUndefined()
    expect(parseJsonReplacingLoneSurrogates(undefined)).toBeUndefined()
  })

  it.each([
    [String.raw`"cut \ud83d"`, 'cut \ufffd'],
    [String.raw`"\uDE00 rest"`, '\ufffd rest'],
    [String.raw`"\ud83d\ud83d\ude00"`, '\ufffd😀'],
    [String.raw`"\\\ud83d\n"`, '\\\ufffd\n'],
    [String.raw`"\ud83d\\ude00"`, '\ufffd\\ude00'],
    ['"\ud83d"', '\ufffd'],
  ])('replaces a lone surrogate by U+FFFD: %s', (text, read) => {
    expect(parseJsonReplacingLoneSurrogates(text)).toBe(read)
  })

  it('replaces lone surrogates in member names too', () => {
    expect(parseJsonReplacingLoneSurrogates(String.raw`{"\ud83d":[{"x":"\ude00"}]}`)).toEqual({
      '\ufffd': [{ x: '\ufffd' }],
    })
  })
})

function writtenByReference(value: unknown): string | undefined {
  try {
    return canonicalize(value)
  } catch {
    return undefined
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
