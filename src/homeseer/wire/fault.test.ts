import { describe, expect, it } from 'vitest'
import { mayHaveActed } from './fault.ts'

describe('link fault', () => {
  it('knows which failures leave open whether something was done', () => {
    expect(mayHaveActed({ kind: 'unreachable', code: 'ECONNREFUSED', reached: false })).toBe(false)
    expect(mayHaveActed({ kind: 'unreachable', code: 'ECONNRESET', reached: true })).toBe(true)
    expect(mayHaveActed({ kind: 'malformed', detail: '' })).toBe(true)
    expect(mayHaveActed({ kind: 'refused', reason: 'error', text: 'error' })).toBe(false)
    expect(mayHaveActed({ kind: 'http-status', status: 502 })).toBe(true)
    expect(mayHaveActed({ kind: 'http-status', status: 404 })).toBe(false)
  })
})
