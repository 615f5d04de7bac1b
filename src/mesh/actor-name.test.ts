import { describe, expect, it } from 'vitest'
import { formatActorName, isActorName } from './actor-name.ts'

describe('actor', () => {
  it('is the name that our own records have', () => {
    expect(formatActorName({ kind: 'principal', id: 'claude', role: 'agent', client: 'Claude Desktop' })).toBe('claude')
    expect(formatActorName({ kind: 'service', id: 'console-history' })).toBe('service:console-history')
  })

  it('names, for a forwarded call, the calling node and the caller that it speaks for', () => {
    const peer = { kind: 'peer', id: 'ed25519:AAAA', level: 'trusted' } as const
    expect(formatActorName(peer)).toBe('peer:ed25519:AAAA')
    expect(formatActorName({ ...peer, actor: 'claude' })).toBe('peer:ed25519:AAAA/claude')
  })

  it('is a hash where the name is too long or of another kind, and two names stay two', () => {
    const principal = (id: string): string => formatActorName({ kind: 'principal', id, role: 'agent' })
    expect(principal('x'.repeat(129))).toBe('caller:DsnrM-dFELzdHy6lUgboLy')
    expect(principal('Jürgen')).toMatch(/^caller:[A-Za-z0-9_-]{22}$/)
    expect(principal('Jürgen')).not.toBe(principal('Jörg'))
  })

  it('is one short word', () => {
    const words = ['claude', 'a.b_c-d', 'peer:ed25519:AAAA/claude', 'x'.repeat(128)]
    expect(words.filter((word) => !isActorName(word))).toEqual([])
    const others = ['', ' ', 'a b', 'a\n', '\u0000', '/claude', '-x', '<b>', 'Jürgen', '\ud800', 'x'.repeat(129), '"']
    expect(others.filter(isActorName)).toEqual([])
  })
})
