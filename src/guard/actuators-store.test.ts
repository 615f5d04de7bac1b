import { describe, expect, it } from 'vitest'
import { actuator, assessedOffer, callOf, GUARD_CONFIG, openHouse, around } from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'
import type { Clock } from '../core/clock.ts'
import { createActuatorUsageStore } from './actuator-usage-and-stop-store.ts'
import { guardProjection } from './guard-state.ts'
import { createGuardLimiter } from './limits.ts'

const HOUR_MS = 3_600_000
const limits = { ...GUARD_CONFIG.limits, actuator: { minIntervalMs: 1_000, writesPerDay: 2 } }
const offer = assessedOffer('writes', () => ({ target: 'homeseer:ref:101' }))

async function change(house: GuardHouse): Promise<string> {
  const outcome = await around(house.guard, callOf(offer), offer, actuator().proceed)
  return outcome.ok ? 'done' : (outcome.fault.reasons?.map(({ rule }) => rule).join() ?? outcome.fault.kind)
}

/** The process that starts after `house`: its monotonic clock begins anew, its wall clock says whatever it says. */
function laterVerdict(house: GuardHouse, wallMs: number): string {
  const clock: Clock = { now: () => wallMs, monotonic: () => 7 }
  const later = createGuardLimiter(
    limits,
    clock.monotonic,
    createActuatorUsageStore(house.log.projections.state(guardProjection), clock).remembered(),
  )
  const verdict = later.peek({ caller: undefined, effect: 'writes', target: 'homeseer:ref:101' })
  return verdict.ok ? 'ok' : verdict.reasons.map(({ rule }) => rule).join()
}

describe('actuator usage store', () => {
  it('keeps the changes of the last day through a power cut', async () => {
    using house = openHouse({ limits })
    expect(await change(house)).toBe('done')
    house.clock.advance(2_000)
    const restarted = house.afterPowerCut()
    expect(await change(restarted)).toBe('done')
    house.clock.advance(2_000)
    expect(await change(restarted.afterPowerCut())).toBe('actuator-day')
  })

  it('records a change on disk before it is made', async () => {
    using house = openHouse({ limits })
    const rows: unknown[] = []
    const device = actuator(() => {
      rows.push(...house.afterPowerCut().events('actuator'))
      return { ok: true, value: { data: 1 } }
    })
    await around(house.guard, callOf(offer), offer, device.proceed)
    expect(rows).toMatchObject([{ kind: 'actuator.used', target: 'homeseer:ref:101' }])
  })

  it('dates the changes of an earlier process by the wall clock', async () => {
    using house = openHouse({ limits })
    await change(house)
    expect(laterVerdict(house, house.clock.now() + 500)).toBe('actuator-rest')
    expect(laterVerdict(house, house.clock.now() + 1_500)).toBe('ok')
    house.clock.advance(10_000)
    await change(house)
    expect(laterVerdict(house, house.clock.now() + 23 * HOUR_MS)).toBe('actuator-day')
    expect(laterVerdict(house, house.clock.now() + 26 * HOUR_MS)).toBe('ok')
  })

  it('treats a change dated in the future as made now, until it expires a day later', async () => {
    using house = openHouse({ limits })
    await change(house)
    house.clock.advance(400 * 24 * HOUR_MS)
    await change(house)
    house.clock.advance(2_000)
    await change(house)
    house.clock.advance(-400 * 24 * HOUR_MS)
    const restarted = house.afterPowerCut()
    await restarted.guard.recover()
    expect(laterVerdict(restarted, house.clock.now() + 5_000)).toBe('actuator-day')
    expect(laterVerdict(restarted, house.clock.now() + 26 * HOUR_MS)).toBe('ok')
  })

  it('removes changes that no longer count towards a limit', async () => {
    using house = openHouse({ limits })
    await change(house)
    house.clock.advance(27 * HOUR_MS)
    expect(createActuatorUsageStore(house.log.projections.state(guardProjection), house.clock).remembered().size).toBe(
      0,
    )
  })
})
