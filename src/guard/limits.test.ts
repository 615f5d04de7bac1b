import { describe, expect, it } from 'vitest'
import { manualClock } from '../../test/manual-clock.ts'
import {
  createGuardLimiter,
  isOnlyActuatorRestReason,
  countActsOfLastDay,
  addActToHourlyCounts,
  computeDailyLimitReliefMs,
} from './limits.ts'
import type { GuardLimitsConfig, HourlyActCounts } from './limits.ts'

const config: GuardLimitsConfig = {
  calls: { perMinute: 60, burst: 3 },
  effects: { writes: { perMinute: 6, burst: 2 } },
  actuator: { minIntervalMs: 500, writesPerDay: 4 },
  actuators: [{ target: 'eeprom:*', minIntervalMs: 10_000, writesPerDay: 1 }],
  maxTracked: 3,
  maxRestWaitMs: 0,
}

const HOUR_MS = 3_600_000

describe('hourly act counts', () => {
  it('need at most 25 numbers, and forget an act after 24 to 25 hours', () => {
    let day: HourlyActCounts = []
    for (let minute = 0; minute < 60 * 48; minute++) day = addActToHourlyCounts(day, minute * 60_000)
    expect(day.length).toBeLessThanOrEqual(25)
    const once = addActToHourlyCounts([], 30 * 60_000)
    expect(countActsOfLastDay(once, 24 * HOUR_MS)).toBe(1)
    expect(countActsOfLastDay(once, 25 * HOUR_MS)).toBe(0)
    expect(computeDailyLimitReliefMs(once, 24 * HOUR_MS)).toBe(HOUR_MS)
  })
})

