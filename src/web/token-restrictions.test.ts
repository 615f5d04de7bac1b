import { describe, expect, it } from 'vitest'
import { formatTokenRestrictions } from './token-restrictions.ts'

describe('what a token is narrowed to', () => {
  it('is said in words', () => {
    const devices = ['device:desk-lamp', 'homeseer:ref:141']
    expect(formatTokenRestrictions({ effects: ['reads', 'records'], devices })).toBe(
      'reads, records · device:desk-lamp, homeseer:ref:141',
    )
    expect(formatTokenRestrictions({ profiles: ['read', 'ebus'] })).toBe('profile read, profile ebus')
    expect(formatTokenRestrictions({ effects: [] })).toBe('nothing')
  })

  it('is nothing to speak of where the role says it all', () => {
    expect(formatTokenRestrictions(undefined)).toBeUndefined()
  })
})
