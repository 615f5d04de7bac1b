/**
 * What a change waits for before it acts. Times are those of the manual clock; a sleep moves it, so that nothing here
 * depends on how fast the machine is.
 */
import { describe, expect, it } from 'vitest'
import {
  actuator,
  AGENT,
  APPROVER,
  around,
  assessedOffer,
  callOf,
  GUARD_CONFIG,
  offerOf,
  openHouse,
} from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'
import type { ManualClock } from '../../test/manual-clock.ts'
import { plainOffer } from '../../test/plain-offer.ts'
import type { Call, Caller, Outcome } from '../bus/call.ts'
import type { CallAssessment, Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import { createCallClassification } from './call-decision.ts'
import type { Authorization } from './call-decision.ts'

const REST_MS = 250
const limits = {
  ...GUARD_CONFIG.limits,
  actuator: { minIntervalMs: REST_MS, writesPerDay: 1_000 },
  maxRestWaitMs: 5_000,
}

/** Sleeping takes exactly as long as was asked for, and says so. */
function sleeping(): {
  readonly naps: number[]
  readonly sleep: (ms: number, clock: ManualClock) => Promise<void>
} {
  const naps: number[] = []
  return {
    naps,
    sleep: async (ms, clock) => {
      naps.push(ms)
      clock.advance(ms)
    },
  }
}

const lamp = assessedOffer('writes', () => ({ target: 'lamp:1' }))
const OTHER: Caller = { kind: 'principal', id: 'openhab', role: 'agent' }

async function fate(house: GuardHouse, offer: Offer, more: Partial<Call> = {}): Promise<string> {
  const outcome = await around(house.guard, callOf(offer, {}, more), offer, actuator().proceed)
  return outcome.ok ? 'acts' : `${outcome.fault.kind} ${outcome.fault.reasons?.map(({ rule }) => rule).join() ?? ''}`
}

describe('a change of a resting actuator', () => {
  it('waits for the end of the rest and acts', async () => {
    const { naps, sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    expect(await fate(house, lamp)).toBe('acts')
    expect(await fate(house, lamp)).toBe('acts')
    expect(naps).toEqual([REST_MS])
  })

  it('waits in a queue, and each change acts one rest interval after the other', async () => {
    const { naps, sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    const all = await Promise.all(Array.from({ length: 6 }, () => fate(house, lamp)))
    expect(all).toEqual(Array.from({ length: 6 }, () => 'acts'))
    expect(naps).toEqual(Array.from({ length: 5 }, () => REST_MS))
    expect(house.clock.monotonic()).toBe(5 * REST_MS)
  })

  it('waits for the rest of actuators that it triggers, and starts their rest too', async () => {
    const { naps, sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    const chain = assessedOffer('writes', () => ({ target: 'switch:1', touches: ['lamp:1', 'lamp:2'] }))
    expect(await fate(house, lamp)).toBe('acts')
    expect(await fate(house, chain)).toBe('acts')
    expect(await fate(house, lamp)).toBe('acts')
    expect(naps).toEqual([REST_MS, REST_MS])
    expect(house.events('actuator')).toMatchObject([
      { target: 'lamp:1' },
      { target: 'switch:1', also: ['lamp:1', 'lamp:2'] },
      { target: 'lamp:1' },
    ])
  })

  it('is refused when an actuator that it triggers reached its daily limit, also after a restart', async () => {
    using house = openHouse({ limits: { ...limits, actuator: { minIntervalMs: 0, writesPerDay: 2 } } })
    const chain = assessedOffer('writes', () => ({ target: 'switch:1', touches: ['lamp:1'] }))
    const other = assessedOffer('writes', () => ({ target: 'switch:2', touches: ['lamp:1'] }))
    expect([await fate(house, chain), await fate(house, other)]).toEqual(['acts', 'acts'])
    expect(await fate(house, lamp)).toBe('busy actuator-day')
    const third = assessedOffer('writes', () => ({ target: 'switch:3', touches: ['lamp:1'] }))
    expect(await fate(house.afterPowerCut(), third)).toBe('busy actuator-day')
  })

  it('takes turns with the changes of other callers', async () => {
    const { sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    const order: string[] = []
    const call = async (caller: Caller & { readonly id: string }): Promise<void> => {
      await around(house.guard, callOf(lamp, {}, { caller }), lamp, async () => {
        order.push(caller.id)
        return { ok: true, value: { data: 1 } }
      })
    }
    const [loop, other] = [
      { ...AGENT, id: 'loop' },
      { ...AGENT, id: 'other' },
    ] as const
    await fate(house, lamp)
    await Promise.all([...Array.from({ length: 5 }, () => call(loop)), call(other)])
    // Behind the one that holds the turn, and one of the loop's that was first in its line.
    expect(order.indexOf('other')).toBeLessThan(3)
    expect(order).toHaveLength(6)
  })

  it('acts before a call that arrives when the rest is over', async () => {
    const order: string[] = []
    let newcomer: Promise<unknown> = Promise.resolve()
    const act = (house: GuardHouse, who: string): Promise<unknown> =>
      around(house.guard, callOf(lamp), lamp, async () => {
        order.push(who)
        return { ok: true, value: { data: 1 } }
      })
    using house = openHouse({ limits }, async (ms, clock) => {
      if (order.length > 1) return clock.advance(ms)
      clock.advance(ms)
      newcomer = act(house, 'newcomer')
      // Time enough for everything but waiting.
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
    })
    await act(house, 'first')
    await act(house, 'waiter')
    await newcomer
    expect(order).toEqual(['first', 'waiter', 'newcomer'])
  })

  it('is refused at once when the rest is longer than the owner allows to wait', async () => {
    const { naps, sleep } = sleeping()
    using house = openHouse({ limits: { ...limits, maxRestWaitMs: REST_MS } }, sleep)
    await fate(house, lamp)
    expect(await fate(house, lamp)).toBe('busy actuator-rest')
    expect(naps).toEqual([])
    using patient = openHouse({ limits: { ...limits, maxRestWaitMs: REST_MS + 1 } }, sleep)
    await fate(patient, lamp)
    expect(await fate(patient, lamp)).toBe('acts')
  })

  it('is refused at once when the rest ends after the deadline of the call', async () => {
    const { naps, sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    await fate(house, lamp)
    expect(await fate(house, lamp, { deadlineMs: REST_MS })).toBe('busy actuator-rest')
    expect(await fate(house, lamp, { deadlineMs: REST_MS + 1 })).toBe('acts')
    expect(naps).toEqual([REST_MS])
  })

  it('is refused with the remaining rest as retry time', async () => {
    using house = openHouse({ limits: { ...limits, maxRestWaitMs: 0 } })
    await fate(house, lamp)
    house.clock.advance(100)
    const outcome = await around(house.guard, callOf(lamp), lamp, actuator().proceed)
    expect(outcome).toMatchObject({ fault: { kind: 'busy', retryAfterMs: 150 } })
  })

  it('does not act after its caller has left', async () => {
    const leaving = new AbortController()
    using house = openHouse({ limits }, async (ms, clock) => {
      leaving.abort()
      clock.advance(ms)
    })
    await fate(house, lamp)
    expect(await fate(house, lamp, { signal: leaving.signal })).toBe('cancelled ')
    // Nothing was charged for it: only the first change rests.
    expect(house.events('actuator')).toHaveLength(1)
  })

  it('is refused at once when too many wait, with the label of the actuator or the tool name', async () => {
    for (const [label, said] of [
      ['Hall lamp', 'Hall lamp'],
      [undefined, 'test.writes'],
    ] as const) {
      const leaving = new AbortController()
      // Nobody wakes up before all have left.
      const asleep = (_ms: number, _clock: ManualClock, signal: AbortSignal): Promise<void> =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      using house = openHouse({ limits }, asleep)
      const offer = assessedOffer('writes', () => ({ target: 'lamp:1', ...(label === undefined ? {} : { label }) }))
      expect(await fate(house, offer)).toBe('acts')
      const outcomes: Outcome[] = []
      const change = async (): Promise<void> => {
        const call = callOf(offer, {}, { signal: leaving.signal })
        outcomes.push(await around(house.guard, call, offer, actuator().proceed))
      }
      const waiting = Array.from({ length: 200 }, change)
      await expect.poll(() => outcomes.length).toBeGreaterThan(0)
      expect(outcomes[0]).toMatchObject({
        fault: { kind: 'busy', message: `Too many changes wait for ${said}. Try again in a moment.` },
      })
      leaving.abort()
      await Promise.all(waiting)
      expect(outcomes.filter(({ ok: isDone }) => isDone)).toEqual([])
    }
  })

  it('releases its turn, whatever its outcome is', async () => {
    const { sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    await fate(house, lamp)
    await fate(house, lamp, { signal: AbortSignal.abort() })
    await fate(house, lamp, { deadlineMs: 0 })
    expect(await fate(house, lamp, { caller: OTHER })).toBe('acts')
  })

  it('is refused at once when the rate limit is exceeded as well', async () => {
    const { naps, sleep } = sleeping()
    const effects = { writes: { perMinute: 600, burst: 1 } }
    using house = openHouse({ limits: { ...limits, effects } }, sleep)
    await fate(house, lamp)
    expect(await fate(house, lamp)).toBe('busy rate-writes,actuator-rest')
    expect(naps).toEqual([])
  })

  it('is refused at once when the daily limit is reached', async () => {
    const { naps, sleep } = sleeping()
    using house = openHouse({ limits: { ...limits, actuator: { minIntervalMs: 0, writesPerDay: 1 } } }, sleep)
    await fate(house, lamp)
    expect(await fate(house, lamp)).toBe('busy actuator-day')
    expect(naps).toEqual([])
  })
})

describe('rest of an actuator', () => {
  it('applies to one actuator, not to the whole device', async () => {
    const { naps, sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    const part = (name: string): Offer =>
      assessedOffer('writes', () => ({ target: 'device:x', actuator: `device:x/${name}` }))
    for (const name of ['volume', 'lamp', 'screen']) expect(await fate(house, part(name))).toBe('acts')
    expect(naps).toEqual([])
    expect(await fate(house, part('lamp'))).toBe('acts')
    expect(naps).toEqual([REST_MS])
  })

  it('has the length that the owner configured for the device of the actuator', async () => {
    const eeprom = [{ target: 'device:eeprom*', minIntervalMs: 60_000, writesPerDay: 10 }]
    using house = openHouse({ limits: { ...limits, actuators: eeprom } })
    const part = assessedOffer('writes', () => ({ target: 'device:eeprom', actuator: 'eeprom-part' }))
    expect([await fate(house, part), await fate(house, part)]).toEqual(['acts', 'busy actuator-rest'])
  })

  it('is neither started nor awaited by mistakes, refusals, dry runs and approval requests', async () => {
    const { naps, sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    const mistake: Fault = { kind: 'not-found', message: 'There is no lamp 9.' }
    const mistaken = withMistake(lamp, mistake)
    const refused = assessedOffer('writes', () => ({ target: 'lamp:1', reasons: [{ rule: 'confirm', message: 'x' }] }))
    const dry = assessedOffer('writes', () => ({ target: 'lamp:1', dryRun: true }))
    const asked = assessedOffer('sensitive', () => ({ target: 'lamp:1' }))
    expect(await fate(house, mistaken)).toBe('not-found ')
    expect(await fate(house, refused)).toBe('not-permitted confirm')
    expect(await fate(house, dry)).toBe('acts')
    expect(await fate(house, asked)).toBe('approval-required approval')
    expect(house.events('actuator')).toEqual([])
    expect(await fate(house, lamp)).toBe('acts')
    expect(naps).toEqual([])
    // While it rests, all of these are answered as before: none waits for what it does not use.
    expect(await fate(house, mistaken)).toBe('not-found ')
    expect(await fate(house, refused)).toBe('not-permitted confirm,actuator-rest')
    expect(await fate(house, dry)).toBe('acts')
    expect(naps).toEqual([])
  })

  it('is awaited by an approved call, which keeps its approval meanwhile', async () => {
    const { naps, sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    const lock = assessedOffer('sensitive', () => ({ target: 'lock:1' }))
    const sibling = assessedOffer('writes', () => ({ target: 'lock:1' }))
    await fate(house, lock)
    const [request] = house.guard.approvals.list()
    await house.guard.approvals.approve(request?.id ?? '', APPROVER)
    await fate(house, sibling)
    expect(await fate(house, lock)).toBe('acts')
    expect(naps).toEqual([REST_MS])
    expect(await fate(house, lock)).toBe('approval-required approval,approval-used')
  })
})

describe('idempotency key of a call', () => {
  const keyed = (key: string, more: Partial<CallAssessment> = {}): Offer =>
    assessedOffer('writes', () => ({ idempotencyKey: key, ...more }))
  const keys = (house: GuardHouse): number => house.state.keys.size

  it('has 1 to 512 characters', async () => {
    using house = openHouse()
    expect(await fate(house, keyed(''))).toBe('invalid-arguments ')
    expect(await fate(house, keyed('k'.repeat(513)))).toBe('invalid-arguments ')
    expect(await fate(house, keyed('k'.repeat(512)))).toBe('acts')
  })

  it('is not stored for a call that only reads', async () => {
    using house = openHouse()
    const offer = keyed('k', { effect: 'reads' })
    const device = actuator()
    for (let time = 0; time < 2; time++) await around(house.guard, callOf(offer), offer, device.proceed)
    expect([device.calls.length, keys(house)]).toEqual([2, 0])
  })

  it('is refused for another call, even while the actuator rests', async () => {
    using house = openHouse({ limits: { ...limits, maxRestWaitMs: 0 } })
    const offer = keyed('k', { target: 'lamp:1' })
    const call = (body: JsonObject) => around(house.guard, callOf(offer, body), offer, actuator().proceed)
    expect(await call({ level: 1 })).toMatchObject({ ok: true })
    expect(await call({ level: 2 })).toMatchObject({ fault: { kind: 'conflict', reasons: [{ rule: 'key-mismatch' }] } })
  })
})

describe('decision on a call', () => {
  it('requires an approval for a device that the call only triggers, if a rule says so', async () => {
    using house = openHouse({ ownerRules: [{ target: 'lamp:2', says: 'ask' }] })
    const event = assessedOffer('writes', () => ({ target: 'event:1', touches: ['lamp:2'] }))
    expect(await fate(house, event)).toBe('approval-required approval')
  })

  it('does not accept an approval given under other rules, even before the sweep', async () => {
    using house = openHouse()
    const door = assessedOffer('sensitive', () => ({ target: 'door:1' }))
    await fate(house, door)
    const [request] = house.guard.approvals.list()
    await house.guard.approvals.approve(request?.id ?? '', APPROVER)
    const stricter = house.afterPowerCut({ ownerRules: [{ target: 'lamp:9', says: 'forbid' }] })
    const outcome = await around(stricter.guard, callOf(door), door, actuator().proceed)
    expect(outcome).toMatchObject({
      fault: {
        kind: 'approval-required',
        reasons: [{ rule: 'approval' }, { rule: 'approval-void', message: expect.stringContaining('the rules') }],
      },
    })
  })

  it('passes the plan it evaluated to the handler', async () => {
    using house = openHouse()
    const plan = ok({ from: 1, to: 2 })
    const offer: Offer = plainOffer({
      name: 'test.dim',
      effect: 'writes',
      plan: () => ({ offer, assessment: { effect: 'writes', reasons: [] }, plan }),
    })
    const device = actuator()
    await around(house.guard, callOf(offer), offer, device.proceed)
    expect(device.calls[0]?.planned?.plan).toBe(plan)
  })

  it('does not count calls of our own services', async () => {
    const calls = { perMinute: 1, burst: 1 }
    using house = openHouse({ limits: { ...GUARD_CONFIG.limits, calls } })
    const caller: Caller = { kind: 'service', id: 'sampler' }
    for (let time = 0; time < 3; time++) expect(await fate(house, offerOf('reads'), { caller })).toBe('acts')
  })

  it('previews an inner call without the plan of the outer call', async () => {
    using house = openHouse()
    const outer = withMistake(offerOf('writes'), { kind: 'not-found', message: 'x' })
    const planned = await outer.plan?.(callOf(outer))
    const reads = offerOf('reads')
    const call = callOf(reads, {}, { planned })
    expect(await house.guard.services.previewDecision(call, reads)).toMatchObject({ value: { mistake: undefined } })
  })

  it("adds the family's details to a refusal, but never replaces those of the guard", async () => {
    using house = openHouse()
    const refusal = { envelope: 'x', approval_id: 'forged' }
    const door = assessedOffer('sensitive', () => ({ target: 'door:1', refusal }))
    const outcome = await around(house.guard, callOf(door), door, actuator().proceed)
    const [request] = house.guard.approvals.list()
    expect(outcome).toMatchObject({ fault: { details: { envelope: 'x', approval_id: request?.id } } })
  })

  it('is recorded with the approval or the grant that it depends on', () => {
    const offer = offerOf('sensitive')
    const assessment: CallAssessment = {
      effect: 'sensitive',
      reasons: [],
      target: 'door:1',
      label: 'Door',
      dryRun: false,
    }
    const act = { caller: 'claude', effect: 'sensitive', target: 'door:1' } as const
    const assessed = { call: callOf(offer), offer, assessment, mistake: undefined, effect: 'sensitive', act } as const
    const granted = { kind: 'granted', effect: 'sensitive', key: undefined } as const
    const yesTo = (authorization: Authorization) => createCallClassification(assessed, authorization).approvalReference
    expect(yesTo({ ...granted, approvalInUse: { state: 'approved', id: 'a' } })).toEqual({ approval: 'a' })
    expect(yesTo({ ...granted, approvalInUse: { state: 'granted', id: 'g' } })).toEqual({ grant: 'g' })
    expect(yesTo({ ...granted, approvalInUse: undefined })).toBeUndefined()
    const asked = { kind: 'approval-required', message: '', details: { approval_id: 'q' } } as const
    expect(yesTo({ kind: 'answered', outcome: fail(asked) })).toEqual({ approval: 'q' })
    expect(yesTo({ kind: 'answered', outcome: fail({ kind: 'busy', message: '' }) })).toBeUndefined()
    expect(createCallClassification(assessed, { kind: 'rehearsal' })).toEqual({
      effect: 'sensitive',
      target: 'door:1',
      label: 'Door',
      touches: [],
      mayTouch: [],
      dryRun: false,
      yes: undefined,
    })
  })
})

describe('an argument error found by the plan', () => {
  const mistake: Fault = { kind: 'not-found', message: 'There is no lamp 9.' }

  it('is returned, and nothing is tried, recorded or requested', async () => {
    using house = openHouse({ ownerRules: [{ tool: 'test.sensitive', says: 'ask' }] })
    const device = actuator()
    const offer = withMistake(offerOf('sensitive'), mistake)
    expect(await around(house.guard, callOf(offer), offer, device.proceed)).toEqual(fail(mistake))
    expect(device.calls).toEqual([])
    expect(house.guard.approvals.list()).toEqual([])
    expect(house.events()).toEqual([])
  })

  it('is hidden from a caller that may not make the call', async () => {
    using house = openHouse({ ownerRules: [{ tool: 'test.*', says: 'forbid' }] })
    expect(await fate(house, withMistake(offerOf('writes'), mistake))).toBe('not-permitted owner')
  })

  it('is returned before a rate limit is reported', async () => {
    const effects = { admin: { perMinute: 1, burst: 1 } }
    using house = openHouse({ limits: { ...GUARD_CONFIG.limits, effects } })
    const [good, bad] = [offerOf('admin'), withMistake(offerOf('admin'), mistake)]
    expect([await fate(house, good), await fate(house, good)]).toEqual(['acts', 'busy rate-admin'])
    expect(await fate(house, bad)).toBe('not-found ')
  })
})

/** The same offer, whose family finds a mistake in the arguments. */
function withMistake({ name, effect }: Offer, fault: Fault): Offer {
  const offer: Offer = plainOffer({
    name,
    effect,
    plan: () => ({ offer, assessment: { effect: 'reads', reasons: [] }, plan: fail(fault) }),
  })
  return offer
}

describe('a caller that leaves while it waits for its turn', () => {
  it('gets cancelled, not busy', async () => {
    const { sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    const first = around(house.guard, callOf(lamp), lamp, () => promise)
    const controller = new AbortController()
    const waiting = fate(house, lamp, { caller: OTHER, signal: controller.signal })
    controller.abort()
    resolve(ok({ data: null }))
    expect((await waiting).split(' ')[0]).toBe('cancelled')
    expect((await first).ok).toBe(true)
  })
})

describe('an approval', () => {
  it('is used up by a call that was begun and failed', async () => {
    using house = openHouse()
    const door = assessedOffer('sensitive', () => ({ target: 'door:1' }))
    await fate(house, door)
    await house.guard.approvals.approve(house.guard.approvals.list()[0]?.id ?? '', APPROVER)
    const jammed = actuator(() => fail({ kind: 'failed', message: 'jammed', begun: true }))
    const outcome = await around(house.guard, callOf(door), door, jammed.proceed)
    expect(outcome).toMatchObject({ ok: false, fault: { kind: 'failed' } })
    expect(await fate(house, door)).toMatch(/^approval-required/)
  })
})

describe('a change without an idempotency key', () => {
  it('is made each time it is requested', async () => {
    const { sleep } = sleeping()
    using house = openHouse({ limits }, sleep)
    const acts = actuator()
    for (let times = 0; times < 3; times++) {
      const outcome = await around(house.guard, callOf(lamp), lamp, acts.proceed)
      expect(outcome.ok && outcome.value.replayed).toBeUndefined()
    }
    expect(acts.calls).toHaveLength(3)
  })
})
