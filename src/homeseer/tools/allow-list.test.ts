import { describe, expect, it } from 'vitest'
import { allowExactly, allowNames, allowNumbers } from './allow-list.ts'

describe('allow list', () => {
  it('is no restriction when absent, and allows nothing when empty', () => {
    expect(allowNumbers(undefined)).toBeUndefined()
    expect(allowNames(undefined)).toBeUndefined()
    expect(allowNumbers([])?.(1)).toBe(false)
    expect(allowNames([])?.('')).toBe(false)
  })

  it('knows numbers and ranges, both ends included; a range written backwards holds nothing', () => {
    const allows = allowNumbers([7, '100-110', ' 200 - 201 ', '9-3'])
    expect([7, 100, 110, 200, 201].every((id) => allows?.(id) === true)).toBe(true)
    expect([6, 8, 99, 111, 202, 5, 9].some((id) => allows?.(id) === true)).toBe(false)
  })

  it('minds the case of words that callers must repeat, and not of names', () => {
    expect(allowNames(['Hue:Refresh'])?.(' hue:refresh')).toBe(true)
    expect(allowExactly(['Sunday'])?.('sunday')).toBe(false)
  })
})
