import { describe, expect, it } from 'vitest'
import { narrowingText } from './narrowing.ts'

describe('what a token is narrowed to', () => {
  it('is said in words', () => {
    const devices = ['device:desk-lamp', 'homeseer:ref:141']
    expect(narrowingText({ effects: ['reads', 'records'], devices })).toBe(
      'reads, records · device:desk-lamp, homeseer:ref:141',
    )
    expect(narrowingText({ profiles: ['read', 'ebus'] })).toBe('profile read, profile ebus')
    expect(narrowingText({ effects: [] })).toBe('nothing')
  })

  it('is nothing to speak of where the role says it all', () => {
    expect(narrowingText(undefined)).toBeUndefined()
  })
})
