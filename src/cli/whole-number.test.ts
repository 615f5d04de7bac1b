import { describe, expect, it } from 'vitest'
import { createWholeNumberParser } from './whole-number.ts'

describe('whole number', () => {
  it('accepts numbers between its bounds', () => {
    expect(['0', '7422', '65535'].map(createWholeNumberParser(0, 65_535))).toEqual([0, 7422, 65_535])
  })

  it.each(['', 'abc', '-1', '1.5', '1e3', '0x10', ' 5', '65536', '9'.repeat(400)])('refuses %j', (text) => {
    expect(() => createWholeNumberParser(0, 65_535)(text)).toThrow('a whole number from 0 to 65535')
  })
})
