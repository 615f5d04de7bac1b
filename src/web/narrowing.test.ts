import { describe, expect, it } from 'vitest'
import { formatRestrictions } from './narrowing.ts'

describe('what a token is narrowed to', () => {
  it('is said in words', () => {
    const devices = ['device:desk-lamp', 'homeseer:ref:141']
    expect(formatRestrictions({ effects: ['reads', 'records'], devices })).toBe(
      'reads, records · device:desk-lamp, homeseer:ref:141',
    )
    expect(formatRestrictions({ profiles: ['read', 'ebus'] })).toBe('profile read, profile ebus')
    expect(formatRestrictions({ effects: [] })).toBe('nothing')
  })

  it('is nothing to speak of where the role says it all', () => {
    expect(formatRestrictions(undefined)).toBeUndefined()
  })
})
