import { describe, expect, it } from 'vitest'
import { formatActorName, isActorName } from './actor-name.ts'

describe('actor name', () => {
  it('equals the name under which the ledger records the principal or service', () => {
    expect(formatActorName({ kind: 'principal', id: 'claude', role: 'agent', client: 'Claude Desktop' })).toBe('claude')
    expect(formatActorName({ kind: 'service', id: 'console-history' })).toBe('service:console-history')
  })

  it('of a forwarded call names the calling node and the caller that the node speaks for', () => {
    const peer = { kind: 'peer', id: 'ed25519:AAAA', level: 'trusted' } as const
    expect(formatActorName(peer)).toBe('peer:ed25519:AAAA')
    expect(formatActorName({ ...peer, actor: 'claude' })).toBe('peer:ed25519:AAAA/claude')
  })

  it('is a hash for ids that are too long or not ASCII, and different ids get different hashes', () => {
    const principal = (id: string): string => formatActorName({ kind: 'principal', id, role: 'agent' })
    expect(principal('x'.repeat(129))).toBe('caller:DsnrM-dFELzdHy6lUgboLy')
    expect(principal('Jürgen')).toMatch(/^caller:[A-Za-z0-9_-]{22}$/)
    expect(principal('Jürgen')).not.toBe(principal('Jörg'))
  })

  it('is valid only as one word of at most 128 letters, digits and allowed signs', () => {
    const words = ['claude', 'a.b_c-d', 'peer:ed25519:AAAA/claude', 'x'.repeat(128)]
    expect(words.filter((word) => !isActorName(word))).toEqual([])
    const others = ['', ' ', 'a b', 'a\n', '\u0000', '/claude', '-x', '<b>', 'Jürgen', '\ud800', 'x'.repeat(129), '"']
    expect(others.filter(isActorName)).toEqual([])
  })
})
