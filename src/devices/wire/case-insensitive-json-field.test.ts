import { describe, expect, it } from 'vitest'
import { findJsonFieldIgnoringCase, isSameJsonKeyIgnoringCase } from './case-insensitive-json-field.ts'

describe('device JSON field', () => {
  it('is found regardless of the case of its key, the first spelling first', () => {
    expect(findJsonFieldIgnoringCase({ Volume: 50 }, 'volume')).toBe(50)
    expect(findJsonFieldIgnoringCase({ VOLUME: 1, volume: 2 }, 'volume')).toBe(1)
    expect(findJsonFieldIgnoringCase({ volum: 1 }, 'volume')).toBeUndefined()
  })

  it('ignores the case of ASCII letters only', () => {
    expect(isSameJsonKeyIgnoringCase('Ä', 'ä')).toBe(false)
    expect(isSameJsonKeyIgnoringCase('\u212A', 'k')).toBe(false)
  })
})
