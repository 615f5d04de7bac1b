import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { actuator, APPROVER, assessedOffer, callOf, openHouse, around } from '../../test/guard-house.ts'
import type { GuardHouse } from '../../test/guard-house.ts'

/** What can happen to a house in any order. */
type Happening =
  | { readonly what: 'call'; readonly door: number; readonly key: string | undefined; readonly times: number }
  | { readonly what: 'approve' | 'deny'; readonly which: number }
  | { readonly what: 'wait'; readonly ms: number }
  | { readonly what: 'power cut'; readonly duringAct: boolean }

const happenings: fc.Arbitrary<readonly Happening[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        what: fc.constant('call' as const),
        door: fc.constantFrom(1, 1, 1, 2),
        key: fc.constantFrom(undefined, undefined, 'k1'),
        times: fc.integer({ min: 1, max: 3 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constantFrom('approve' as const, 'approve' as const, 'deny' as const),
        which: fc.nat({ max: 3 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ what: fc.constant('wait' as const), ms: fc.constantFrom(1, 200_000, 400_000) }),
    },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('power cut' as const), duringAct: fc.boolean() }) },
  ),
  { minLength: 12, maxLength: 30, size: 'max' },
)

const lock = assessedOffer('sensitive', ({ door, key }) => ({
  target: `lock:${Number(door)}`,
  ...(typeof key === 'string' ? { idempotencyKey: key } : {}),
}))

interface PlayedFacts {
  readonly acts: readonly string[]
  readonly approvals: number
}

/** Plays it and counts the acts against the yeses. */
async function play(happening: readonly Happening[]): Promise<PlayedFacts> {
  using first = openHouse()
  let house: GuardHouse = first
  let approvals = 0
  let cutDuringAct = false
  let next: GuardHouse | undefined
  const device = actuator(() => {
    if (cutDuringAct) next = house.afterPowerCut()
    cutDuringAct = false
    return { ok: true, value: { data: null } }
  })
  for (const event of happening) {
    if (event.what === 'call') {
      const { door, key, times } = event
      const body = key === undefined ? { door } : { door, key }
      const calls = Array.from({ length: times }, () => around(house.guard, callOf(lock, body), lock, device.proceed))
      await Promise.all(calls)
    }
    if (event.what === 'approve' || event.what === 'deny') {
      const open = house.guard.approvals.list({ state: 'requested' })
      const id = open[event.which % Math.max(1, open.length)]?.id ?? 'none'
      const decided =
        event.what === 'approve'
          ? await house.guard.approvals.approve(id, APPROVER)
          : await house.guard.approvals.deny(id, APPROVER, 'no')
      if (decided.ok && event.what === 'approve') approvals += 1
    }
    if (event.what === 'wait') house.clock.advance(event.ms)
    if (event.what === 'power cut' && event.duringAct) cutDuringAct = true
    if (event.what === 'power cut' && !event.duringAct) next = house.afterPowerCut()
    if (next === undefined) continue
    house = next
    next = undefined
    await house.guard.recover()
  }
  return { acts: device.calls.map(({ body }) => JSON.stringify(body)), approvals }
}

describe('guard under random calls, crashes and time', () => {
  it('runs no more handlers than were approved, and one per idempotency key', async () => {
    let acted = 0
    const found = await fc.check(
      fc.asyncProperty(happenings, async (events) => {
        const { acts, approvals } = await play(events)
        acted += acts.length
        const keyed = acts.filter((body) => body.includes('key'))
        return acts.length <= approvals && new Set(keyed).size === keyed.length
      }),
      { numRuns: 40 },
    )
    expect(found.counterexample).toBeNull()
    expect(acted).toBeGreaterThan(10)
  })
})
