import { describe, expect, it } from 'vitest'
import type { Caller } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import {
  actuator,
  AGENT,
  APPROVER,
  assessedOffer,
  callOf,
  GUARD_CONFIG,
  openHouse,
  around,
} from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'
import type { GrantRequest } from './grant.ts'

const NODE: Caller = { kind: 'peer', id: 'attic', level: 'trusted' }
const CLAUDE: Caller = { ...NODE, actor: 'claude' }
const GPT: Caller = { ...NODE, actor: 'gpt' }
const GRANT: GrantRequest = { target: 'same', bounds: {}, free: [], maxUses: 5, durationMs: 3_600_000 }

const door = { ...assessedOffer('sensitive', () => ({ target: 'door:1' })), name: 'test.door' }
const keyed = assessedOffer('writes', ({ key }) => (typeof key === 'string' ? { idempotencyKey: key } : {}))

async function opens(house: GuardHouse, caller: Caller, body: JsonObject = {}): Promise<string> {
  const outcome = await around(house.guard, callOf(door, body, { caller }), door, actuator().proceed)
  return outcome.ok ? 'acts' : outcome.fault.kind
}

async function writes(house: GuardHouse, caller: Caller, key: string): Promise<string> {
  const outcome = await around(house.guard, callOf(keyed, { key }, { caller }), keyed, actuator().proceed)
  if (!outcome.ok) return outcome.fault.reasons?.[0]?.rule ?? outcome.fault.kind
  return outcome.value.replayed === true ? 'replayed' : 'acts'
}

/** The newest question. */
function asked(house: GuardHouse): string {
  return house.guard.approvals.list({ state: 'requested' })[0]?.id ?? 'nobody was asked'
}

