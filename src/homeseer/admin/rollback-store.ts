/**
 * Rollback store: acts of administration that can be taken back, each as the call that does it, used at most once.
 *
 * Does I/O.
 */
import type { Database, Migrations } from '../../core/database-store.ts'
import { ulid } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { AdminDomain } from '../tools/rules.ts'

export const rollbackMigrations: Migrations = {
  room: 'homeseer-rollback',
  steps: [
    `CREATE TABLE homeseer_rollback (
       id TEXT PRIMARY KEY,
       state TEXT NOT NULL CHECK (state IN ('available', 'used')),
       domain TEXT NOT NULL,
       tool TEXT NOT NULL,
       undoes TEXT NOT NULL,
       args TEXT NOT NULL,
       made_at_ms INTEGER NOT NULL
     ) STRICT`,
  ],
}

export interface Rollback {
  readonly id: string
  readonly state: 'available' | 'used'
  readonly domain: AdminDomain
  /** The tool that takes it back, with its arguments. */
  readonly tool: string
  readonly args: JsonObject
  /** The tool whose act it takes back. */
  readonly undoes: string
}

/** Old ones make room: a state of months ago is not what anybody wants back. */
const MAX_KEPT = 500

export interface Rollbacks {
  /** Answers with the id that `hs4.admin.rollback` takes. */
  readonly keep: (rollback: Omit<Rollback, 'id' | 'state'>, nowMs: number) => Promise<string>
  readonly get: (id: string) => Rollback | undefined
  /** Of any number of takers, one gets `true`. */
  readonly take: (id: string) => Promise<boolean>
  /** After a taking under which nothing was tried. */
  readonly giveBack: (id: string) => Promise<void>
}

export function createRollbacks(database: Database): Rollbacks {
  const select = database.sql.prepare('SELECT * FROM homeseer_rollback WHERE id = ?')
  return {
    keep: (rollback, nowMs) =>
      database.commit((sql) => {
        // Ids sort by time, so the oldest are also the first to go.
        const id = ulid(nowMs)
        const { domain, tool, undoes, args } = rollback
        sql
          .prepare(`INSERT INTO homeseer_rollback VALUES (?, 'available', ?, ?, ?, ?, ?)`)
          .run(id, domain, tool, undoes, JSON.stringify(args), nowMs)
        sql
          .prepare(
            'DELETE FROM homeseer_rollback WHERE id NOT IN (SELECT id FROM homeseer_rollback ORDER BY id DESC LIMIT ?)',
          )
          .run(MAX_KEPT)
        return id
      }),
    get: (id) => {
      const row = select.get(id)
      if (row === undefined) return undefined
      return {
        id,
        state: row['state'] as Rollback['state'],
        domain: row['domain'] as AdminDomain,
        tool: String(row['tool']),
        undoes: String(row['undoes']),
        args: JSON.parse(String(row['args'])) as JsonObject,
      }
    },
    take: (id) => database.commit((sql) => setState(sql, id, 'used', 'available')),
    giveBack: async (id) => {
      await database.commit((sql) => setState(sql, id, 'available', 'used'))
    },
  }
}

/** Compare and set: `false` when somebody else was first. */
function setState(sql: Database['sql'], id: string, to: Rollback['state'], from: Rollback['state']): boolean {
  return (
    sql.prepare('UPDATE homeseer_rollback SET state = ? WHERE id = ? AND state = ?').run(to, id, from).changes === 1
  )
}
