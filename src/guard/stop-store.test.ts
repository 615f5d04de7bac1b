import { describe, expect, it } from 'vitest'
import {
  actuator,
  ADMIN,
  AGENT,
  APPROVER,
  callOf,
  OBSERVER,
  offerOf,
  openHouse,
  around,
} from '../../test/guard-house.ts'

describe('emergency stop', () => {
  it('refuses every change at once, also after a restart, until an admin releases it', async () => {
    using house = openHouse()
    const lamp = actuator()
    const offer = offerOf('writes')
    const engaged = house.guard.stop.engage(APPROVER, 'smoke in the cellar')
    const refusal = {
      fault: {
        kind: 'not-permitted',
        reasons: [{ rule: 'emergency-stop', message: 'Everything is stopped: smoke in the cellar' }],
      },
    }
    expect(await around(house.guard, callOf(offer), offer, lamp.proceed)).toMatchObject(refusal)
    expect(await engaged).toMatchObject({ ok: true, value: { by: 'anna' } })

    const next = house.afterPowerCut()
    expect(await around(next.guard, callOf(offer), offer, lamp.proceed)).toMatchObject(refusal)
    const reads = offerOf('reads')
    expect(await around(next.guard, callOf(reads), reads, lamp.proceed)).toMatchObject({ ok: true })

    for (const by of [APPROVER, AGENT])
      expect(await next.guard.stop.release(by)).toMatchObject({ fault: { kind: 'not-permitted' } })
    expect(await next.guard.stop.release(ADMIN)).toEqual({ ok: true, value: undefined })
    expect(await around(next.guard, callOf(offer), offer, lamp.proceed)).toMatchObject({ ok: true })
    expect(next.events('stop').map(({ kind }) => kind)).toEqual(['stop.engaged', 'stop.released'])
  })

  it('cannot be engaged by observers and peers', async () => {
    using house = openHouse()
    for (const by of [OBSERVER, { kind: 'peer', id: 'attic', level: 'anchor' } as const])
      expect(await house.guard.stop.engage(by, 'fun')).toMatchObject({ fault: { kind: 'not-permitted' } })
    expect(house.guard.stop.state()).toBeUndefined()
  })

  it('keeps its first reason, and stays engaged when it is engaged again during a release', async () => {
    using house = openHouse()
    await house.guard.stop.engage(AGENT, 'first')
    await house.guard.stop.engage(ADMIN, 'second')
    expect(house.guard.stop.state()?.reason).toBe('first')
    const released = house.guard.stop.release(ADMIN)
    const pulled = house.guard.stop.engage(AGENT, 'third')
    await Promise.all([released, pulled])
    expect(house.guard.stop.state()?.reason).toBe('third')
    expect(house.afterPowerCut().guard.stop.state()?.reason).toBe('third')
  })
})
