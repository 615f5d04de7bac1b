import { describe, expect, it } from 'vitest'
import type { Call, Caller, Outcome } from '../bus/call.ts'
import type { CallAssessment, Effect, Offer } from '../bus/capability.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { Database } from '../core/database-store.ts'
import type { FaultKind } from '../core/fault.ts'
import { silentLogger } from '../core/logger.ts'
import { fail, ok } from '../core/result.ts'
import {
  actuator,
  ADMIN,
  AGENT,
  APPROVER,
  assessedOffer,
  callOf,
  GUARD_CONFIG,
  OBSERVER,
  offerOf,
  openHouse,
  around,
  TEST_VOTING,
} from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'
import { createGuard } from './guard.ts'
import { ProjectionSet } from '../ledger/projection.ts'
import { guardMigrations } from './guard-secret-store.ts'

const EFFECTS: readonly Effect[] = ['reads', 'records', 'writes', 'sensitive', 'admin']

/** `acts`, `rehearses`, or the kind of the fault. */
async function fate(house: GuardHouse, offer: Offer, more: Partial<Call> = {}): Promise<string> {
  const device = actuator()
  const outcome = await around(house.guard, callOf(offer, {}, more), offer, device.proceed)
  const [seen] = device.calls
  if (!outcome.ok) return seen === undefined ? outcome.fault.kind : 'acted and failed'
  return seen?.rehearsal === true ? 'rehearses' : 'acts'
}

async function fates(house: GuardHouse, caller: Caller): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {}
  for (const effect of EFFECTS)
    found[effect] = await fate(house, offerOf(effect, { trustRequired: 'member' }), { caller })
  return found
}

