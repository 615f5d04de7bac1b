/**
 * Actuator store: how often each device was changed in the last day, on record before the change is made, so that a
 * restart does not reset the daily limit.
 *
 * A process counts on its own monotonic clock (limits.ts), so setting the wall clock changes nothing. Only what an
 * earlier process left is dated by the wall clock; a date in the future counts as now.
 *
 * Does I/O.
 */
import type { Clock } from '../core/clock.ts'
import { countingAt } from './actuator-state.ts'
import type { GuardState } from './guard-state.ts'
import type { ActuatorUsage } from './limits.ts'
import { joinedActs } from './day-count.ts'
import type { Transaction } from './transaction-store.ts'

export interface ActuatorStore {
  /** What earlier processes did to each device, on this one's monotonic clock. */
  readonly remembered: () => ReadonlyMap<string, ActuatorUsage>
  readonly countIn: (transaction: Transaction, targets: readonly string[]) => void
  /** Before the first call: what is dated in the future is dated now, or it would never lapse. */
  readonly recoverIn: (transaction: Transaction) => void
}

/** Names of at most 512 characters each, in an entry of at most 64 KB. */
const MAX_PER_ENTRY = 60

export function createActuators({ actuators }: GuardState, clock: Clock): ActuatorStore {
  return {
    remembered: () => {
      const used = new Map<string, ActuatorUsage>()
      for (const [target, all] of actuators.entries()) {
        const hours = countingAt(all, clock.now())
        if (hours.length === 0) continue
        const acts = hours.map(({ acts: count, lastAtMs }): [number, number] => [
          clock.monotonic() - Math.max(0, clock.now() - lastAtMs),
          count,
        ])
        used.set(target, { lastMs: Math.max(...acts.map(([atMs]) => atMs)), day: joinedActs(acts) })
      }
      return used
    },
    countIn: ({ record }, targets) => {
      for (let at = 0; at < targets.length; at += MAX_PER_ENTRY) {
        const [target, ...also] = targets.slice(at, at + MAX_PER_ENTRY)
        record({ kind: 'actuator.used', target, ...(also.length === 0 ? {} : { also }) })
      }
    },
    recoverIn: ({ nowMs, record }) => {
      for (const [target, hours] of actuators.entries())
        if (hours.some(({ lastAtMs }) => lastAtMs > nowMs)) record({ kind: 'actuator.redated', target })
    },
  }
}
