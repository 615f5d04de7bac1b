/** Which entry may follow which. The rules are spec 4's and design § 5's: a yes by another credential, once, in time. */
import { describe, expect, it } from 'vitest'
import type { LedgerEvent } from '../ledger/entry.ts'
import { ProjectionRuleVerification } from '../ledger/projection.ts'
import { guardProjection } from './guard-state.ts'
import type { GuardState } from './guard-state.ts'

const START_MS = Date.parse('2026-01-01T00:00:00.000Z')
const at = (minutes: number): string => new Date(START_MS + minutes * 60_000).toISOString()

/** One entry a minute. */
function read(events: readonly LedgerEvent[]): { readonly unlawful: readonly string[]; readonly state: GuardState } {
  const audit = new ProjectionRuleVerification([guardProjection])
  for (const [seq, event] of events.entries()) audit.read({ v: 1, seq, at: at(seq), ...event })
  return {
    unlawful: audit.unlawful.map(({ seq, why }) => `${seq}: ${why}`),
    state: audit.state(guardProjection),
  }
}

const token = (name: string, role: string, more: object = {}): LedgerEvent => ({
  kind: 'token.created',
  name,
  role,
  token_hash: `hash of ${name}`,
  by: 'owner',
  ...more,
})
const call = { approval: 'A', principal: 'claude', tool: 'lock.open', target: 'lock:7' }
const asked: LedgerEvent = {
  kind: 'approval.requested',
  ...call,
  args_hash: 'a',
  definition_hash: 'd',
  policy_version: 'p',
  promise_hash: 'h',
  expires_at: at(20),
}
const approved = (by: string, more: object = {}): LedgerEvent => ({
  kind: 'approval.approved',
  ...call,
  by,
  grant: null,
  expires_at: at(20),
  ...more,
})
const used = (trace: string): LedgerEvent => ({ kind: 'approval.used', ...call, trace_id: trace })
const granted: LedgerEvent = {
  kind: 'grant.created',
  grant: 'G',
  approval: 'A',
  by: 'anna',
  principal: 'claude',
  tool: 'lock.open',
  target: 'any',
  definition_hash: 'd',
  policy_version: 'p',
  frame_hash: 'f',
  bounds: {},
  free: [],
  max_uses: 1,
  expires_at: at(30),
}
const grantUsed = (use: number): LedgerEvent => ({ kind: 'grant.used', grant: 'G', trace_id: `t${use}`, use })
const prepared: LedgerEvent = {
  kind: 'change.prepared',
  change: 'c',
  principal: 'claude',
  tool: 'x',
  args_hash: 'a',
  expires_at: at(10),
}
const taken = (principal = 'claude'): LedgerEvent => ({ kind: 'change.taken', change: 'c', principal })
const reserved: LedgerEvent = {
  kind: 'key.reserved',
  key: 'k',
  principal: 'claude',
  tool: 'x',
  args_hash: 'a',
  expires_at: at(10),
}
const wait = (minutes: number): LedgerEvent[] =>
  Array.from({ length: minutes }, () => ({ kind: 'session.start', principal: 'nobody' }))
const people = [token('anna', 'approver'), token('claude', 'agent')]

