import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { CallAssessment, Effect, Offer } from '../bus/capability.ts'
import { actuator, around, assessedOffer, callOf, offerOf, openHouse } from '../../test/guard-house.ts'
import { ok } from '../core/result.ts'
import { createCallClassification, createPolicyRefusedAuthorization, hasIdempotencyKey } from './call-decision.ts'
import type { AssessedCall } from './call-decision.ts'

const MISSED = { rule: 'claim-missing', message: 'Say why.', argument: 'reason' }

function assessed(
  effect: Effect,
  assessment: Partial<CallAssessment> = {},
  more: Partial<AssessedCall> = {},
): AssessedCall {
  const offer = offerOf(effect)
  const whole: CallAssessment = { effect, reasons: [], ...assessment }
  return {
    call: callOf(offer),
    offer,
    assessment: whole,
    mistake: undefined,
    effect,
    act: { caller: 'x', effect, target: undefined },
    ...more,
  }
}

describe('decision about a call', () => {
  it('records a call with the declared effect if its own effect is unknown', async () => {
    using house = openHouse()
    const offer = assessedOffer('writes', () => ({ effect: 'explodes' as Effect }))
    const planned = await house.guard.steps.plan(callOf(offer), offer)
    if (!planned.ok) throw new Error(planned.fault.message)
    const authorization = house.guard.steps.authorise(planned.value)
    expect(authorization).toMatchObject({ kind: 'answered', outcome: { fault: { kind: 'not-permitted' } } })
    expect(createCallClassification(planned.value, authorization).effect).toBe('writes')
  })

  it('leaves no listener on the signal of the caller', async () => {
    using house = openHouse()
    const { signal } = new AbortController()
    const offer = offerOf('writes')
    const device = actuator()
    for (let count = 0; count < 3; count++)
      await around(house.guard, callOf(offer, {}, { signal }), offer, device.proceed)
    expect(device.calls).toHaveLength(3)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('keeps an idempotency key only for a change whose caller gave one', () => {
    const key = { idempotencyKey: 'k' }
    expect([
      hasIdempotencyKey(assessed('writes', key)),
      hasIdempotencyKey(assessed('writes')),
      hasIdempotencyKey(assessed('reads', key)),
    ]).toEqual([true, false, false])
  })

  it('throws when a refusal is made from a verdict other than deny', () => {
    expect(() =>
      createPolicyRefusedAuthorization(assessed('sensitive'), { verdict: 'approval-required', reasons: [] }),
    ).toThrow('approval-required is not a refusal')
  })

  it.each([
    ['offers the completed call when only claims are missing', undefined, { reason: 'owner asked' }],
    [
      'offers no call when the arguments are invalid as well',
      { kind: 'invalid-arguments', message: 'no such zone' },
      undefined,
    ],
  ] as const)('%s', (_, mistake, completed) => {
    const offer: Offer = { ...offerOf('writes'), accept: ok, completeClaims: () => ({ reason: 'owner asked' }) }
    const refusal = createPolicyRefusedAuthorization(assessed('writes', {}, { offer, mistake }), {
      verdict: 'deny',
      reasons: [MISSED],
    })
    const outcome = refusal.kind === 'answered' ? refusal.outcome : undefined
    const next = outcome?.ok === false ? outcome.fault.details?.['next'] : undefined
    expect(next).toEqual(completed === undefined ? undefined : { tool: 'test.writes', arguments: completed })
  })
})
