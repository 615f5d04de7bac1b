import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../test/any-text.ts'
import type { Json, JsonObject } from './json.ts'
import { sanitizeJson, sanitizeLine } from './untrusted-text.ts'

describe('untrusted text shown as one line', () => {
  it('loses invisible and control characters', () => {
    const hidden = 'turn\u200Bs \u202Eon\u2066 the\u0007 lamp\u{E0041}\u{E0042}\uFE0F\u{E0101}\uE000\uD800'
    expect(sanitizeLine(hidden, 100)).toBe('turns on the lamp')
    expect(sanitizeLine('one\r\ntwo\u2028three\u3164\ttabs   end ', 100)).toBe('one two three tabs end')
  })

  it('keeps letters of every script', () => {
    expect(sanitizeLine('设置音量 · громкость · जल', 100)).toBe('设置音量 · громкость · जल')
  })

  it('is truncated at whole characters', () => {
    expect(sanitizeLine('😀😀😀😀', 3)).toBe('😀😀…')
  })

  it('is bounded and contains only visible characters, for any input', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 300 }), (text) => {
        const shown = sanitizeLine(text, 50)
        expect(Array.from(shown).length).toBeLessThanOrEqual(50)
        expect(shown).not.toMatch(/[\p{C}]/u)
        expect(sanitizeLine(shown, 50)).toBe(shown)
      }),
    )
  })

  it('keeps at most four combining marks on a letter', () => {
    expect(sanitizeLine(`Z${'\u0301'.repeat(40)}algo`, 100)).toBe(`Z${'\u0301'.repeat(4)}algo`)
  })

  it('is truncated before text that follows long invisible padding', () => {
    expect(sanitizeLine(`shown${'\u200B'.repeat(1_000)}hidden`, 20)).toBe('shown…')
  })
})

describe('untrusted JSON answer', () => {
  it('keeps line breaks and loses invisible characters, in values and in names', () => {
    const answer = { 'na\u200Bme': ['one\n\ttwo\u202E', { deep: 'tag\u{E0041}s' }], count: 3, none: null, yes: true }
    expect(sanitizeJson(answer)).toEqual({ name: ['one\n\ttwo', { deep: 'tags' }], count: 3, none: null, yes: true })
  })

  it('is sanitized in one pass at any depth', () => {
    let answer: Json = 'hid\u200Bden'
    for (let level = 0; level < 64; level++) answer = { before: 1, inner: answer, after: [answer === '' ? 1 : 2] }
    expect(JSON.stringify(sanitizeJson(answer))).toContain('"inner":"hidden"')
  })

  it('is returned as the same object if there is nothing to sanitize', () => {
    const answer = { zone: 'Küche', values: [20.5, '21 °C'], text: 'two\nlines' }
    expect(sanitizeJson(answer)).toBe(answer)
  })

  it('may have a member named __proto__', () => {
    const answer = JSON.parse('{"__proto__":{"x":"\\u200b"},"constructor":1}') as JsonObject
    const shown = sanitizeJson(answer)
    expect(JSON.stringify(shown)).toBe('{"__proto__":{"x":""},"constructor":1}')
  })
})