describe('guard entries in the log', () => {
  it.each<[string, readonly LedgerEvent[]]>([
    ['a call that was requested, approved and made', [...people, asked, approved('anna'), used('t')]],
    [
      'an approval that was given back and used once more',
      [...people, asked, approved('anna'), used('t'), approved('x', { by: undefined, given_back_by: 't' }), used('u')],
    ],
    [
      'a grant that is used as often as it allows',
      [...people, asked, granted, approved('anna', { grant: 'G' }), grantUsed(1)],
    ],
    [
      'a change that is released, taken again and committed',
      [prepared, taken(), { kind: 'change.released', change: 'c' }, taken(), { kind: 'change.committed', change: 'c' }],
    ],
    [
      'a key that is free again after its time',
      [reserved, { kind: 'key.done', key: 'k', expires_at: at(3) }, ...wait(2), { ...reserved, expires_at: at(30) }],
    ],
    [
      'a stop and its release',
      [
        { kind: 'stop.engaged', by: 'claude' },
        { kind: 'stop.released', by: 'owner' },
      ],
    ],
    [
      'calls of known callers',
      [
        ...people,
        { kind: 'call.enter', principal: 'claude' },
        { kind: 'call.enter', principal: 'local' },
        { kind: 'call.enter', principal: 'peer:ed25519:x/claude' },
        { kind: 'call.enter', principal: 'access-point:kitchen' },
        { kind: 'call.enter', principal: 'voice-backend:kitchen' },
      ],
    ],
    [
      'a console sign-in with a link',
      [
        { kind: 'console.link', role: 'approver', by: 'owner' },
        { kind: 'console.signed-in', principal: 'console-approver', role: 'approver' },
        asked,
        approved('console-approver'),
      ],
    ],
  ])('are lawful: %s', (_, events) => {
    expect(read(events).unlawful).toEqual([])
  })
})

