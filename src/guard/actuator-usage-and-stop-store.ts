/**
 * Actuator usage and stop store: how often each device was changed in the last day, by hour, and whether everything is
 * stopped. A change is on record before it is made, so that a restart does not reset the daily limit.
 *
 *   actuator.used ─▶ counted      actuator.redated ─▶ entries that are dated in the future count as now
 *   stop.engaged ─▶ stop.released
 *
 * The reason of a stop is the body of the entry `seq`. A process counts on its own monotonic clock (limits.ts), so
 * setting the wall clock changes nothing. Only changes of an earlier process are dated by the wall clock; a date in the
 * future counts as now.
 */
import { readEntryTime, readEntryTextField, readEntryTextListFieldOrEmpty } from '../ledger/entry.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import type { GuardState } from './guard-state.ts'
import { explainEntryNotByAdmin } from './principal-state.ts'
import { HOURS_PER_DAY, MS_PER_HOUR, groupActsByHour } from './limits.ts'
import type { Clock } from '../core/clock.ts'
import type { ActuatorUsage } from './limits.ts'
import type { GuardTransaction, GuardTransactionRunner } from './guard-transaction-store.ts'
import type { Caller } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import {
  explainAdministrationRefusal,
  explainEmergencyStopActivationRefusal,
} from './administration-and-record-rights.ts'
import { truncateAndRedactText } from './secret-detection.ts'
import { readEntryBodyFields } from '../ledger/projection-log.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'

/** The changes of one hour, all dated with the last of them: the limit is at most an hour too strict. */
export interface ActuatorUsageOfHour {
  readonly hour: number
  readonly acts: number
  readonly lastAtMs: number
}

export interface EngagedEmergencyStop {
  readonly by: string
  readonly engagedAtMs: number
  readonly seq: number
}

/** There is only one emergency stop. */
export const EMERGENCY_STOP_STATE_KEY = 'stop'

export const actuatorAndStopEntryHandlers: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'actuator.used': (state, entry) => {
    const target = readEntryTextField(entry, 'target')
    if (target === undefined) return 'it names no device'
    const atMs = readEntryTime(entry)
    for (const used of [target, ...readEntryTextListFieldOrEmpty(entry, 'also')]) countUse(state, used, atMs)
    return undefined
  },

  'actuator.redated': (state, entry) => {
    const target = readEntryTextField(entry, 'target')
    const hours = target === undefined ? undefined : state.actuators.get(target)
    if (target === undefined || hours === undefined) return 'no such device was changed'
    const atMs = readEntryTime(entry)
    const acts = hours.filter(({ lastAtMs }) => lastAtMs > atMs).reduce((sum, hour) => sum + hour.acts, 0)
    const past = hours.filter(({ lastAtMs }) => lastAtMs <= atMs)
    state.actuators.set(target, acts === 0 ? past : added(past, acts, atMs))
    return undefined
  },

  'stop.engaged': (state, entry) => {
    const by = readEntryTextField(entry, 'by')
    if (by === undefined) return 'it does not say who stopped everything'
    if (state.stop.has(EMERGENCY_STOP_STATE_KEY)) return 'everything was stopped before'
    state.stop.set(EMERGENCY_STOP_STATE_KEY, { by, engagedAtMs: readEntryTime(entry), seq: entry.seq })
    return undefined
  },

  'stop.released': (state, entry) => {
    if (!state.stop.has(EMERGENCY_STOP_STATE_KEY)) return 'nothing was stopped'
    const unlawful = explainEntryNotByAdmin(state, entry)
    if (unlawful !== undefined) return unlawful
    state.stop.delete(EMERGENCY_STOP_STATE_KEY)
    return undefined
  },
}

function countUse({ actuators }: GuardState, target: string, atMs: number): void {
  const hours = actuators.get(target) ?? []
  // The entry is added last, so that actuators which were not changed for a day come first in the map.
  actuators.delete(target)
  actuators.dropLapsed((used) => listHoursOfLastDay(used, atMs).length === 0)
  actuators.set(target, added(listHoursOfLastDay(hours, atMs), 1, atMs))
}

/** The hours that still count towards the daily limit. */
function listHoursOfLastDay(hours: readonly ActuatorUsageOfHour[], atMs: number): readonly ActuatorUsageOfHour[] {
  return hours.filter(({ hour }) => hour >= hourOf(atMs) - HOURS_PER_DAY - 1)
}

