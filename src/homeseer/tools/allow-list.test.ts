import { describe, expect, it } from 'vitest'
import { createExactAllowList, createCaseInsensitiveAllowList, createNumberAllowList } from './allow-list.ts'

describe('allow list', () => {
  it('restricts nothing when absent, and allows nothing when empty', () => {
    expect(createNumberAllowList(undefined)).toBeUndefined()
    expect(createCaseInsensitiveAllowList(undefined)).toBeUndefined()
    expect(createNumberAllowList([])?.(1)).toBe(false)
    expect(createCaseInsensitiveAllowList([])?.('')).toBe(false)
  })

  it('accepts numbers and inclusive ranges; a reversed range allows nothing', () => {
    const allows = createNumberAllowList([7, '100-110', ' 200 - 201 ', '9-3'])
    expect([7, 100, 110, 200, 201].every((id) => allows?.(id) === true)).toBe(true)
    expect([6, 8, 99, 111, 202, 5, 9].some((id) => allows?.(id) === true)).toBe(false)
  })

  it('ignores case for names, but not for words that callers must repeat exactly', () => {
    expect(createCaseInsensitiveAllowList(['Hue:Refresh'])?.(' hue:refresh')).toBe(true)
    expect(createExactAllowList(['Sunday'])?.('sunday')).toBe(false)
  })
})
