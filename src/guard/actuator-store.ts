/**
 * Actuator store: how often each device was changed in the last day, by hour, and whether everything is stopped. A change
 * is on record before it is made, so that a restart does not reset the daily limit.
 *
 *   actuator.used ─▶ counted      actuator.redated ─▶ what the clock had dated ahead counts as now
 *   stop.engaged ─▶ stop.released
 *
 * The reason of a stop is the body of the entry `seq`. A process counts on its own monotonic clock (limits.ts), so
 * setting the wall clock changes nothing. Only what an earlier process left is dated by the wall clock; a date in the
 * future counts as now.
 */
import { readEntryTime, readEntryText, readEntryTexts } from '../ledger/entry.ts'
import type { ApplyEntry } from '../ledger/projection.ts'
import type { GuardState } from './guard-state.ts'
import { refuseAdmin } from './principal-state.ts'
import { DAY_HOURS, HOUR_MS, joinActs } from './limits.ts'
import type { Clock } from '../core/clock.ts'
import type { ActuatorUsage } from './limits.ts'
import type { Transaction, TransactionRunner } from './transaction-store.ts'
import type { Caller } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { refuseAdministration, refuseStop } from './authority.ts'
import { redactText } from './secrets.ts'
import { readEntryWords } from '../ledger/state-log.ts'
import type { ProjectionLog } from '../ledger/state-log.ts'

/** All changes of an hour are dated with its last one: at most an hour too strict. */
export interface HourlyActuatorUsage {
  readonly hour: number
  readonly acts: number
  readonly lastAtMs: number
}

export interface EngagedStop {
  readonly by: string
  readonly engagedAtMs: number
  readonly seq: number
}

/** There is one stop. */
export const EMERGENCY_STOP_KEY = 'stop'

export const actuatorEntryHandlers: Readonly<Record<string, ApplyEntry<GuardState>>> = {
  'actuator.used': (state, entry) => {
    const target = readEntryText(entry, 'target')
    if (target === undefined) return 'it names no device'
    const atMs = readEntryTime(entry)
    for (const used of [target, ...readEntryTexts(entry, 'also')]) countUse(state, used, atMs)
    return undefined
  },

  'actuator.redated': (state, entry) => {
    const target = readEntryText(entry, 'target')
    const hours = target === undefined ? undefined : state.actuators.get(target)
    if (target === undefined || hours === undefined) return 'no such device was changed'
    const atMs = readEntryTime(entry)
    const acts = hours.filter(({ lastAtMs }) => lastAtMs > atMs).reduce((sum, hour) => sum + hour.acts, 0)
    const past = hours.filter(({ lastAtMs }) => lastAtMs <= atMs)
    state.actuators.set(target, acts === 0 ? past : added(past, acts, atMs))
    return undefined
  },

  'stop.engaged': (state, entry) => {
    const by = readEntryText(entry, 'by')
    if (by === undefined) return 'it does not say who stopped everything'
    if (state.stop.has(EMERGENCY_STOP_KEY)) return 'everything was stopped before'
    state.stop.set(EMERGENCY_STOP_KEY, { by, engagedAtMs: readEntryTime(entry), seq: entry.seq })
    return undefined
  },

  'stop.released': (state, entry) => {
    if (!state.stop.has(EMERGENCY_STOP_KEY)) return 'nothing was stopped'
    const unlawful = refuseAdmin(state, entry)
    if (unlawful !== undefined) return unlawful
    state.stop.delete(EMERGENCY_STOP_KEY)
    return undefined
  },
}

function countUse({ actuators }: GuardState, target: string, atMs: number): void {
  const hours = actuators.get(target) ?? []
  // Last, so that those which were not changed for a day are found first.
  actuators.delete(target)
  actuators.dropLapsed((used) => listCountedHours(used, atMs).length === 0)
  actuators.set(target, added(listCountedHours(hours, atMs), 1, atMs))
}

/** Those hours of which something still counts towards the day. */
export function listCountedHours(hours: readonly HourlyActuatorUsage[], atMs: number): readonly HourlyActuatorUsage[] {
  return hours.filter(({ hour }) => hour >= hourOf(atMs) - DAY_HOURS - 1)
}

function added(hours: readonly HourlyActuatorUsage[], acts: number, atMs: number): readonly HourlyActuatorUsage[] {
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
  return Math.floor(wallMs / HOUR_MS)
}

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
        const hours = listCountedHours(all, clock.now())
        if (hours.length === 0) continue
        const acts = hours.map(({ acts: count, lastAtMs }): [number, number] => [
          clock.monotonic() - Math.max(0, clock.now() - lastAtMs),
          count,
        ])
        used.set(target, { lastMs: Math.max(...acts.map(([atMs]) => atMs)), day: joinActs(acts) })
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

// Stop store: the emergency stop. Anyone who may act or approve can pull it; it holds through restarts, and only an
// admin releases it.

interface StopState {
  readonly by: string
  readonly reason: string
  readonly engagedAtMs: number
}

export interface EmergencyStop {
  /** `undefined` while nothing is stopped. */
  readonly state: () => StopState | undefined
  readonly engage: (by: Caller, reason: string) => Promise<Result<StopState, Fault>>
  readonly release: (by: Caller) => Promise<Result<void, Fault>>
}

const MAX_REASON = 500

export function createEmergencyStop(options: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLog, 'body'>
  readonly transact: TransactionRunner
  readonly nowMs: () => number
}): EmergencyStop {
  const { state: guard, log, transact, nowMs } = options
  let stopped = engagedIn(guard, log)
  /** What the log says counts: a stop and a release may share one group. */
  const follow = (): void => {
    stopped = engagedIn(guard, log)
  }

  return {
    state: () => stopped,
    engage: async (by, reason) => {
      const flaw = refuseStop(by)
      if (flaw !== undefined) return fail(flaw)
      const state: StopState = {
        by: callerKey(by),
        reason: redactText(reason.slice(0, MAX_REASON)).toWellFormed() || 'no reason given',
        engagedAtMs: nowMs(),
      }
      // At once, not when the disk has it: what comes in meanwhile is refused already.
      stopped ??= state
      await transact(({ record, afterwards }) => {
        if (!guard.stop.has(EMERGENCY_STOP_KEY))
          record({ kind: 'stop.engaged', by: state.by }, { reason: state.reason })
        afterwards(follow)
      })
      return ok(stopped ?? state)
    },
    release: async (by) => {
      const flaw = refuseAdministration(by)
      if (flaw !== undefined) return fail(flaw)
      await transact(({ record, afterwards }) => {
        if (guard.stop.has(EMERGENCY_STOP_KEY)) record({ kind: 'stop.released', by: callerKey(by) })
        afterwards(follow)
      })
      return ok(undefined)
    },
  }
}

function engagedIn({ stop }: GuardState, log: Pick<ProjectionLog, 'body'>): StopState | undefined {
  const engaged = stop.get(EMERGENCY_STOP_KEY)
  if (engaged === undefined) return undefined
  const reason = readEntryWords(log, engaged.seq)?.['reason']
  const { by, engagedAtMs } = engaged
  return { by, engagedAtMs, reason: typeof reason === 'string' ? reason : 'the reason cannot be read' }
}
