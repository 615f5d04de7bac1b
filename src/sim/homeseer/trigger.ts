/**
 * Trigger: when an event of the simulated HomeSeer runs by itself.
 *
 *   a value is written (control, memory, a hand on the switch) ─▶ groups of triggers ─▶ one group fits ─▶ run
 *
 * Groups are alternatives. Within a group the first trigger starts it and the others are conditions on the state at
 * that moment. `set` fires whenever a value is written, changed or not; `has-been` fires when a value has stayed for a
 * while.
 */
export interface SimulatedTrigger {
  /** `undefined` is any device. */
  readonly ref: number | undefined
  readonly kind: 'equals' | 'not-equals' | 'above' | 'below' | 'range' | 'any-change' | 'set' | 'has-been'
  readonly value?: number
  readonly end?: number
  /** For `has-been`. */
  readonly forMs?: number
}

export interface DeviceValueWrite {
  readonly ref: number
  readonly value: number
  readonly previous: number
}

/** Whether this write starts it. Triggers that wait for a while are not started by a write. */
export function isTriggeredByWrite(trigger: SimulatedTrigger, { ref, value, previous }: DeviceValueWrite): boolean {
  if (trigger.ref !== undefined && trigger.ref !== ref) return false
  if (trigger.kind === 'set') return trigger.value === undefined || trigger.value === value
  if (trigger.kind === 'has-been' || value === previous) return false
  return trigger.kind === 'any-change' || isTriggerConditionMetByValue(trigger, value)
}

/** Whether it is true now, for the conditions of a group, and for states that have to last. */
export function isTriggerConditionMetByValue(trigger: SimulatedTrigger, value: number | undefined): boolean {
  const { value: wanted = 0, end = wanted } = trigger
  if (value === undefined) return false
  switch (trigger.kind) {
    case 'not-equals':
      return value !== wanted
    case 'above':
      return value > wanted
    case 'below':
      return value < wanted
    case 'range':
      return value >= wanted && value <= end
    case 'any-change':
      return true
    default:
      return value === wanted
  }
}
