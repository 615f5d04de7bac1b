import { describe, expect, it } from 'vitest'
import { findField, isSameKey } from './json-field.ts'

describe('JSON field', () => {
  it('finds a key without regard to case, the first spelling first', () => {
    expect(findField({ Volume: 50 }, 'volume')).toBe(50)
    expect(findField({ VOLUME: 1, volume: 2 }, 'volume')).toBe(1)
    expect(findField({ volum: 1 }, 'volume')).toBeUndefined()
  })

  it('folds ASCII letters only', () => {
    expect(isSameKey('Ä', 'ä')).toBe(false)
    expect(isSameKey('\u212A', 'k')).toBe(false)
  })
})
