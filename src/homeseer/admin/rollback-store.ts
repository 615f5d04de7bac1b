/**
 * Rollback store: acts of administration that can be taken back, each as the call that does it, used at most once.
 *
 * Which there are, and whether one was used, is the log's. The arguments may be somebody's secrets and are only needed
 * for a while, so they are in a table, under a salted hash that the log has: arguments that have another count as gone.
 */
import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { concatBytes, toUtf8 } from '../../core/bytes.ts'
import { randomBytes, newUlid } from '../../core/ids.ts'
import type { Database, ModuleMigrations } from '../../core/database-store.ts'
import { canonicalJson, isJsonObject, parseJsonOrUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import type { StoredContentAuditor } from '../../ledger/projection.ts'
import type { ProjectionLogWriter } from '../../ledger/projection-log.ts'
import { homeseerProjection } from '../homeseer-state.ts'
import type { RecordedRollback } from '../homeseer-state.ts'

export const rollbackMigrations: ModuleMigrations = {
  room: 'homeseer-rollback',
  steps: ['CREATE TABLE homeseer_rollback (id TEXT PRIMARY KEY, salt BLOB NOT NULL, args TEXT NOT NULL) STRICT'],
}

export interface AdminRollback extends Omit<RecordedRollback, 'argsHash'> {
  /** What the tool that takes it back is called with. */
  readonly args: JsonObject
}

const SALT_BYTES = 32

export interface AdminRollbackStore {
  /** Answers with the id that `hs4.admin.rollback` takes. */
  readonly keep: (rollback: Omit<AdminRollback, 'id' | 'state'>, nowMs: number) => Promise<string>
  readonly get: (id: string) => AdminRollback | undefined
  /** Of any number of takers, one gets `true`. */
  readonly take: (id: string) => Promise<boolean>
  /** After a taking under which nothing was tried. */
  readonly giveBack: (id: string) => Promise<void>
}

export function createAdminRollbackStore(database: Database, log: ProjectionLogWriter): AdminRollbackStore {
  const { rollbacks } = log.projections.state(homeseerProjection)
  const select = database.sql.prepare('SELECT salt, args FROM homeseer_rollback WHERE id = ?')
  return {
    keep: ({ domain, tool, undoes, args }, nowMs) =>
      database.commit((sql) => {
        const id = newUlid(nowMs)
        const salt = randomBytes(SALT_BYTES)
        const text = canonicalJson(args)
        log.appendIn({ kind: 'rollback.kept', rollback: id, domain, tool, undoes, args_hash: argsHash(salt, text) })
        sql.prepare('INSERT INTO homeseer_rollback VALUES (?, ?, ?)').run(id, salt, text)
        // Whatever made room for this one.
        for (const row of sql.prepare('SELECT id FROM homeseer_rollback').all())
          if (!rollbacks.has(String(row['id'])))
            sql.prepare('DELETE FROM homeseer_rollback WHERE id = ?').run(String(row['id']))
        return id
      }),
    get: (id) => {
      const rollback = rollbacks.get(id)
      const row = rollback === undefined ? undefined : select.get(id)
      if (rollback === undefined || row === undefined) return undefined
      const text = String(row['args'])
      const args =
        argsHash(row['salt'] as Uint8Array, text) === rollback.argsHash ? parseJsonOrUndefined(text) : undefined
      const { argsHash: _, ...kept } = rollback
      return isJsonObject(args) ? { ...kept, args } : undefined
    },
    take: (id) =>
      database.commit(() => {
        if (rollbacks.get(id)?.state !== 'available') return false
        log.appendIn({ kind: 'rollback.used', rollback: id })
        return true
      }),
    giveBack: (id) =>
      database.commit(() => {
        if (rollbacks.get(id)?.state === 'used') log.appendIn({ kind: 'rollback.given-back', rollback: id })
      }),
  }
}

/** The arguments that are stored against the hashes that the log has. One that made room may be gone. */
export function createAdminRollbackAudit(sql: DatabaseSync): StoredContentAuditor {
  return (state) => {
    const { rollbacks } = state(homeseerProjection)
    const rows = sql.prepare('SELECT id, salt, args FROM homeseer_rollback').all()
    const found = new Set(rows.map((row) => String(row['id'])))
    const wrong = rows.filter(
      ({ id, salt, args }) => rollbacks.get(String(id))?.argsHash !== argsHash(salt as Uint8Array, String(args)),
    )
    return [
      ...wrong.map(({ id }) => ({ kind: 'copy-unfounded', what: 'rollback', id: String(id) }) as const),
      ...[...rollbacks.values()]
        .filter(({ id }) => !found.has(id))
        .map(({ id }) => ({ kind: 'copy-missing', what: 'rollback', id, seq: 0 }) as const),
    ]
  }
}

function argsHash(salt: Uint8Array, text: string): string {
  return hash('sha256', concatBytes(salt, toUtf8(text)))
}
