import { describe, expect, it } from 'vitest'
import { findJsonField, isSameJsonKey } from './json-field.ts'

describe('JSON field', () => {
  it('finds a key without regard to case, the first spelling first', () => {
    expect(findJsonField({ Volume: 50 }, 'volume')).toBe(50)
    expect(findJsonField({ VOLUME: 1, volume: 2 }, 'volume')).toBe(1)
    expect(findJsonField({ volum: 1 }, 'volume')).toBeUndefined()
  })

  it('folds ASCII letters only', () => {
    expect(isSameJsonKey('Ä', 'ä')).toBe(false)
    expect(isSameJsonKey('\u212A', 'k')).toBe(false)
  })
})
