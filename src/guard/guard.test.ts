import { describe, expect, it } from 'vitest'
import { actuator, callOf, offerOf, openHouse, OBSERVER } from '../../test/guard-house.ts'

describe('guard', () => {
  it('lets a permitted change through once', async () => {
    using house = openHouse()
    const lamp = actuator()
    const offer = offerOf('writes')
    expect(await house.guard.around(callOf(offer), offer, lamp.proceed)).toEqual({ ok: true, value: { data: 'done' } })
    expect(lamp.calls).toHaveLength(1)
  })

  it('refuses an observer’s change', async () => {
    using house = openHouse()
    const lamp = actuator()
    const offer = offerOf('writes')
    const outcome = await house.guard.around(callOf(offer, {}, { caller: OBSERVER }), offer, lamp.proceed)
    expect(outcome).toMatchObject({ ok: false, fault: { kind: 'not-permitted', reasons: [{ rule: 'role' }] } })
    expect(lamp.calls).toEqual([])
  })
})
