import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../../core/json.ts'
import { parseBoundedJson, parseBoundedJsonObject } from './bounded-json.ts'

describe('bounded JSON parser', () => {
  it('reads JSON, and as an object only an object', () => {
    expect(parseBoundedJson('{"a":[1,"x",null,true]}')).toEqual({ a: [1, 'x', null, true] })
    expect(parseBoundedJson('{"brackets":"[[[[{{{{\\"["}')).toEqual({ brackets: '[[[[{{{{"[' })
    expect(parseBoundedJsonObject('[]')).toBeUndefined()
  })

  it('refuses deep nesting, infinite numbers, __proto__ keys and empty text', () => {
    for (const text of [
      `${'['.repeat(33)}${']'.repeat(33)}`,
      `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`,
      '{"a":1e999}',
      '[[-1e400]]',
      '{"a":{"__proto__":{}}}',
      '',
      '{',
      'undefined',
    ])
      expect(parseBoundedJson(text)).toBeUndefined()
  })

  it('replaces lone surrogates', () => {
    expect(parseBoundedJson(String.raw`["\ud83d\ude00","\ud83d","\ude00","a\uD800b"]`)).toEqual(['😀', '�', '�', 'a�b'])
    expect(parseBoundedJson('"\uD800"')).toBe('�')
  })

  it('keeps an escaped backslash before text that looks like a surrogate', () => {
    expect(parseBoundedJson(String.raw`"\\ud83d is half of 😀"`)).toBe('\\ud83d is half of 😀')
  })

  it('returns only values that can be canonicalised', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 40 }), (text) => {
        const value = parseBoundedJson(text)
        expect(value === undefined || canonicalJson(value).length > 0).toBe(true)
      }),
    )
  })
})
