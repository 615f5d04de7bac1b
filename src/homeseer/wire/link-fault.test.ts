import { describe, expect, it } from 'vitest'
import { mayHomeseerHaveActed } from './link-fault.ts'

describe('HomeSeer connection fault', () => {
  it('says whether HomeSeer may have acted', () => {
    expect(mayHomeseerHaveActed({ kind: 'unreachable', code: 'ECONNREFUSED', reached: false })).toBe(false)
    expect(mayHomeseerHaveActed({ kind: 'unreachable', code: 'ECONNRESET', reached: true })).toBe(true)
    expect(mayHomeseerHaveActed({ kind: 'malformed', detail: '' })).toBe(true)
    expect(mayHomeseerHaveActed({ kind: 'refused', reason: 'error', text: 'error' })).toBe(false)
    expect(mayHomeseerHaveActed({ kind: 'http-status', status: 502 })).toBe(true)
    expect(mayHomeseerHaveActed({ kind: 'http-status', status: 404 })).toBe(false)
  })
})
