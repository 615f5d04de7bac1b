import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_JSON_DEPTH, parseStrictJsonBytes, parseStrictJsonText } from './json.ts'

function kindOf(text: string): string {
  const read = parseStrictJsonText(text)
  return read.ok ? 'ok' : read.fault.kind
}

describe('strict JSON', () => {
  it('parses valid JSON as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 10 }), (text) => {
        // fast-check may draw "__proto__" or a lone surrogate; those have their own tests.
        fc.pre(!text.includes('__proto__') && !text.includes('\\ud'))
        expect(parseStrictJsonText(text)).toEqual({ ok: true, value: JSON.parse(text) })
      }),
    )
  })

  it('never throws, whatever the bytes are', () => {
    const jsonish = fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', 'u', '1', 'e', ' ') })
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      jsonish.map((text) => new TextEncoder().encode(text)),
    )
    fc.assert(
      fc.property(bytes, (some) => {
        expect(() => parseStrictJsonBytes(some)).not.toThrow()
      }),
    )
  })

  it('refuses a duplicate key, at any depth and with any escapes', () => {
    expect(kindOf('{"a":1,"a":2}')).toBe('duplicate-key')
    expect(kindOf('[{"b":{"a":1,"\\u0061":2}}]')).toBe('duplicate-key')
    expect(kindOf('{"a":{"a":1},"b":[{"a":1},{"a":2}]}')).toBe('ok')
    expect(kindOf('{"a":"b","b":"a"}')).toBe('ok')
    expect(kindOf('{"a":[1,"a","a"],"c":{}}')).toBe('ok')
  })

  it('refuses nesting beyond its limit and accepts nesting at the limit', () => {
    expect(kindOf('['.repeat(MAX_JSON_DEPTH) + ']'.repeat(MAX_JSON_DEPTH))).toBe('ok')
    expect(kindOf('['.repeat(MAX_JSON_DEPTH + 1) + ']'.repeat(MAX_JSON_DEPTH + 1))).toBe('too-deep')
    expect(kindOf('{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000))).toBe('too-deep')
  })

  it('refuses a lone surrogate and accepts a surrogate pair', () => {
    expect(kindOf('{"a":"\\ud83c\\udfe0"}')).toBe('ok')
    expect(kindOf('{"a":"\\ud83c"}')).toBe('broken-text')
    expect(kindOf('{"\\udfe0":1}')).toBe('broken-text')
  })

  it('refuses a number that overflows to infinity', () => {
    expect(kindOf('[1e308, -0.5E-7, 12]')).toBe('ok')
    expect(kindOf('{"a":1e999}')).toBe('huge-number')
    expect(kindOf(`[-${'9'.repeat(400)}]`)).toBe('huge-number')
  })

  it('refuses bytes that are not UTF-8, and text that is not JSON', () => {
    expect(parseStrictJsonBytes(Uint8Array.of(0x22, 0xff, 0x22))).toMatchObject({
      ok: false,
      fault: { kind: 'not-utf8' },
    })
    // RFC 3629 § 3: a surrogate and an overlong form are no UTF-8. RFC 8259 § 8.1: no byte order mark.
    for (const wrong of [
      [0xed, 0xa0, 0x80],
      [0xc0, 0xaf],
      [0xe2, 0x82],
    ])
      expect(parseStrictJsonBytes(Uint8Array.of(0x22, ...wrong, 0x22))).toMatchObject({ fault: { kind: 'not-utf8' } })
    expect(parseStrictJsonBytes(Buffer.from('\uFEFF{}'))).toMatchObject({ ok: false, fault: { kind: 'not-json' } })
    expect(parseStrictJsonBytes(Buffer.from('"\uFFFD"'))).toEqual({ ok: true, value: '\uFFFD' })
    expect(kindOf('')).toBe('not-json')
    expect(kindOf('{"a":1')).toBe('not-json')
    expect(kindOf('{"a":NaN}')).toBe('not-json')
  })

  it('refuses the key __proto__', () => {
    expect(kindOf('{"__proto__":{"admin":true}}')).toBe('forbidden-key')
    expect(kindOf('{"a":"__proto__"}')).toBe('ok')
  })
})
