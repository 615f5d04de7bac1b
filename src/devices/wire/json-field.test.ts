import { describe, expect, it } from 'vitest'
import { field, sameKey } from './json-field.ts'

describe('JSON field', () => {
  it('finds a key without regard to case, the first spelling first', () => {
    expect(field({ Volume: 50 }, 'volume')).toBe(50)
    expect(field({ VOLUME: 1, volume: 2 }, 'volume')).toBe(1)
    expect(field({ volum: 1 }, 'volume')).toBeUndefined()
  })

  it('folds ASCII letters only', () => {
    expect(sameKey('Ä', 'ä')).toBe(false)
    expect(sameKey('\u212A', 'k')).toBe(false)
  })
})
