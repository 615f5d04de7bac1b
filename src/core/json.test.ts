import { describe, expect, it } from 'vitest'
import { canonicalJson } from './json.ts'

describe('canonical JSON', () => {
  it('is RFC 8785: sorted by UTF-16 unit, shortest numbers, no white space', () => {
    const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 }
    expect(canonicalJson(value)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}')
    expect(canonicalJson([1e21, 1.1, -0, 333_333_333.333_333_3, 1e-7])).toBe('[1e+21,1.1,0,333333333.3333333,1e-7]')
  })

  it('throws on what JSON cannot say', () => {
    expect(() => canonicalJson(Number.NaN)).toThrow('NaN')
    expect(() => canonicalJson(undefined)).toThrow('undefined')
    expect(() => canonicalJson('\uD800')).toThrow('surrogate')
  })
})