describe('guard', () => {
  it('allows each role and trust level the effects it covers', async () => {
    using house = openHouse()
    const no = 'not-permitted'
    const looks = { reads: 'acts', records: no, writes: no, sensitive: no, admin: no }
    const works = { reads: 'acts', records: 'acts', writes: 'acts', sensitive: 'approval-required', admin: 'acts' }
    expect(await fates(house, OBSERVER)).toEqual(looks)
    expect(await fates(house, APPROVER)).toEqual(looks)
    expect(await fates(house, AGENT)).toEqual(works)
    expect(await fates(house, ADMIN)).toEqual(works)
    expect(await fates(house, { kind: 'service', id: 'heating' })).toEqual(works)
    expect(await fates(house, { kind: 'peer', id: 'p', level: 'unknown' })).toEqual({ ...looks, reads: no })
    expect(await fates(house, { kind: 'peer', id: 'p', level: 'member' })).toEqual({ ...looks, records: 'acts' })
    expect(await fates(house, { kind: 'peer', id: 'p', level: 'trusted' })).toEqual({ ...works, admin: no })
    expect(await fates(house, { kind: 'peer', id: 'q', level: 'anchor' })).toEqual(works)
  })

  it('refuses every change of every caller in read-only mode', async () => {
    using house = openHouse({ mode: 'readonly' })
    const no = 'not-permitted'
    for (const caller of [
      AGENT,
      ADMIN,
      { kind: 'service', id: 'x' },
      { kind: 'peer', id: 'p', level: 'anchor' },
    ] as const)
      expect(await fates(house, caller)).toEqual({ reads: 'acts', records: no, writes: no, sensitive: no, admin: no })
  })

  it('rehearses a dry run without touching approvals, keys, limits or the ledger', async () => {
    using house = openHouse({
      limits: { ...GUARD_CONFIG.limits, actuator: { minIntervalMs: 60_000, writesPerDay: 1 } },
    })
    for (const effect of EFFECTS) {
      const offer = assessedOffer(effect, () => ({ dryRun: true, target: 'lamp:1', idempotencyKey: 'k' }))
      expect([effect, await fate(house, offer)]).toEqual([effect, 'rehearses'])
    }
    expect(house.events()).toEqual([])
    expect(house.state.keys.size).toBe(0)
    const real = assessedOffer('writes', () => ({ target: 'lamp:1' }))
    expect([await fate(house, real), await fate(house, real)]).toEqual(['acts', 'busy'])
  })

  it('refuses the rehearsal of a tool that does not support rehearsals', async () => {
    using house = openHouse()
    expect(await fate(house, offerOf('writes'), { rehearsal: true })).toBe('not-permitted')
    const knows = offerOf('writes', {
      assess: (call) => ({ effect: 'writes', reasons: [], dryRun: call.rehearsal }),
    })
    expect(await fate(house, knows, { rehearsal: true })).toBe('rehearses')
  })

  /** facts/homeseer.md, appendix C: what a replacement should pass, with the family's gates as its assessment. */
  it.each([
    ['read_only', false, true, true, 'not-permitted'],
    ['read_only', true, false, true, 'rehearses'],
    ['read_only', true, true, true, 'rehearses'],
    ['read_write', false, false, true, 'not-permitted'],
    ['read_write', false, true, false, 'not-permitted'],
    ['read_write', true, true, true, 'rehearses'],
    ['read_write', false, true, true, 'acts'],
  ])('in %s, default dry run %s, confirm %s, listed %s: %s', async (safeMode, dryRun, confirm, listed, expected) => {
    using house = openHouse({ mode: safeMode === 'read_only' ? 'readonly' : 'full' })
    const assessment: Partial<CallAssessment> = {
      dryRun,
      reasons: [
        ...(dryRun || confirm ? [] : [{ rule: 'confirm', message: 'confirm must be true' }]),
        ...(listed ? [] : [{ rule: 'allow-list', message: 'not on the list' }]),
      ],
    }
    expect(
      await fate(
        house,
        assessedOffer('writes', () => assessment),
      ),
    ).toBe(expected)
  })

  it('restricts a narrowed credential to its effects, devices and profiles', async () => {
    using house = openHouse({
      profileHolds: (profile, offer) => profile === 'heating' && offer.name.startsWith('heat.'),
    })
    const lamp = assessedOffer('writes', () => ({ target: 'lamp:1' }))
    const heat = { ...assessedOffer('writes', () => ({ target: 'zone:1' })), name: 'heat.set' }
    const holder = (restrictions: NonNullable<(Caller & { kind: 'principal' })['restrictions']>): Partial<Call> => ({
      caller: { kind: 'principal', id: 'x', role: 'agent', restrictions },
    })
    expect(await fate(house, lamp, holder({ effects: ['reads'] }))).toBe('not-permitted')
    expect(await fate(house, lamp, holder({ effects: ['writes'], devices: ['lamp:*'] }))).toBe('acts')
    expect(await fate(house, heat, holder({ devices: ['lamp:*'] }))).toBe('not-permitted')
    expect(await fate(house, offerOf('writes'), holder({ devices: ['*'] }))).toBe('not-permitted')
    expect(await fate(house, heat, holder({ profiles: ['heating'] }))).toBe('acts')
    expect(await fate(house, lamp, holder({ profiles: ['heating'] }))).toBe('not-permitted')
    expect(await fate(house, heat, holder({ profiles: ['lights'] }))).toBe('not-permitted')
    expect(await fate(house, offerOf('reads'), holder({ profiles: [] }))).toBe('not-permitted')
    expect(await fate(house, offerOf('reads'), holder({ devices: [] }))).toBe('acts')
  })

  it('limits the rate of calls and returns the retry time', async () => {
    using house = openHouse({ limits: { ...GUARD_CONFIG.limits, calls: { perMinute: 60, burst: 2 } } })
    const offer = offerOf('reads')
    expect([await fate(house, offer), await fate(house, offer)]).toEqual(['acts', 'acts'])
    expect(await around(house.guard, callOf(offer), offer, actuator().proceed)).toMatchObject({
      fault: { kind: 'busy', retryAfterMs: 1_000, reasons: [{ rule: 'rate-calls' }] },
    })
    expect(await fate(house, offer, { caller: { kind: 'service', id: 'poller' } })).toBe('acts')
    house.clock.advance(1_000)
    expect(await fate(house, offer)).toBe('acts')
  })

  it('charges no rate budget for refused calls', async () => {
    using house = openHouse({
      limits: { ...GUARD_CONFIG.limits, effects: { writes: { perMinute: 1, burst: 1 } } },
    })
    const refused = assessedOffer('writes', () => ({ reasons: [{ rule: 'confirm', message: 'x' }] }))
    for (let index = 0; index < 5; index++) expect(await fate(house, refused)).toBe('not-permitted')
    expect([await fate(house, offerOf('writes')), await fate(house, offerOf('writes'))]).toEqual(['acts', 'busy'])
  })

  it('does not run a call whose assessment fails or is invalid', async () => {
    using house = openHouse()
    const broken: (() => CallAssessment | Promise<CallAssessment>)[] = [
      () => {
        throw new Error('a bug')
      },
      () => Promise.reject(new Error('a bug')),
      () => ({ effect: 'writes' }) as CallAssessment,
      () => undefined as unknown as CallAssessment,
    ]
    for (const assess of broken) expect(await fate(house, offerOf('writes', { assess }))).toBe('internal')
    const unheardOf = () => ({ effect: 'explodes' as Effect, reasons: [] })
    expect(await fate(house, offerOf('writes', { assess: unheardOf }))).toBe('not-permitted')
    expect(await fate(house, offerOf('explodes' as Effect))).toBe('not-permitted')
  })

  it('stops waiting for an assessment when the caller has left', async () => {
    using house = openHouse()
    const leaving = new AbortController()
    const offer = offerOf('writes', { assess: () => new Promise(() => undefined) })
    const found = fate(house, offer, { signal: leaving.signal })
    leaving.abort()
    expect(await found).toBe('cancelled')
    expect(await fate(house, offer, { signal: AbortSignal.abort(), deadlineMs: 0 })).toBe('timed-out')
  })

  it('uses up no approval for a caller that has left', async () => {
    using house = openHouse()
    const offer = offerOf('sensitive')
    await fate(house, offer)
    const id = house.guard.approvals.list()[0]?.id ?? ''
    await house.guard.approvals.approve(id, APPROVER)
    expect(await fate(house, offer, { signal: AbortSignal.abort() })).toBe('cancelled')
    expect(house.guard.approvals.get(id)?.state).toBe('approved')
    expect(await fate(house, offer)).toBe('acts')
  })

  it.each<[Effect, FaultKind, FaultKind]>([
    ['writes', 'timed-out', 'unknown-outcome'],
    ['writes', 'cancelled', 'unknown-outcome'],
    ['writes', 'internal', 'unknown-outcome'],
    ['admin', 'timed-out', 'unknown-outcome'],
    ['writes', 'failed', 'failed'],
    ['writes', 'offline', 'offline'],
    ['reads', 'timed-out', 'timed-out'],
    ['reads', 'cancelled', 'cancelled'],
    ['records', 'timed-out', 'timed-out'],
  ])('reports a call that %s and fails as %s with the fault %s', async (effect, kind, errorKind) => {
    using house = openHouse()
    const offer = offerOf(effect)
    const silent = actuator(() => fail({ kind, message: 'no answer', retryAfterMs: 5 }))
    const outcome = await around(house.guard, callOf(offer), offer, silent.proceed)
    expect(outcome).toMatchObject({ ok: false, fault: { kind: errorKind } })
    if (errorKind !== 'unknown-outcome') return
    expect(outcome).toMatchObject({ fault: { details: { cause: kind } } })
    expect(outcome).not.toMatchObject({ fault: { retryAfterMs: 5 } })
  })

  it('rethrows what the handler of a reading call throws', async () => {
    using house = openHouse()
    const offer = offerOf('reads')
    const broken = () => Promise.reject<Outcome>(new Error('a bug'))
    await expect(around(house.guard, callOf(offer), offer, broken)).rejects.toThrow('a bug')
  })

  it('runs no handler if the plan fails, and logs the error on the node only', async () => {
    using house = openHouse()
    const { database, log, clock } = house
    const errors: unknown[] = []
    const logger = { ...silentLogger, error: (...said: readonly unknown[]) => void errors.push(said) }
    const guard = createGuard({ database, log, clock, config: GUARD_CONFIG, voting: TEST_VOTING, logger })
    const bug = new Error('the code of the door is 1234')
    const offer: Offer = { ...offerOf('writes'), plan: () => Promise.reject(bug) }
    const device = actuator()
    const outcome = await around(guard, callOf(offer), offer, device.proceed)
    expect(outcome).toEqual(
      fail({ kind: 'internal', message: 'What test.writes would do could not be told. Nothing was tried.' }),
    )
    expect(device.calls).toEqual([])
    expect(errors).toEqual([[{ err: bug }, 'planning test.writes failed']])
  })

  it('runs no handler if it cannot record the call beforehand', async () => {
    const database = new Database({ path: ':memory:', migrations: [guardMigrations] })
    const refusing = {
      appendIn: () => {
        throw new Error('the ledger refuses')
      },
      body: () => ({ kind: 'none' }) as const,
      projections: new ProjectionSet(() => []),
    }
    const guard = createGuard({
      database,
      log: refusing,
      clock: manualClock(),
      config: GUARD_CONFIG,
      voting: TEST_VOTING,
    })
    const offer = offerOf('sensitive')
    const lock = actuator()
    expect(await around(guard, callOf(offer), offer, lock.proceed)).toMatchObject({ fault: { kind: 'internal' } })
    expect(guard.approvals.list()).toEqual([])
    database.close()
    const keyed = assessedOffer('writes', () => ({ idempotencyKey: 'k' }))
    expect(await around(guard, callOf(keyed), keyed, lock.proceed)).toMatchObject({ fault: { kind: 'internal' } })
    expect(lock.calls).toEqual([])
  })

  it('previews the decision about a call without using or requesting anything', async () => {
    using house = openHouse()
    const { previewDecision } = house.guard.services
    const lock = assessedOffer('sensitive', () => ({ target: 'lock:1', idempotencyKey: 'k' }))
    expect(await previewDecision(callOf(lock), lock)).toMatchObject({
      value: { decision: { verdict: 'approval-required' }, assessment: { target: 'lock:1' } },
    })
    expect(await previewDecision(callOf(lock, {}, { caller: OBSERVER }), lock)).toMatchObject({
      value: { decision: { verdict: 'deny', reasons: [{ rule: 'role' }] } },
    })
    expect(house.events()).toEqual([])
    expect(house.guard.approvals.list()).toEqual([])
  })

  it('lists a tool for every caller that could ever be allowed to call it', () => {
    using house = openHouse({ mode: 'readonly', ownerRules: [{ tool: 'test.writes', says: 'forbid' }] })
    const seen = (caller: Caller) => EFFECTS.filter((effect) => house.guard.visible(caller, offerOf(effect)))
    expect(seen(AGENT)).toEqual(EFFECTS)
    expect(seen(OBSERVER)).toEqual(['reads'])
    expect(seen({ ...AGENT, restrictions: { effects: ['reads', 'writes'], devices: ['lamp:1'] } })).toEqual([
      'reads',
      'writes',
    ])
    expect(seen({ ...AGENT, restrictions: { profiles: ['x'] } })).toEqual([])
  })

  it('refuses to start with an ambiguous or invalid configuration', () => {
    const start = (config: object) => () => openHouse(config)
    expect(start({ mode: 'read-only' })).toThrow(/not a mode/)
    expect(start({ ownerRules: [{ tool: '*', says: 'trust' }] })).toThrow(/trusts everything/)
    expect(start({ ownerRules: [{ tool: 'x', says: 'allow' }] })).toThrow(/not a known word/)
    expect(start({ approvals: { ...GUARD_CONFIG.approvals, openMs: NaN } })).toThrow(/finite/)
    expect(start({ limits: { ...GUARD_CONFIG.limits, calls: { perMinute: -1, burst: 1 } } })).toThrow(/finite/)
  })

  it('answers each of 300 simultaneous calls and runs the handler of each allowed one once', async () => {
    using house = openHouse()
    const device = actuator(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      return ok({ data: 'done' })
    })
    const offers = EFFECTS.map((effect) =>
      assessedOffer(effect, ({ key }) => (typeof key === 'string' ? { idempotencyKey: key } : {})),
    )
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, index) => {
        const offer = offers[index % offers.length] ?? offerOf('reads')
        return around(house.guard, callOf(offer, index % 2 === 0 ? {} : { key: `k${index}` }), offer, device.proceed)
      }),
    )
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(240)
    expect(device.calls).toHaveLength(240)
  })
})
