import { describe, expect, it } from 'vitest'
import type { Caller } from './call.ts'
import { toAccountKey, toAccountKeyFromCallerKey, toCallerKey, parsePeerCallerKey } from './caller.ts'

const PEER: Caller = { kind: 'peer', id: 'ed25519:AAAA', level: 'trusted' }

describe('caller key', () => {
  it.each<[Caller, string, string]>([
    [{ kind: 'principal', id: 'claude', role: 'agent' }, 'claude', 'claude'],
    [{ kind: 'service', id: 'console-history' }, 'service:console-history', 'service:console-history'],
    [PEER, 'peer:ed25519:AAAA', 'peer:ed25519:AAAA'],
    [{ ...PEER, actor: 'claude' }, 'peer:ed25519:AAAA/claude', 'peer:ed25519:AAAA'],
    [{ ...PEER, actor: 'peer:ed25519:BBBB/claude' }, 'peer:ed25519:AAAA/peer:ed25519:BBBB/claude', 'peer:ed25519:AAAA'],
  ])('of %o is %s, with the account key %s', (caller, key, account) => {
    expect([toCallerKey(caller), toAccountKey(caller), toAccountKeyFromCallerKey(key)]).toEqual([key, account, account])
  })

  it('is parsed into the calling node and the actor that it calls for', () => {
    expect(
      ['claude', 'service:x/y', 'peer:a', 'peer:a/claude', 'peer:a/peer:b/claude'].map(parsePeerCallerKey),
    ).toEqual([
      undefined,
      undefined,
      { node: 'a', actor: undefined },
      { node: 'a', actor: 'claude' },
      { node: 'a', actor: 'peer:b/claude' },
    ])
  })
})
