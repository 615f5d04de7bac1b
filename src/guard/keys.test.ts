import { describe, expect, it } from 'vitest'
import type { Call, Outcome } from '../bus/call.ts'
import type { FaultKind } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { JsonObject } from '../core/json.ts'
import { actuator, APPROVER, assessedOffer, callOf, GUARD_CONFIG, openHouse, around } from '../../test/guard-house.ts'
import type { Actuator, GuardHouse } from '../../test/guard-house.ts'
import { ALTERED_BODY } from '../../test/table-log.ts'
import type { IdempotencyKeyUse } from './idempotency-key-store.ts'

function keyed(effect: 'records' | 'writes' | 'sensitive') {
  return assessedOffer(effect, ({ key, dryRun }) => ({
    ...(typeof key === 'string' ? { idempotencyKey: key } : {}),
    dryRun: dryRun === true,
    target: 'valve:1',
  }))
}

const offer = keyed('writes')

function send(house: GuardHouse, valve: Actuator, body: JsonObject, more: Partial<Call> = {}): Promise<Outcome> {
  return around(house.guard, callOf(offer, body, more), offer, valve.proceed)
}

/** The same answer, which says that nothing was done for it. */
function replayOf(first: Outcome): Outcome {
  return first.ok ? ok({ ...first.value, replayed: true }) : first
}