describe('an unlawful guard entry', () => {
  it.each<[string, readonly LedgerEvent[], string]>([
    ['a use without an approval', [...people, asked, used('t')], '3: approval A is requested, not approved'],
    ['a second use', [...people, asked, approved('anna'), used('t'), used('u')], '5: approval A is used, not approved'],
    [
      'a use after its expiry',
      [...people, asked, approved('anna', { expires_at: at(5) }), ...wait(3), used('t')],
      '7: approval A had lapsed',
    ],
    [
      'a use by another caller',
      [...people, asked, approved('anna'), { ...used('t'), principal: 'gpt' }],
      '4: approval A was given for another caller or tool',
    ],
    ['a use of an unknown approval', [used('t')], '0: nobody asked for such an approval'],
    [
      "an approval of the approver's own call",
      [token('claude', 'admin'), asked, approved('claude')],
      '2: claude decided about a call of its own',
    ],
    [
      'an approval by an agent',
      [...people, token('gpt', 'agent'), asked, approved('gpt')],
      '4: gpt was not an approver at that time',
    ],
    [
      'an approval by an unknown credential',
      [asked, approved('mallory')],
      '1: mallory was not an approver at that time',
    ],
    [
      'an approval with a revoked token',
      [...people, asked, { kind: 'token.revoked', name: 'anna', by: 'owner' }, approved('anna')],
      '4: anna was not an approver at that time',
    ],
    [
      'a token that is said to have expired before its time',
      [
        token('anna', 'approver', { expires_at: at(9) }),
        { kind: 'token.expired', name: 'anna', token_hash: 'hash of anna' },
      ],
      '1: its time was not over',
    ],
    [
      'an approval with an expired token',
      [token('anna', 'approver', { expires_at: at(2) }), asked, approved('anna')],
      '2: anna was not an approver at that time',
    ],
    [
      'an approval of an expired request',
      [...people, { ...asked, expires_at: at(3) }, approved('anna')],
      '3: approval A had lapsed',
    ],
    [
      'an approval of a denied request',
      [...people, asked, { kind: 'approval.denied', ...call, by: 'anna' }, approved('anna')],
      '4: approval A is denied, not requested',
    ],
    [
      'an approval given back by another call',
      [...people, asked, approved('anna'), used('t'), approved('x', { given_back_by: 'u' })],
      '5: another call used approval A',
    ],
    [
      'an approval from the console without a link',
      [asked, approved('console')],
      '1: console was not an approver at that time',
    ],
    [
      'a console sign-in without a link',
      [{ kind: 'console.signed-in', principal: 'console', role: 'admin' }],
      '0: nobody made a link for the role admin',
    ],
    [
      'a grant used too often',
      [...people, asked, granted, approved('anna', { grant: 'G' }), grantUsed(1), grantUsed(2)],
      '6: grant G was used 1 of 1 times, and this is not the next',
    ],
    [
      'a grant given back by a call that did not use it',
      [
        ...people,
        asked,
        granted,
        approved('anna', { grant: 'G' }),
        grantUsed(1),
        { kind: 'grant.given-back', grant: 'G', trace_id: 'other' },
      ],
      '6: that call did not use grant G',
    ],
    ['a grant without a request', [...people, granted], '2: grant G comes from no open question'],
    [
      'a grant to its own giver',
      [token('claude', 'admin'), asked, { ...granted, by: 'claude' }],
      '2: claude gave a grant to itself',
    ],
    [
      'a token made by an agent',
      [...people, token('gpt', 'admin', { by: 'claude' })],
      '2: claude was not an admin at that time',
    ],
    [
      'a token created by an unknown token',
      [token('gpt', 'admin', { by: 'mallory' })],
      '0: mallory was not an admin at that time',
    ],
    [
      'a second token of a name',
      [...people, token('anna', 'admin', { token_hash: 'another' })],
      '2: there was a token named anna',
    ],
    ['a change that is taken twice', [prepared, taken(), taken()], '2: c was not prepared, or taken before'],
    ['a change that another caller takes', [prepared, taken('gpt')], '1: change c belongs to another caller'],
    [
      'a change that ends without being taken',
      [prepared, { kind: 'change.committed', change: 'c' }],
      '1: no such change was being committed',
    ],
    [
      'a change that is taken after its expiry',
      [{ ...prepared, expires_at: at(1) }, ...wait(1), taken()],
      '2: change c had lapsed',
    ],
    ['a key that is used twice', [reserved, reserved], '1: this key was used before'],
    [
      'a key with an unknown outcome, released',
      [reserved, { kind: 'key.unknown', key: 'k', expires_at: at(9) }, { kind: 'key.freed', key: 'k' }],
      '2: no such key is reserved',
    ],
    [
      'a stop that an agent releases',
      [...people, { kind: 'stop.engaged', by: 'anna' }, { kind: 'stop.released', by: 'claude' }],
      '3: claude was not an admin at that time',
    ],
    [
      'another secret of the guard',
      [
        { kind: 'node.start', guard_secret: 'a' },
        { kind: 'node.start', guard_secret: 'b' },
      ],
      '1: the guard had another secret before',
    ],
    ['a call of an unknown caller', [{ kind: 'call.enter', principal: 'mallory' }], '0: nobody let mallory in'],
    [
      'a call long after its token was revoked',
      [
        ...people,
        { kind: 'token.revoked', name: 'claude', by: 'owner' },
        ...wait(2),
        { kind: 'call.enter', principal: 'claude' },
      ],
      '5: nobody let claude in',
    ],
  ])('is found: %s', (_, events, why) => {
    expect(read(events).unlawful).toContain(why)
  })

  it('has no effect on the state', () => {
    const { state } = read([
      ...people,
      asked,
      approved('claude'),
      token('mallory', 'admin', { by: 'claude' }),
      { kind: 'stop.engaged', by: 'anna' },
      { kind: 'stop.released', by: 'claude' },
    ])
    expect(state.approvals.get('A')?.state).toBe('requested')
    expect(state.tokens.has('hash of mallory')).toBe(false)
    expect(state.stop.size).toBe(1)
  })

  it('still takes effect if it removes rights', () => {
    const { state, unlawful } = read([
      ...people,
      asked,
      approved('anna'),
      { kind: 'approval.denied', ...call, by: 'claude' },
      { kind: 'token.revoked', name: 'anna', by: 'claude' },
    ])
    expect(unlawful).toHaveLength(2)
    expect([state.approvals.get('A')?.state, state.tokens.get('hash of anna')?.revokedAtMs]).toEqual([
      'denied',
      START_MS + 5 * 60_000,
    ])
  })
})
