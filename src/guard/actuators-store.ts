/**
 * Actuator store: how often each device was changed in the last day, on the disk before the change is made, so that a
 * restart does not reset the daily limit.
 *
 * A process counts on its own monotonic clock (limits.ts), so setting the wall clock changes nothing. Only what an
 * earlier process left is dated by the wall clock; a date in the future counts as now.
 *
 * Does I/O.
 */
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { ActuatorUsage } from './limits.ts'
import { DAY_HOURS, HOUR_MS, joinedActs } from './rate.ts'
import type { Transaction } from './transaction-store.ts'

export interface ActuatorStore {
  /** What earlier processes did to each device, on this one's monotonic clock. */
  readonly remembered: () => ReadonlyMap<string, ActuatorUsage>
  readonly countIn: (transaction: Transaction, target: string) => void
  /** Before the first call: rows dated in the future are dated now, or they would never lapse. */
  readonly recoverIn: (transaction: Transaction) => void
  readonly sweepIn: (transaction: Transaction) => void
}

const COUNT = `INSERT INTO guard_actuator VALUES (:target, :hour, :acts, :lastAt)
  ON CONFLICT DO UPDATE SET acts = acts + excluded.acts, last_at = max(last_at, excluded.last_at)`

export function createActuators(database: Database, clock: Clock): ActuatorStore {
  const count = database.sql.prepare(COUNT)
  const ahead = database.sql.prepare(
    'SELECT target, sum(acts) AS acts FROM guard_actuator WHERE last_at > ? GROUP BY target',
  )
  const dropAhead = database.sql.prepare('DELETE FROM guard_actuator WHERE last_at > ?')
  const sweep = database.sql.prepare('DELETE FROM guard_actuator WHERE hour < ?')
  const add = (target: string, acts: number, lastAt: number): void =>
    void count.run({ target, acts, lastAt, hour: hourOf(lastAt) })

  return {
    remembered: () => {
      const byTarget = new Map<string, { lastMs: number; acts: [number, number][] }>()
      for (const row of database.sql.prepare('SELECT target, acts, last_at FROM guard_actuator').all()) {
        const target = String(row['target'])
        // All acts of an hour count as if made with its last one: at most an hour too strict.
        const atMs = clock.monotonic() - Math.max(0, clock.now() - Number(row['last_at']))
        const worn = byTarget.get(target) ?? { lastMs: -Infinity, acts: [] }
        worn.lastMs = Math.max(worn.lastMs, atMs)
        worn.acts.push([atMs, Number(row['acts'])])
        byTarget.set(target, worn)
      }
      return new Map([...byTarget].map(([target, { lastMs, acts }]) => [target, { lastMs, day: joinedActs(acts) }]))
    },
    countIn: ({ nowMs }, target) => add(target, 1, nowMs),
    recoverIn: ({ nowMs }) => {
      const rows = ahead.all(nowMs)
      dropAhead.run(nowMs)
      for (const row of rows) add(String(row['target']), Number(row['acts']), nowMs)
    },
    sweepIn: ({ nowMs }) => void sweep.run(hourOf(nowMs) - DAY_HOURS - 1),
  }
}

function hourOf(wallMs: number): number {
  return Math.floor(wallMs / HOUR_MS)
}