describe('guard limits', () => {
  it('charge no budget to our own services for changes', () => {
    const limits = createGuardLimiter(config, manualClock().monotonic)
    const act = { caller: undefined, effect: 'writes', target: undefined, actuator: undefined, touches: [] } as const
    for (let count = 0; count < 5; count++) {
      expect(limits.peek({ ...act, label: undefined })).toEqual({ ok: true })
      limits.take({ ...act, label: undefined })
    }
    const ours = { ...act, caller: 'undefined', label: undefined }
    expect(limits.peek(ours)).toEqual({ ok: true })
  })

  it('name a resting actuator by its label, or else by its id', () => {
    const limits = createGuardLimiter(config, manualClock().monotonic)
    const act = {
      caller: 'a',
      effect: 'sensitive',
      target: undefined,
      actuator: 'valve:1',
      touches: ['pump:1'],
    } as const
    limits.take({ ...act, label: undefined })
    const said = (label: string | undefined) => {
      const verdict = limits.peek({ ...act, label })
      return verdict.ok ? [] : verdict.reasons.map(({ message }) => message)
    }
    const [unnamed = '', byValve = ''] = said(undefined)
    expect([unnamed.includes('valve:1'), byValve.includes('pump:1, set in motion by valve:1')]).toEqual([true, true])
    const [named = '', byName = ''] = said('The valve')
    expect([named.includes('The valve'), byName.includes('set in motion by The valve')]).toEqual([true, true])
  })

  it('count every call of a caller, but none of our own services', () => {
    const clock = manualClock()
    const limits = createGuardLimiter(config, clock.monotonic)
    expect([1, 2, 3].map(() => limits.arrive('a').ok)).toEqual([true, true, true])
    expect(limits.arrive('a')).toEqual({
      ok: false,
      reasons: [{ rule: 'rate-calls', message: 'More than 60 in a minute.' }],
      retryAfterMs: 1_000,
    })
    expect(limits.arrive('b').ok).toBe(true)
    expect(Array.from({ length: 10 }, () => limits.arrive(undefined).ok)).not.toContain(false)
    clock.advance(1_000)
    expect(limits.arrive('a').ok).toBe(true)
  })

  it('count acts per caller and effect, and a peek does not count', () => {
    const limits = createGuardLimiter(config, manualClock().monotonic)
    const act = { caller: 'a', effect: 'writes', target: undefined } as const
    for (let index = 0; index < 10; index++) expect(limits.peek(act).ok).toBe(true)
    limits.take(act)
    limits.take(act)
    expect(limits.peek(act)).toMatchObject({ ok: false, reasons: [{ rule: 'rate-writes' }], retryAfterMs: 10_000 })
    expect(limits.peek({ ...act, effect: 'records' }).ok).toBe(true)
    expect(limits.peek({ ...act, caller: 'b' }).ok).toBe(true)
  })

  it('enforce a rest between changes of a device by any caller, and a limit per day', () => {
    const clock = manualClock()
    const limits = createGuardLimiter(config, clock.monotonic)
    const by = (caller: string) => ({ caller, effect: 'sensitive', target: 'lamp:1' }) as const
    limits.take(by('a'))
    expect(limits.peek(by('b'))).toMatchObject({ reasons: [{ rule: 'actuator-rest' }], retryAfterMs: 500 })
    expect(limits.peek({ ...by('b'), label: 'Desk lamp' })).toMatchObject({
      reasons: [{ message: 'Desk lamp: the device rests 500 ms between changes. Try again in 500 ms.' }],
    })
    for (let index = 0; index < 3; index++) {
      clock.advance(500)
      expect(limits.peek(by('b')).ok).toBe(true)
      limits.take(by('b'))
    }
    clock.advance(500)
    expect(limits.peek(by('b'))).toMatchObject({ ok: false, reasons: [{ rule: 'actuator-day' }] })
    clock.advance(25 * HOUR_MS)
    expect(limits.peek(by('b')).ok).toBe(true)
  })

  it('apply the limits configured for a named device', () => {
    const clock = manualClock()
    const limits = createGuardLimiter(config, clock.monotonic)
    const act = { caller: undefined, effect: 'writes', target: 'eeprom:7' } as const
    limits.take(act)
    clock.advance(9_999)
    expect(limits.peek(act)).toMatchObject({ reasons: [{ rule: 'actuator-rest' }], retryAfterMs: 1 })
    clock.advance(1)
    expect(limits.peek(act)).toMatchObject({ reasons: [{ rule: 'actuator-day' }] })
  })

  it('refuse the first change of a device with a daily limit of zero', () => {
    const never = { ...config, actuator: { minIntervalMs: 0, writesPerDay: 0 } }
    const limits = createGuardLimiter(never, manualClock().monotonic)
    expect(limits.peek({ caller: 'a', effect: 'sensitive', target: 'lamp:1' })).toMatchObject({
      reasons: [{ rule: 'actuator-day' }],
      retryAfterMs: 86_400_000,
    })
  })

  it('return the longer wait when two limits refuse an act', () => {
    const clock = manualClock()
    const limits = createGuardLimiter(config, clock.monotonic)
    const act = { caller: 'a', effect: 'writes', target: 'lamp:1' } as const
    limits.take(act)
    limits.take(act)
    // Six in a minute, so the next in ten seconds; the device rests half a second.
    expect(limits.peek(act)).toMatchObject({
      reasons: [{ rule: 'rate-writes' }, { rule: 'actuator-rest' }],
      retryAfterMs: 10_000,
    })
  })

  it('forget the least recently used device first, however often it was used before', () => {
    const clock = manualClock()
    const limits = createGuardLimiter({ ...config, maxTracked: 100 }, clock.monotonic)
    const act = (index: number) => ({ caller: undefined, effect: 'sensitive', target: `lamp:${index}` }) as const
    for (let index = 0; index < 100; index++) limits.take(act(index))
    clock.advance(26 * HOUR_MS)
    // As many as are looked at: had they stayed in front, nothing idle would be found.
    for (let index = 0; index < 64; index++) limits.take(act(index))
    expect(limits.peek(act(100))).toEqual({ ok: true })
  })

  it('forget a budget that is full again, even if it is not the oldest', () => {
    const clock = manualClock()
    const limits = createGuardLimiter({ ...config, maxTracked: 2 }, clock.monotonic)
    const write = { caller: 'a', effect: 'writes', target: undefined } as const
    limits.take(write)
    limits.take(write)
    limits.arrive('b')
    clock.advance(2_000)
    // Two writes take twenty seconds to be forgiven, a call takes one.
    expect(limits.arrive('c')).toEqual({ ok: true })
  })

  it('do not count a gateway record about a device as a change of the device', () => {
    const limits = createGuardLimiter(config, manualClock().monotonic)
    const act = { caller: 'a', effect: 'records', target: 'lamp:1' } as const
    limits.take(act)
    expect(limits.peek(act)).toEqual({ ok: true })
  })

  it('tell a refusal by rest alone from every other refusal', () => {
    const [rest, rate] = [
      { rule: 'actuator-rest', message: '' },
      { rule: 'rate-writes', message: '' },
    ] as const
    expect(
      [[rest], [rest, rest], [rest, rate], [rate], [], undefined].map((reasons) => isOnlyActuatorRestReason(reasons)),
    ).toEqual([true, true, false, false, false, false])
  })

  it('never limit reads of a device', () => {
    const limits = createGuardLimiter(config, manualClock().monotonic)
    const act = { caller: 'a', effect: 'reads', target: 'eeprom:7' } as const
    for (let index = 0; index < 5; index++) limits.take(act)
    expect(limits.peek(act).ok).toBe(true)
  })

  it('refuse a new caller when all tracked callers are busy, and forget an idle one', () => {
    const clock = manualClock()
    const limits = createGuardLimiter(config, clock.monotonic)
    for (const caller of ['a', 'b', 'c']) limits.arrive(caller)
    expect(limits.arrive('d')).toMatchObject({ ok: false, reasons: [{ rule: 'rate-calls' }] })
    clock.advance(60_000)
    expect(limits.arrive('d').ok).toBe(true)
    expect(limits.arrive('a').ok).toBe(true)
  })

  it('refuse a new device when all tracked devices still count', () => {
    const clock = manualClock()
    const limits = createGuardLimiter(config, clock.monotonic)
    const act = (target: string) => ({ caller: undefined, effect: 'writes', target }) as const
    for (const target of ['x:1', 'x:2', 'x:3']) limits.take(act(target))
    expect(limits.peek(act('x:4'))).toMatchObject({ ok: false, reasons: [{ rule: 'actuator' }] })
    clock.advance(25 * HOUR_MS)
    expect(limits.peek(act('x:4')).ok).toBe(true)
  })
})
