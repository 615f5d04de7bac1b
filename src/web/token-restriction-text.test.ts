import { describe, expect, it } from 'vitest'
import { formatTokenRestrictions } from './token-restriction-text.ts'

describe('token restrictions', () => {
  it('are formatted as text', () => {
    const devices = ['device:desk-lamp', 'homeseer:ref:141']
    expect(formatTokenRestrictions({ effects: ['reads', 'records'], devices })).toBe(
      'reads, records · device:desk-lamp, homeseer:ref:141',
    )
    expect(formatTokenRestrictions({ profiles: ['read', 'ebus'] })).toBe('profile read, profile ebus')
    expect(formatTokenRestrictions({ effects: [] })).toBe('nothing')
  })

  it('have no text if there are none', () => {
    expect(formatTokenRestrictions(undefined)).toBeUndefined()
  })
})
