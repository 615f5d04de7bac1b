/**
 * Stop store: the emergency stop. Anyone who may act or approve can pull it; it holds through restarts, and only an
 * admin releases it.
 *
 * Does I/O.
 */
import type { Caller } from '../bus/call.ts'
import { callerKey } from '../bus/caller-key.ts'
import type { Database } from '../core/database-store.ts'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { administrationFlaw, stopFlaw } from './authority.ts'
import { redactText } from './secret-text.ts'
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
  readonly database: Database
  readonly transact: Transact
  readonly nowMs: () => number
}): EmergencyStop {
  const { database, transact, nowMs } = options
  let stopped = readState(database)
  /** What the table says counts: a stop and a release may share one group. */
  const follow = (): void => {
    stopped = readState(database)
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
      await transact(({ sql, record, afterwards }) => {
        const { changes } = sql
          .prepare('INSERT INTO guard_stop VALUES (1, ?, ?, ?) ON CONFLICT DO NOTHING')
          .run(state.engagedAtMs, state.by, state.reason)
        if (Number(changes) === 1) record({ kind: 'stop.engaged', by: state.by }, { reason: state.reason })
        afterwards(follow)
      })
      return ok(stopped ?? state)
    },
    release: async (by) => {
      const flaw = administrationFlaw(by)
      if (flaw !== undefined) return fail(flaw)
      await transact(({ sql, record, afterwards }) => {
        const { changes } = sql.prepare('DELETE FROM guard_stop').run()
        if (Number(changes) === 1) record({ kind: 'stop.released', by: callerKey(by) })
        afterwards(follow)
      })
      return ok(undefined)
    },
  }
}

function readState(database: Database): StopState | undefined {
  const row = database.sql.prepare('SELECT engaged_at, engaged_by, reason FROM guard_stop').get()
  if (row === undefined) return undefined
  return { by: String(row['engaged_by']), reason: String(row['reason']), engagedAtMs: Number(row['engaged_at']) }
}
