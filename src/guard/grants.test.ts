import { describe, expect, it } from 'vitest'
import type { Call, Caller, Outcome } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { actuator, AGENT, APPROVER, assessedOffer, callOf, openHouse, around } from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'
import type { GrantRequest } from './grant.ts'

const NO_GRANT: GrantRequest = { target: 'same', bounds: {}, free: [], maxUses: 1, durationMs: 3_600_000 }

async function neverCalled(): Promise<Outcome> {
  throw new Error('it acted')
}

describe('grant', () => {
  const heat = {
    ...assessedOffer('sensitive', (body) => ({ target: `zone:${Number(body['zone'])}` })),
    name: 'test.heat',
  }
  const body = { zone: 1, celsius: 20, mode: 'day', reason: 'cold' }

  async function ask(house: GuardHouse): Promise<string> {
    const outcome = await around(house.guard, callOf(heat, body), heat, neverCalled)
    const id = outcome.ok ? undefined : outcome.fault.details?.['approval_id']
    if (typeof id !== 'string') throw new Error('nobody was asked')
    return id
  }

  async function grantOf(house: GuardHouse, grant: Partial<GrantRequest>): Promise<void> {
    const id = await ask(house)
    const approved = await house.guard.approvals.approve(id, APPROVER, {
      grant: { ...NO_GRANT, bounds: { celsius: { min: 18, max: 22 } }, ...grant },
    })
    if (!approved.ok) throw new Error(approved.fault.message)
  }

  async function tries(house: GuardHouse, changes: JsonObject, more: Partial<Call> = {}): Promise<string> {
    const stove = actuator()
    const outcome = await around(house.guard, callOf(heat, { ...body, ...changes }, more), heat, stove.proceed)
    return outcome.ok ? 'acts' : outcome.fault.kind
  }

  it('covers numbers within its bounds and varying reason texts, and nothing else', async () => {
    using house = openHouse()
    await grantOf(house, { maxUses: 10 })
    expect(await tries(house, { celsius: 22, reason: 'still cold' })).toBe('acts')
    expect(await tries(house, { celsius: 18 })).toBe('acts')
    for (const beyond of [
      { celsius: 22.5 },
      { celsius: 17 },
      { celsius: '20' },
      { zone: 2 },
      { mode: 'night' },
      { extra: true },
    ])
      expect([beyond, await tries(house, beyond)]).toEqual([beyond, 'approval-required'])
    house.clock.advance(600_000)
    expect(await tries(house, { celsius: 21 }, { caller: { kind: 'principal', id: 'other', role: 'agent' } })).toBe(
      'approval-required',
    )
  })

  it('is used up after its number of uses, even by simultaneous calls', async () => {
    using house = openHouse()
    await grantOf(house, { maxUses: 3 })
    const stove = actuator()
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () =>
        around(house.guard, callOf(heat, { ...body, celsius: 21 }), heat, stove.proceed),
      ),
    )
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(3)
    expect(stove.calls).toHaveLength(3)
    expect(house.events('grant.used').map(({ use }) => use)).toEqual([1, 2, 3])
    await house.guard.sweep()
    expect(house.events('grant.ended')).toMatchObject([{ because: 'used up' }])
  })

  it('leaves the approved call one use in addition to its own', async () => {
    using house = openHouse()
    await grantOf(house, { maxUses: 1 })
    expect(await tries(house, {})).toBe('acts')
    // The yes to this very call came first: it is used before the grant is.
    expect(house.events('grant.used')).toEqual([])
    expect(await tries(house, {})).toBe('acts')
    expect(house.events('grant.used')).toHaveLength(1)
    expect(await tries(house, {})).toBe('approval-required')
  })

  it('does not override a denial of the exact call', async () => {
    using house = openHouse()
    const asked = await around(house.guard, callOf(heat, { ...body, celsius: 21 }), heat, neverCalled)
    expect(asked).toMatchObject({ fault: { kind: 'approval-required' } })
    const [request] = house.guard.approvals.list()
    await house.guard.approvals.deny(request?.id ?? '', APPROVER, 'too warm')
    await grantOf(house, { maxUses: 10 })
    expect(await tries(house, { celsius: 20.5 })).toBe('acts')
    expect(await tries(house, { celsius: 21 })).toBe('not-permitted')
  })

  it('gets a use back when the executing node requires an approval of its own', async () => {
    using house = openHouse()
    await grantOf(house, { maxUses: 1 })
    const waits = fail({ kind: 'approval-required' as const, message: 'A person has to approve this over there.' })
    const call = (): Call => callOf(heat, { ...body, celsius: 21 })
    expect(await around(house.guard, call(), heat, async () => waits)).toEqual(waits)
    expect(house.guard.grants.list()).toMatchObject([{ uses: 0, maxUses: 1 }])
    // It takes a while, and meanwhile it looks used up.
    const slowly = async (): Promise<Outcome> => {
      await house.guard.sweep()
      return waits
    }
    expect(await around(house.guard, call(), heat, slowly)).toEqual(waits)
    expect(await tries(house, { celsius: 21 })).toBe('acts')
    expect(await tries(house, { celsius: 21 })).toBe('approval-required')
    expect(house.events('grant').map(({ kind, uses }) => (uses === undefined ? kind : [kind, uses]))).toEqual([
      'grant.created',
      'grant.used',
      ['grant.given-back', 0],
      'grant.used',
      'grant.ended',
      ['grant.given-back', 0],
      'grant.used',
    ])
  })

  it('is not extended when a use is given back after it was revoked', async () => {
    using house = openHouse()
    await grantOf(house, { maxUses: 1, durationMs: 400_000 })
    const waits = fail({ kind: 'approval-required' as const, message: 'A person has to approve this over there.' })
    const [grant] = house.guard.grants.list()
    const meanwhile = async (): Promise<Outcome> => {
      await house.guard.grants.end(grant?.id ?? '', APPROVER)
      return waits
    }
    await around(house.guard, callOf(heat, { ...body, celsius: 21 }), heat, meanwhile)
    expect(house.guard.grants.list()).toEqual([])
    expect(await tries(house, { celsius: 21 })).toBe('approval-required')
  })

  it('ends at its expiry, with changed rules, with a changed tool, and when it is revoked', async () => {
    using house = openHouse()
    await grantOf(house, { maxUses: 10, durationMs: 400_000 })
    expect(await tries(house, { celsius: 19 })).toBe('acts')

    const changed = { ...heat, description: 'Heats more.' }
    expect(await around(house.guard, callOf(heat, { ...body, celsius: 19 }), changed, neverCalled)).toMatchObject({
      fault: { kind: 'approval-required' },
    })

    const stricter = house.afterPowerCut({ ownerRules: [{ tool: 'other', says: 'ask' }] })
    expect(await stricter.guard.recover()).toMatchObject({ endedGrants: 1 })
    expect(await tries(stricter, { celsius: 20.5 })).toBe('approval-required')

    const ended = house.afterPowerCut()
    const [grant] = ended.guard.grants.list()
    expect(await ended.guard.grants.end(grant?.id ?? '', AGENT)).toMatchObject({ fault: { kind: 'not-permitted' } })
    expect(await ended.guard.grants.end(grant?.id ?? '', APPROVER)).toMatchObject({ ok: true })
    expect(await tries(ended, { celsius: 20.5 })).toBe('approval-required')

    house.clock.advance(400_000)
    expect(await tries(house, { celsius: 20.5 })).toBe('approval-required')
  })

  it('can cover any device of the tool if the approver loosens the argument that names it', async () => {
    using house = openHouse()
    await grantOf(house, { target: 'any', free: ['zone'], maxUses: 5 })
    expect(await tries(house, { zone: 2, celsius: 19 })).toBe('acts')
    expect(await tries(house, { zone: 3, celsius: 30 })).toBe('approval-required')
  })

  it('covers no more devices than its giver may decide about', async () => {
    using house = openHouse()
    const narrow: Caller = { kind: 'principal', id: 'narrow', role: 'approver', restrictions: { devices: ['zone:1'] } }
    const id = await ask(house)
    const target = house.guard.approvals.get(id)?.binding.target
    expect(target).toBe('zone:1')
    const wide = { ...NO_GRANT, target: 'any' as const, free: ['zone'] }
    expect(await house.guard.approvals.approve(id, narrow, { grant: wide })).toMatchObject({
      fault: { kind: 'not-permitted', reasons: [{ rule: 'token-devices' }] },
    })
    expect(house.guard.approvals.get(id)).toMatchObject({ state: 'requested' })
    expect(await house.guard.approvals.approve(id, narrow, { grant: NO_GRANT })).toMatchObject({ ok: true })
    const [grant] = house.guard.grants.list()
    expect(await house.guard.grants.end(grant?.id ?? '', narrow)).toMatchObject({ ok: true })
  })

  it('for the same device does not cover others if the argument that names it is loosened', async () => {
    using house = openHouse()
    await grantOf(house, { target: 'same', free: ['zone'], maxUses: 5 })
    expect(await tries(house, { zone: 2, celsius: 19 })).toBe('approval-required')
  })

  it('is refused for a call with more than 256 arguments', async () => {
    using house = openHouse()
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`a${index}`, index]))
    await around(house.guard, callOf(heat, many), heat, neverCalled)
    const id = house.guard.approvals.list()[0]?.id ?? ''
    expect(await house.guard.approvals.approve(id, APPROVER, { grant: NO_GRANT })).toMatchObject({
      fault: { kind: 'invalid-arguments' },
    })
    expect(await house.guard.approvals.approve(id, APPROVER)).toMatchObject({ ok: true })
  })

  it('can bound a nested argument by its pointer', async () => {
    using house = openHouse()
    const deep = (value: number) => callOf(heat, { zone: 1, params: { 'a/b': { value }, unit: 'K' } })
    await around(house.guard, deep(1), heat, neverCalled)
    const grant = { ...NO_GRANT, bounds: { '/params/a~1b/value': { max: 5 } }, maxUses: 9 }
    const id = house.guard.approvals.list()[0]?.id ?? ''
    expect(await house.guard.approvals.approve(id, APPROVER, { grant })).toMatchObject({ ok: true })
    expect(await around(house.guard, deep(5), heat, actuator().proceed)).toMatchObject({ ok: true })
    expect(await around(house.guard, deep(6), heat, neverCalled)).toMatchObject({
      fault: { kind: 'approval-required' },
    })
  })

  it('is refused with invalid terms, and then the call is not approved either', async () => {
    using house = openHouse()
    const id = await ask(house)
    const flawed: Partial<GrantRequest>[] = [
      { maxUses: 0 },
      { maxUses: 1.5 },
      { durationMs: 0 },
      { durationMs: Infinity },
      { bounds: { celsius: {} } },
      { bounds: { celsius: { min: 22, max: 18 } } },
      { bounds: { celsius: { min: NaN } } },
      { bounds: { kelvin: { max: 300 } } },
      { free: ['everything'] },
      { target: 'all' as 'any' },
      { caller: 'all' as 'node' },
      { caller: 'node' },
    ]
    for (const flaw of flawed)
      expect(await house.guard.approvals.approve(id, APPROVER, { grant: { ...NO_GRANT, ...flaw } })).toMatchObject({
        fault: { kind: 'invalid-arguments' },
      })
    expect(house.guard.approvals.get(id)?.state).toBe('requested')
    expect(house.guard.grants.list('all')).toEqual([])
  })
})
