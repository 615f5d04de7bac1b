import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../../core/json.ts'
import { parseBoundedJson, parseBoundedJsonObject } from './json-text.ts'

describe('JSON text', () => {
  it('is read as JSON', () => {
    expect(parseBoundedJson('{"a":[1,"x",null,true]}')).toEqual({ a: [1, 'x', null, true] })
    expect(parseBoundedJson('{"brackets":"[[[[{{{{\\"["}')).toEqual({ brackets: '[[[[{{{{"[' })
    expect(parseBoundedJsonObject('[]')).toBeUndefined()
  })

  it('is refused when a later reader could not handle it', () => {
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

  it('has no halves of surrogate pairs left in it', () => {
    expect(parseBoundedJson(String.raw`["\ud83d\ude00","\ud83d","\ude00","a\uD800b"]`)).toEqual(['😀', '�', '�', 'a�b'])
    expect(parseBoundedJson('"\uD800"')).toBe('�')
  })

  it('keeps a text that only looks like one', () => {
    expect(parseBoundedJson(String.raw`"\\ud83d is half of 😀"`)).toBe('\\ud83d is half of 😀')
  })

  it('can always be written out again and hashed', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 40 }), (text) => {
        const value = parseBoundedJson(text)
        expect(value === undefined || canonicalJson(value).length > 0).toBe(true)
      }),
    )
  })
})
