/**
 * Stop store: the emergency stop. Anyone who may act or approve can pull it; it holds through restarts, and only an
 * admin releases it.
 *
 * Does I/O.
 */
import type { Caller } from '../bus/call.ts'
import { callerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { STOP } from './actuator-store.ts'
import { administrationFlaw, stopFlaw } from './authority.ts'
import type { GuardState } from './guard-state.ts'
import { redactText } from './secrets.ts'
import { wordsOf } from '../ledger/state-log.ts'
import type { StateLog } from '../ledger/state-log.ts'
import type { Transact } from './transaction-store.ts'

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
  readonly log: Pick<StateLog, 'body'>
  readonly transact: Transact
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
      const flaw = stopFlaw(by)
      if (flaw !== undefined) return fail(flaw)
      const state: StopState = {
        by: callerKey(by),
        reason: redactText(reason.slice(0, MAX_REASON)).toWellFormed() || 'no reason given',
        engagedAtMs: nowMs(),
      }
      // At once, not when the disk has it: what comes in meanwhile is refused already.
      stopped ??= state
      await transact(({ record, afterwards }) => {
        if (!guard.stop.has(STOP)) record({ kind: 'stop.engaged', by: state.by }, { reason: state.reason })
        afterwards(follow)
      })
      return ok(stopped ?? state)
    },
    release: async (by) => {
      const flaw = administrationFlaw(by)
      if (flaw !== undefined) return fail(flaw)
      await transact(({ record, afterwards }) => {
        if (guard.stop.has(STOP)) record({ kind: 'stop.released', by: callerKey(by) })
        afterwards(follow)
      })
      return ok(undefined)
    },
  }
}

function engagedIn({ stop }: GuardState, log: Pick<StateLog, 'body'>): StopState | undefined {
  const engaged = stop.get(STOP)
  if (engaged === undefined) return undefined
  const reason = wordsOf(log, engaged.seq)?.['reason']
  const { by, engagedAtMs } = engaged
  return { by, engagedAtMs, reason: typeof reason === 'string' ? reason : 'the reason cannot be read' }
}
