import { describe, expect, it } from 'vitest'
import { answering, ME, node, reply } from '../../test/bus-village.ts'
import { systemClock } from '../core/clock.ts'
import { TimerWheelEntry, TimerWheel, TimerWheelDriver } from './timer-wheel.ts'

class Bell extends TimerWheelEntry {
  readonly rang = Promise.withResolvers<number>()

  ring(nowMs: number): void {
    this.rang.resolve(nowMs)
  }
}

describe('timer wheel driver', () => {
  it('fires entries by itself, and not early', async () => {
    const timer = new TimerWheelDriver(new TimerWheel(), systemClock)
    const startedMs = systemClock.monotonic()
    const [late, soon] = [new Bell(), new Bell()]
    timer.set(late, startedMs + 60)
    timer.set(soon, startedMs + 20)
    expect(await soon.rang.promise).toBeGreaterThanOrEqual(startedMs + 20)
    expect(await late.rang.promise).toBeGreaterThanOrEqual(startedMs + 60)
  })

  it('ends a call whose handler never ends', async () => {
    const bus = node('a', { clock: systemClock })
    bus.registerCapability(answering({ name: 'x.never' }, () => new Promise(() => undefined)))
    expect(await bus.call('x.never', [1, 0], {}, { ...ME, timeoutMs: 10 })).toMatchObject({
      fault: { kind: 'timed-out' },
    })
  })

  it('lets a handler that observes its signal end with its own answer', async () => {
    const bus = node('a', { clock: systemClock })
    bus.registerCapability(
      answering(
        { name: 'x.polite' },
        (call) =>
          new Promise((resolve) => {
            call.signal.addEventListener('abort', () => resolve(reply('stopped half way')))
          }),
      ),
    )
    // Long enough that a busy machine has begun before it is over: a call that is late does not begin.
    expect(await bus.call('x.polite', [1, 0], {}, { ...ME, timeoutMs: 500 })).toMatchObject(reply('stopped half way'))
  })
})
