import { describe, expect, it } from 'vitest'
import { createNoHomeseerFaults } from './simulated-faults.ts'
import { createHardCaseDevices } from './hard-case-devices.ts'
import { SimulatedHomeseerDevices } from './simulated-devices.ts'
import { SimulatedTriggerScheduler } from './trigger-scheduler.ts'
import { createSimulatedHomeseerSystem, createSimulatedEvent, type SimulatedEvent } from './simulated-system.ts'
import type { SimulatedTrigger } from './trigger.ts'

const UNLOCK = [{ ref: 141, value: 0, label: 'Unlock' }]

/** A house whose events are these; time passes when it is told. */
function houseWith(...events: readonly SimulatedEvent[]) {
  const faults = { ...createNoHomeseerFaults(), settleMs: 0 }
  const house = new SimulatedHomeseerDevices(createHardCaseDevices(), faults)
  const system = createSimulatedHomeseerSystem(events)
  const scheduler = new SimulatedTriggerScheduler({ house, system })
  house.onWrite((change, nowMs) => scheduler.written(change, nowMs))
  const pass = (untilMs: number) => {
    for (let now = 0; now <= untilMs; now += 50) {
      house.advance(now)
      scheduler.advance(now)
    }
  }
  return { house, system, pass, lock: () => house.hardware(141)?.value }
}

function unlockWhen(...triggers: readonly SimulatedTrigger[]): SimulatedEvent {
  return createSimulatedEvent({ id: 60, group: 'Night', name: 'Walk', triggers: [triggers], actions: UNLOCK })
}

describe('simulated trigger scheduler', () => {
  it.each<[how: string, trigger: SimulatedTrigger, value: number]>([
    ['a value', { ref: 199, kind: 'equals', value: 255 }, 255],
    ['another value than one', { ref: 199, kind: 'not-equals', value: 0 }, 255],
    ['above', { ref: 199, kind: 'above', value: 100 }, 255],
    ['below', { ref: 165, kind: 'below', value: 10 }, 5],
    ['a range', { ref: 165, kind: 'range', value: 1, end: 10 }, 5],
    ['any change', { ref: 199, kind: 'any-change' }, 255],
    ['any device', { ref: undefined, kind: 'any-change' }, 255],
    ['a write of the same', { ref: 199, kind: 'set', value: 0 }, 0],
    ['has been for a while', { ref: 199, kind: 'has-been', value: 255, forMs: 500 }, 255],
  ])('runs an event by %s, also when only the stored value was written', (_, trigger, value) => {
    const { house, pass, lock } = houseWith(unlockWhen(trigger))
    expect(lock()).toBe(255)
    house.store(trigger.ref ?? 199, { value }, 0)
    pass(1_000)
    expect(lock()).toBe(0)
  })

  it('respects conditions and disabled events', () => {
    const trigger: SimulatedTrigger = { ref: 199, kind: 'equals', value: 255 }
    const conditioned = houseWith(unlockWhen(trigger, { ref: 170, kind: 'equals', value: 255 }))
    conditioned.house.store(199, { value: 255 }, 0)
    conditioned.pass(500)
    expect(conditioned.lock()).toBe(255)
    const off = houseWith({ ...unlockWhen(trigger), enabled: false })
    off.house.store(199, { value: 255 }, 0)
    off.pass(500)
    expect(off.lock()).toBe(255)
  })

  it('runs events that other events trigger or run', () => {
    const second = { ...unlockWhen({ ref: 198, kind: 'equals', value: 255 }), id: 61 }
    const first = createSimulatedEvent({
      id: 60,
      group: 'Night',
      name: 'First',
      triggers: [[{ ref: 199, kind: 'any-change' }]],
      actions: [{ ref: 198, value: 255, label: 'On' }],
    })
    const chain = houseWith(first, second)
    chain.house.controlByValue(199, 255, { user: 'default', nowMs: 0 })
    chain.pass(500)
    expect(chain.lock()).toBe(0)
    const running = houseWith({ ...first, actions: [], runs: [61] }, { ...second, triggers: [] })
    running.house.controlByValue(199, 255, { user: 'default', nowMs: 0 })
    running.pass(500)
    expect(running.lock()).toBe(0)
  })
})