function added(hours: readonly ActuatorUsageOfHour[], acts: number, atMs: number): readonly ActuatorUsageOfHour[] {
  const hour = hourOf(atMs)
  const before = hours.find((each) => each.hour === hour)
  const now = {
    hour,
    acts: (before?.acts ?? 0) + acts,
    lastAtMs: Math.max(before?.lastAtMs ?? -Infinity, atMs),
  }
  return [...hours.filter((each) => each.hour !== hour), now]
}

function hourOf(wallMs: number): number {
  return Math.floor(wallMs / MS_PER_HOUR)
}

export interface ActuatorUsageStore {
  /** The changes that earlier processes made to each device, converted to this process's monotonic clock. */
  readonly remembered: () => ReadonlyMap<string, ActuatorUsage>
  readonly countIn: (transaction: GuardTransaction, targets: readonly string[]) => void
  /** Before the first call: entries that are dated in the future are dated now, or they would never lapse. */
  readonly recoverIn: (transaction: GuardTransaction) => void
}

/** Names of at most 512 characters each, in an entry of at most 64 KB. */
const MAX_PER_ENTRY = 60

export function createActuatorUsageStore({ actuators }: GuardState, clock: Clock): ActuatorUsageStore {
  return {
    remembered: () => {
      const used = new Map<string, ActuatorUsage>()
      for (const [target, all] of actuators.entries()) {
        const hours = listHoursOfLastDay(all, clock.now())
        if (hours.length === 0) continue
        const acts = hours.map(({ acts: count, lastAtMs }): [number, number] => [
          clock.monotonic() - Math.max(0, clock.now() - lastAtMs),
          count,
        ])
        used.set(target, { lastMs: Math.max(...acts.map(([atMs]) => atMs)), day: groupActsByHour(acts) })
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

// Emergency stop: anyone who may act or approve can engage it; it stays engaged through restarts, and only an admin
// releases it.

interface StopState {
  readonly by: string
  readonly reason: string
  readonly engagedAtMs: number
}

export interface EmergencyStopControl {
  /** `undefined` while nothing is stopped. */
  readonly state: () => StopState | undefined
  readonly engage: (by: Caller, reason: string) => Promise<Result<StopState, Fault>>
  readonly release: (by: Caller) => Promise<Result<void, Fault>>
}

const MAX_REASON = 500

export function createEmergencyStopControl(options: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLogWriter, 'body'>
  readonly transact: GuardTransactionRunner
  readonly nowMs: () => number
}): EmergencyStopControl {
  const { state: guard, log, transact, nowMs } = options
  let stopped = engagedIn(guard, log)
  /** The state follows the log, because a stop and a release may be in one group. */
  const follow = (): void => {
    stopped = engagedIn(guard, log)
  }

  return {
    state: () => stopped,
    engage: async (by, reason) => {
      const flaw = explainEmergencyStopActivationRefusal(by)
      if (flaw !== undefined) return fail(flaw)
      const state: StopState = {
        by: toCallerKey(by),
        reason: truncateAndRedactText(reason, MAX_REASON) || 'no reason given',
        engagedAtMs: nowMs(),
      }
      // The stop takes effect before it is on the disk: calls that arrive meanwhile are already refused.
      stopped ??= state
      await transact(({ record, afterwards }) => {
        if (!guard.stop.has(EMERGENCY_STOP_STATE_KEY))
          record({ kind: 'stop.engaged', by: state.by }, { reason: state.reason })
        afterwards(follow)
      })
      return ok(stopped ?? state)
    },
    release: async (by) => {
      const flaw = explainAdministrationRefusal(by)
      if (flaw !== undefined) return fail(flaw)
      await transact(({ record, afterwards }) => {
        if (guard.stop.has(EMERGENCY_STOP_STATE_KEY)) record({ kind: 'stop.released', by: toCallerKey(by) })
        afterwards(follow)
      })
      return ok(undefined)
    },
  }
}

function engagedIn({ stop }: GuardState, log: Pick<ProjectionLogWriter, 'body'>): StopState | undefined {
  const engaged = stop.get(EMERGENCY_STOP_STATE_KEY)
  if (engaged === undefined) return undefined
  const reason = readEntryBodyFields(log, engaged.seq)?.['reason']
  const { by, engagedAtMs } = engaged
  return { by, engagedAtMs, reason: typeof reason === 'string' ? reason : 'the reason cannot be read' }
}