describe('actors for whom one peer node calls', () => {
  it('have separate approval requests and approvals', async () => {
    using house = openHouse()
    expect(await opens(house, CLAUDE)).toBe('approval-required')
    const claudes = asked(house)
    expect(await opens(house, GPT)).toBe('approval-required')
    expect(asked(house)).not.toBe(claudes)
    await house.guard.approvals.approve(claudes, APPROVER)
    expect(await opens(house, GPT)).toBe('approval-required')
    expect(await opens(house, NODE)).toBe('approval-required')
    expect(await opens(house, CLAUDE)).toBe('acts')
    expect(house.events('approval.used')).toMatchObject([{ principal: 'peer:attic/claude', approval: claudes }])
  })

  it('have separate denials, and share a denial of the node itself', async () => {
    using house = openHouse()
    await opens(house, CLAUDE)
    await house.guard.approvals.deny(asked(house), APPROVER, 'not today')
    expect(await opens(house, CLAUDE)).toBe('not-permitted')
    expect(await opens(house, GPT)).toBe('approval-required')

    await opens(house, NODE, { wing: 'west' })
    await house.guard.approvals.deny(asked(house), APPROVER, 'never')
    expect(await opens(house, CLAUDE, { wing: 'west' })).toBe('not-permitted')
    expect(await opens(house, { ...NODE, id: 'cellar', actor: 'claude' }, { wing: 'west' })).toBe('approval-required')
  })

  it('have separate grants, and share a grant to the node', async () => {
    using house = openHouse()
    await opens(house, CLAUDE)
    await house.guard.approvals.approve(asked(house), APPROVER, { grant: GRANT })
    expect([await opens(house, CLAUDE), await opens(house, CLAUDE)]).toEqual(['acts', 'acts'])
    expect([await opens(house, GPT), await opens(house, NODE)]).toEqual(['approval-required', 'approval-required'])

    await opens(house, GPT, { wing: 'west' })
    await house.guard.approvals.approve(asked(house), APPROVER, { grant: { ...GRANT, caller: 'node' } })
    const everybody = [CLAUDE, GPT, NODE, { ...NODE, actor: 'new' }]
    for (const caller of everybody) expect(await opens(house, caller, { wing: 'west' })).toBe('acts')
    expect(await opens(house, { ...NODE, id: 'cellar', actor: 'gpt' }, { wing: 'west' })).toBe('approval-required')
    expect(await opens(house, AGENT, { wing: 'west' })).toBe('approval-required')
    expect(house.guard.grants.list().map(({ principal }) => principal)).toEqual(['peer:attic', 'peer:attic/claude'])
  })

  it('cannot share a grant through the node if the request came from a caller that is not a node', async () => {
    using house = openHouse()
    await opens(house, AGENT)
    expect(
      await house.guard.approvals.approve(asked(house), APPROVER, { grant: { ...GRANT, caller: 'node' } }),
    ).toMatchObject({ fault: { kind: 'invalid-arguments', message: 'Not a grant: no other node asked.' } })
  })

  it('can use a grant that the node was given without an actor', async () => {
    using house = openHouse()
    await opens(house, NODE)
    await house.guard.approvals.approve(asked(house), APPROVER, { grant: GRANT })
    expect([await opens(house, CLAUDE), await opens(house, GPT)]).toEqual(['acts', 'acts'])
  })

  it('use their own grant before the one of the node', async () => {
    using house = openHouse()
    const within = (min: number, max: number): GrantRequest => ({ ...GRANT, bounds: { step: { min, max } } })
    await opens(house, NODE, { step: 1 })
    await house.guard.approvals.approve(asked(house), APPROVER, { grant: within(1, 5) })
    await opens(house, CLAUDE, { step: 9 })
    await house.guard.approvals.approve(asked(house), APPROVER, { grant: within(5, 9) })
    for (const step of [5, 5, 4]) expect(await opens(house, CLAUDE, { step })).toBe('acts')
    expect(house.guard.grants.list().map(({ principal, uses }) => [principal, uses])).toEqual([
      ['peer:attic/claude', 2],
      ['peer:attic', 1],
    ])
  })

  it('have separate idempotency keys, but replay those of the node itself', async () => {
    using house = openHouse()
    expect([await writes(house, CLAUDE, 'k'), await writes(house, GPT, 'k')]).toEqual(['acts', 'acts'])
    expect([await writes(house, CLAUDE, 'k'), await writes(house, GPT, 'k')]).toEqual(['replayed', 'replayed'])
    expect(await writes(house, NODE, 'old')).toBe('acts')
    expect(await writes(house, CLAUDE, 'old')).toBe('replayed')
  })

  it('have separate change tokens', async () => {
    using house = openHouse()
    const { changes } = house.guard.services
    const prepared = await changes.prepare({
      principal: 'peer:attic/claude',
      tool: 'test.lamp',
      args: {},
      summary: '',
      ttlMs: 60_000,
      offer: keyed,
    })
    if (!prepared.ok) throw new Error(prepared.fault.message)
    const { token } = prepared.value
    expect(changes.peek(token, 'peer:attic/gpt')).toMatchObject({ fault: { kind: 'not-found' } })
    expect(changes.peek(token, 'peer:attic')).toMatchObject({ fault: { kind: 'not-found' } })
    expect(changes.peek(token, 'peer:attic/claude')).toMatchObject({ ok: true })
  })

  it('share the rate limit of the node, however many names it uses', async () => {
    const calls = { perMinute: 3, burst: 3 }
    using house = openHouse({ limits: { ...GUARD_CONFIG.limits, calls } })
    const named = (actor: string): Promise<string> => writes(house, { ...NODE, actor }, actor)
    expect([await named('a'), await named('b'), await named('c'), await named('d')]).toEqual([
      'acts',
      'acts',
      'acts',
      'rate-calls',
    ])
    expect(await writes(house, { ...NODE, id: 'cellar' }, 'k')).toBe('acts')
  })

  it('share the limit on open approval requests', async () => {
    using house = openHouse({ approvals: { ...GUARD_CONFIG.approvals, maxOpenPerPrincipal: 2 } })
    const named = (actor: string): Promise<string> => opens(house, { ...NODE, actor })
    expect([await named('a'), await named('b'), await named('c')]).toEqual([
      'approval-required',
      'approval-required',
      'busy',
    ])
    // Whose name merely begins alike is somebody else.
    expect(await opens(house, { ...NODE, id: 'attic0' })).toBe('approval-required')
  })

  it('share the limit on keys, and a caller loses its own oldest keys first', async () => {
    using house = openHouse({ keys: { ...GUARD_CONFIG.keys, maxKeysPerPrincipal: 3 } })
    const kept = (): number => house.state.keys.size
    await writes(house, GPT, 'precious')
    house.clock.advance(1)
    for (const key of ['1', '2', '3', '4']) expect(await writes(house, CLAUDE, key)).toBe('acts')
    expect([kept(), await writes(house, GPT, 'precious')]).toEqual([3, 'replayed'])
    for (const actor of ['a', 'b', 'c', 'd']) expect(await writes(house, { ...NODE, actor }, 'k')).toBe('acts')
    expect(kept()).toBe(3)
  })

  it('share the limit on prepared changes', async () => {
    using house = openHouse({ changes: { ...GUARD_CONFIG.changes, maxPreparedPerPrincipal: 3 } })
    const { changes } = house.guard.services
    const prepare = async (principal: string): Promise<string> => {
      house.clock.advance(1)
      const wish = { principal, tool: 'test.lamp', args: {}, summary: '', ttlMs: 60_000, offer: keyed }
      const prepared = await changes.prepare(wish)
      return prepared.ok ? prepared.value.token : prepared.fault.kind
    }
    const gpts = await prepare('peer:attic/gpt')
    for (let index = 0; index < 5; index++) await prepare('peer:attic/claude')
    expect(changes.peek(gpts, 'peer:attic/gpt')).toMatchObject({ ok: true })
    for (let index = 0; index < 5; index++) await prepare(`peer:attic/a${index}`)
    expect(house.state.changes.size).toBe(3)
  })

  it('have no more rights than the node', async () => {
    using house = openHouse()
    expect(await opens(house, { kind: 'peer', id: 'attic', level: 'member', actor: 'owner' })).toBe('not-permitted')
  })
})
