/**
 * Trigger scheduler: runs the events of the simulated HomeSeer whose triggers are met, as HomeSeer does whoever wrote
 * the value: a person, a plug-in, an agent, another event, or a mere rewrite of what is remembered.
 *
 * Holds memory; time is an argument.
 */
import { runSimulatedEvent } from './simulated-events.ts'
import type { SimulatedEvent } from './simulated-system.ts'
import {
  isTriggerConditionMetByValue,
  isTriggeredByWrite,
  type SimulatedTrigger,
  type DeviceValueWrite,
} from './trigger.ts'
import type { SimulatedWorld } from './simulated-world.ts'

interface Waiting {
  readonly event: SimulatedEvent
  readonly group: readonly SimulatedTrigger[]
  readonly dueMs: number
}

/** Two events that set each other off would otherwise run endlessly. */
const RETRIGGER_MS = 100

export class SimulatedTriggerScheduler {
  readonly #world: Pick<SimulatedWorld, 'house' | 'system'>
  readonly #lastRunMs = new Map<number, number>()
  #waiting: readonly Waiting[] = []

  constructor(world: Pick<SimulatedWorld, 'house' | 'system'>) {
    this.#world = world
  }

  written(write: DeviceValueWrite, nowMs: number): void {
    const { system } = this.#world
    // A value that had to last for a while has not, if it was overwritten by another one.
    this.#waiting = this.#waiting.filter(
      ({ group: [first] }) => first?.ref !== write.ref || isTriggerConditionMetByValue(first, write.value),
    )
    for (const event of system.events)
      for (const group of event.triggers) {
        const [first, ...conditions] = group
        if (first === undefined) continue
        if (first.kind === 'has-been') this.#begin({ event, group, write, nowMs })
        else if (isTriggeredByWrite(first, write) && this.#allHold(conditions)) this.#run(event, nowMs)
      }
  }

  advance(nowMs: number): void {
    const due = this.#waiting.filter(({ dueMs }) => dueMs <= nowMs)
    this.#waiting = this.#waiting.filter(({ dueMs }) => dueMs > nowMs)
    for (const { event, group } of due) if (this.#allHold(group)) this.#run(event, nowMs)
  }

  get nextDueMs(): number {
    return this.#waiting.reduce((soonest, { dueMs }) => Math.min(soonest, dueMs), Number.POSITIVE_INFINITY)
  }

  #begin(start: {
    readonly event: SimulatedEvent
    readonly group: readonly SimulatedTrigger[]
    readonly write: DeviceValueWrite
    readonly nowMs: number
  }): void {
    const { event, group, write, nowMs } = start
    const [first] = group
    if (first === undefined || first.ref !== write.ref || !isTriggerConditionMetByValue(first, write.value)) return
    if (this.#waiting.some((waiting) => waiting.group === group)) return
    this.#waiting = [...this.#waiting, { event, group, dueMs: nowMs + (first.forMs ?? 0) }]
  }

  #allHold(conditions: readonly SimulatedTrigger[]): boolean {
    const { house } = this.#world
    return conditions.every(
      (one) => one.ref === undefined || isTriggerConditionMetByValue(one, house.stored(one.ref)?.value),
    )
  }

  #run(event: SimulatedEvent, nowMs: number): void {
    const last = this.#lastRunMs.get(event.id) ?? Number.NEGATIVE_INFINITY
    if (!event.enabled || nowMs - last < RETRIGGER_MS) return
    this.#lastRunMs.set(event.id, nowMs)
    runSimulatedEvent(this.#world, event, nowMs)
  }
}
