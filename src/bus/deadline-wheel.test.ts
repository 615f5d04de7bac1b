import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TimerWheelEntry, TimerWheel, TIMER_WHEEL_SLOT_MS } from './timer-wheel.ts'

class Bell extends TimerWheelEntry {
  readonly rang: number[] = []
  readonly #then: (() => void) | undefined

  constructor(then?: () => void) {
    super()
    this.#then = then
  }

  ring(nowMs: number): void {
    this.rang.push(nowMs)
    this.#then?.()
  }
}

describe('deadline wheel', () => {
  it('fires an entry once, never early, and less than one slot late', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 30 }), (dueTimes) => {
        const wheel = new TimerWheel()
        const bells = dueTimes.map((dueMs) => {
          const bell = new Bell()
          wheel.set(bell, dueMs)
          return { bell, dueMs }
        })
        for (let nowMs = 0; nowMs <= 520; nowMs++) wheel.turn(nowMs)
        for (const { bell, dueMs } of bells) {
          expect(bell.rang).toHaveLength(1)
          expect((bell.rang[0] ?? -1) - dueMs).toBeGreaterThanOrEqual(0)
          expect((bell.rang[0] ?? Infinity) - dueMs).toBeLessThan(TIMER_WHEEL_SLOT_MS)
        }
        expect(wheel.nextMs()).toBeUndefined()
      }),
    )
  })

  it('does not fire an entry that was cleared, whatever its position', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }), (keep) => {
        const wheel = new TimerWheel()
        const bells = keep.map(() => new Bell())
        for (const bell of bells) wheel.set(bell, 100)
        for (const [index, bell] of bells.entries()) if (keep[index] === false) wheel.clear(bell)
        wheel.turn(100)
        expect(bells.map((bell) => bell.rang.length === 1)).toEqual(keep)
      }),
    )
  })

  it('moves an entry that is set again', () => {
    const wheel = new TimerWheel()
    const bell = new Bell()
    wheel.set(bell, 100)
    wheel.set(bell, 300)
    wheel.turn(200)
    expect(bell.rang).toEqual([])
    wheel.turn(300)
    expect(bell.rang).toEqual([300])
  })

  it('fires an earlier entry before a later one, whichever was set first', () => {
    const order: string[] = []
    const wheel = new TimerWheel()
    wheel.set(new Bell(() => order.push('later')), 200)
    wheel.set(new Bell(() => order.push('earlier')), 100)
    wheel.turn(1_000)
    expect(order).toEqual(['earlier', 'later'])
  })

  it('allows an entry to set itself again while it fires', () => {
    const wheel = new TimerWheel()
    const bell: Bell = new Bell(() => wheel.set(bell, 50))
    wheel.set(bell, 10)
    wheel.turn(10)
    expect(wheel.nextMs()).toBe(50)
    wheel.turn(50)
    expect(bell.rang).toEqual([10, 50])
  })

  it('never fires an entry that is set to Infinity', () => {
    const wheel = new TimerWheel()
    wheel.set(new Bell(), Infinity)
    expect(wheel.nextMs()).toBeUndefined()
  })
})