describe('idempotency key', () => {
  it('lets one of a hundred simultaneous calls act', async () => {
    using house = openHouse()
    const valve = actuator()
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => send(house, valve, { key: 'k1', open: 40 })))
    expect(valve.calls).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1)
    const others = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.fault]))
    expect(new Set(others.map(({ kind, reasons }) => `${kind} ${reasons?.[0]?.rule}`))).toEqual(
      new Set(['busy key-in-flight']),
    )
  })

  it('replays the answer, marked as a replay, also after a restart', async () => {
    using house = openHouse()
    const valve = actuator(() => ok({ data: { open: 40 }, content: [{ type: 'text', text: 'done' }] }))
    const first = await send(house, valve, { key: 'k1', open: 40 })
    expect(await send(house, valve, { key: 'k1', open: 40 })).toEqual(replayOf(first))
    const next = house.afterPowerCut()
    expect(await next.guard.recover()).toMatchObject({ unknownKeys: 0 })
    expect(await send(next, valve, { key: 'k1', open: 40 })).toEqual(replayOf(first))
    expect(valve.calls).toHaveLength(1)
  })

  it('stays reserved while its call runs, even if the clock is set forward', async () => {
    using house = openHouse()
    const again: Outcome[] = []
    const valve = actuator(async () => {
      house.clock.advance(2 * GUARD_CONFIG.keys.ttlMs)
      await house.guard.sweep()
      if (valve.calls.length === 1) again.push(await send(house, valve, { key: 'k1', open: 40 }))
      return ok({ data: 'done' })
    })
    expect(await send(house, valve, { key: 'k1', open: 40 })).toMatchObject({ ok: true })
    expect(again).toMatchObject([{ fault: { kind: 'busy', reasons: [{ rule: 'key-in-flight' }] } }])
    expect(valve.calls).toHaveLength(1)
  })

  it('is refused with other arguments', async () => {
    using house = openHouse()
    const valve = actuator()
    await send(house, valve, { key: 'k1', open: 40 })
    expect(await send(house, valve, { key: 'k1', open: 50 })).toMatchObject({
      fault: { kind: 'conflict', reasons: [{ rule: 'key-mismatch' }] },
    })
    expect(valve.calls).toHaveLength(1)
  })

  it('covers only the arguments that the tool declares as the change', async () => {
    using house = openHouse()
    const valve = actuator()
    const patient = assessedOffer('writes', ({ open = 0 }) => ({ idempotencyKey: 'k1', keyedChange: { open } }))
    const put = (body: JsonObject): Promise<Outcome> =>
      around(house.guard, callOf(patient, body), patient, valve.proceed)
    const first = await put({ open: 40 })
    expect(await put({ open: 40, timeout_ms: 9_000 })).toEqual(replayOf(first))
    expect(await put({ open: 50 })).toMatchObject({ fault: { reasons: [{ rule: 'key-mismatch' }] } })
    expect(valve.calls).toHaveLength(1)
  })

  it('belongs to one caller and one tool', async () => {
    using house = openHouse()
    const valve = actuator()
    await send(house, valve, { key: 'k1' })
    await send(house, valve, { key: 'k1' }, { caller: { kind: 'principal', id: 'other', role: 'agent' } })
    const records = keyed('records')
    await around(house.guard, callOf(records, { key: 'k1' }), records, valve.proceed)
    expect(valve.calls).toHaveLength(3)
  })

  it.each<[FaultKind, 'acts again' | 'replays' | 'is unknown']>([
    ['busy', 'acts again'],
    ['offline', 'acts again'],
    ['conflict', 'acts again'],
    ['not-found', 'acts again'],
    ['failed', 'replays'],
    ['timed-out', 'is unknown'],
    ['cancelled', 'is unknown'],
    ['internal', 'is unknown'],
    ['unknown-outcome', 'is unknown'],
  ])('after the fault %s a repeated call %s', async (kind, then) => {
    using house = openHouse()
    const valve = actuator(() => fail({ kind, message: 'x' }))
    await send(house, valve, { key: 'k1' })
    const again = await send(house, valve, { key: 'k1' })
    if (again.ok) throw new Error('it cannot be')
    expect(valve.calls).toHaveLength(then === 'acts again' ? 2 : 1)
    expect(again.fault.replayed).toBe(then === 'replays' ? true : undefined)
    expect(again.fault.kind).toBe(then === 'is unknown' ? 'unknown-outcome' : kind)
    expect(again.fault.reasons?.[0]?.rule).toBe(then === 'is unknown' ? 'key-unknown' : undefined)
  })

  it('in use during a power cut is unknown afterwards, and never acts again', async () => {
    using house = openHouse()
    let found: GuardHouse | undefined
    const valve = actuator(() => {
      found ??= house.afterPowerCut()
      return ok({ data: null })
    })
    await send(house, valve, { key: 'k1' })
    if (found === undefined) throw new Error('it did not act')
    expect(await found.guard.recover()).toMatchObject({ unknownKeys: 1 })
    expect(await send(found, valve, { key: 'k1' })).toMatchObject({ fault: { kind: 'unknown-outcome' } })
    expect(valve.calls).toHaveLength(1)
  })

  it('is unknown after the handler threw an error', async () => {
    using house = openHouse()
    const valve = actuator(() => {
      throw new Error('a bug')
    })
    expect(await send(house, valve, { key: 'k1' })).toMatchObject({
      fault: { kind: 'unknown-outcome', details: { cause: 'internal' } },
    })
    expect(await send(house, valve, { key: 'k1' })).toMatchObject({ fault: { reasons: [{ rule: 'key-unknown' }] } })
    expect(valve.calls).toHaveLength(1)
  })

  it('is not stored for a rehearsal, a refusal or an approval request', async () => {
    using house = openHouse()
    const valve = actuator()
    expect(await send(house, valve, { key: 'k1', dryRun: true })).toMatchObject({ ok: true })
    expect(valve.calls[0]?.rehearsal).toBe(true)
    const observer = { kind: 'principal', id: 'claude', role: 'observer' } as const
    await send(house, valve, { key: 'k1' }, { caller: observer })
    const sensitive = keyed('sensitive')
    await around(house.guard, callOf(sensitive, { key: 'k1' }), sensitive, valve.proceed)
    expect(house.state.keys.size).toBe(0)
  })

  it('replays the answer of a sensitive call without a second approval', async () => {
    using house = openHouse()
    const sensitive = keyed('sensitive')
    const valve = actuator()
    const call = () => around(house.guard, callOf(sensitive, { key: 'k1' }), sensitive, valve.proceed)
    await call()
    const [asked] = house.guard.approvals.list()
    await house.guard.approvals.approve(asked?.id ?? '', APPROVER)
    const first = await call()
    expect(first.ok).toBe(true)
    expect(await call()).toEqual(replayOf(first))
    expect(valve.calls).toHaveLength(1)
    expect(house.guard.approvals.list()).toHaveLength(1)
  })

  it('replays an answer regardless of limits, but not in read-only mode', async () => {
    using house = openHouse({
      limits: { ...GUARD_CONFIG.limits, actuator: { minIntervalMs: 60_000, writesPerDay: 1 } },
    })
    const valve = actuator()
    const first = await send(house, valve, { key: 'k1' })
    expect(await send(house, valve, { key: 'k2' })).toMatchObject({ fault: { kind: 'busy' } })
    expect(await send(house, valve, { key: 'k1' })).toEqual(replayOf(first))
    const readonly = house.afterPowerCut({ mode: 'readonly' })
    expect(await send(readonly, valve, { key: 'k1' })).toMatchObject({ fault: { reasons: [{ rule: 'mode' }] } })
  })

  it('is released when the caller leaves before anything was tried', async () => {
    using house = openHouse()
    const valve = actuator()
    const leaving = new AbortController()
    const outcome = send(house, valve, { key: 'k1' }, { signal: leaving.signal })
    leaving.abort()
    expect(await outcome).toMatchObject({ fault: { kind: 'cancelled' } })
    expect(valve.calls).toEqual([])
    expect(await send(house, valve, { key: 'k1' })).toMatchObject({ ok: true })
  })

  it('is released when the caller leaves between the reservation and the handler', async () => {
    using house = openHouse()
    const valve = actuator()
    const leaving = new AbortController()
    house.database.follow({
      workBegins: () => undefined,
      workUndone: () => undefined,
      groupEnds: () => leaving.abort(),
    })
    expect(await send(house, valve, { key: 'k1' }, { signal: leaving.signal })).toMatchObject({
      fault: { kind: 'cancelled' },
    })
    expect(valve.calls).toEqual([])
    expect(await send(house, valve, { key: 'k1' })).toMatchObject({ ok: true })
  })

  it('is deleted after its lifetime', async () => {
    using house = openHouse({ keys: { ...GUARD_CONFIG.keys, ttlMs: 60_000 } })
    const valve = actuator()
    await send(house, valve, { key: 'k1' })
    house.clock.advance(59_999)
    await send(house, valve, { key: 'k1' })
    expect(valve.calls).toHaveLength(1)
    house.clock.advance(1)
    await send(house, valve, { key: 'k1' })
    expect(valve.calls).toHaveLength(2)
    house.clock.advance(60_000)
    await send(house, valve, { key: 'k2' })
    expect([...house.state.keys.values()]).toHaveLength(1)
  })

  it('keeps its lifetime although the clock is set forward before or after the call ends', async () => {
    using house = openHouse({ keys: { ...GUARD_CONFIG.keys, ttlMs: 600_000 } })
    const year = 31_536_000_000
    await send(house, actuator(), { key: 'k0' })
    // A clock that nobody has set yet, as after the start of a computer that has none of its own.
    house.clock.set(-year)
    const valve = actuator(async () => {
      if (valve.calls.length === 1) house.clock.set(year)
      return ok({ data: 'done' })
    })
    await send(house, valve, { key: 'k1' })
    await send(house, valve, { key: 'k1' })
    house.clock.set(year)
    house.clock.advance(599_999)
    await house.guard.sweep()
    await send(house, valve, { key: 'k1' })
    expect(valve.calls).toHaveLength(1)
    house.clock.advance(1)
    await send(house, valve, { key: 'k1' })
    expect(valve.calls).toHaveLength(2)
    await house.guard.sweep()
    expect(house.state.keys.size).toBe(1)
  })

  it('replays no answer that is too long, and replays others with secrets redacted', async () => {
    using house = openHouse()
    const long = actuator(() => ok({ data: 'x'.repeat(5_000) }))
    await send(house, long, { key: 'k1' })
    expect(await send(house, long, { key: 'k1' })).toMatchObject({
      fault: { kind: 'conflict', reasons: [{ rule: 'key-done' }] },
    })
    const secret = actuator(() => ok({ data: { user: 'anna', password: 'hunter2-hunter2' } }))
    expect(await send(house, secret, { key: 'k2' })).toMatchObject({ value: { data: { password: 'hunter2-hunter2' } } })
    expect(house.everything()).not.toContain('hunter2')
    expect(await send(house, secret, { key: 'k2' })).toMatchObject({ value: { data: { password: '[redacted]' } } })
  })

  it('says of an answer that was erased or altered that it is lost, and does not act again', async () => {
    using house = openHouse()
    const valve = actuator(() => fail({ kind: 'failed', message: 'The valve is stuck.' }))
    await send(house, valve, { key: 'k1' })
    const [seq] = [...house.state.keys.values()].map(({ outcomeSeq }) => outcomeSeq)
    for (const body of [null, ALTERED_BODY]) {
      house.database.sql.prepare('UPDATE test_event SET body = ? WHERE seq = ?').run(body, seq ?? 0)
      expect(await send(house, valve, { key: 'k1' })).toMatchObject({
        fault: {
          kind: 'conflict',
          reasons: [{ rule: 'key-answer-lost' }],
          message: expect.stringMatching(/erased or altered in the records\. Nothing was done now/) as string,
        },
      })
    }
    expect(valve.calls).toHaveLength(1)
  })

  it('replaces the oldest answers of a caller with too many keys, but keeps unknown outcomes', async () => {
    using house = openHouse({ keys: { ...GUARD_CONFIG.keys, maxKeys: 5, maxKeysPerPrincipal: 3 } })
    const { keys } = house.guard.services
    const use = (principal: string, key: string): IdempotencyKeyUse => ({
      principal,
      capability: 't',
      key,
      argsHash: 'h',
    })
    const unknown = use('a', 'unknown')
    await keys.reserve(unknown)
    await keys.finish(unknown, fail({ kind: 'timed-out', message: 'x' }))
    for (const key of ['1', '2', '3', '4']) {
      house.clock.advance(1)
      expect(await keys.reserve(use('a', key))).toEqual({ state: 'fresh' })
      await keys.finish(use('a', key), ok({ data: key }))
    }
    expect(await keys.reserve(unknown)).toEqual({ state: 'unknown' })
    expect(await keys.reserve(use('a', '4'))).toMatchObject({ state: 'replay' })
    expect(await keys.reserve(use('a', '1'))).toEqual({ state: 'fresh' })
    for (const key of ['5', '6']) await keys.reserve(use('b', key))
    expect(await keys.reserve(use('c', '7'))).toEqual({ state: 'full' })
  })

  it.each(['', 'k'.repeat(513)])('of length zero or above 512 is refused', async (key) => {
    using house = openHouse()
    const valve = actuator()
    expect(await send(house, valve, { key })).toMatchObject({ fault: { kind: 'invalid-arguments' } })
    expect(valve.calls).toEqual([])
  })
})
