/**
 * Rollback store: the calls that undo administration calls, each used at most once.
 *
 * The log has their ids and whether they were used. The arguments may be private and are only needed for a while, so
 * they are in a table, and the log has their salted hash: arguments with another hash count as missing.
 */
import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { concatBytes, toUtf8 } from '../../core/bytes.ts'
import { randomBytes, newUlid } from '../../core/ids.ts'
import type { Database, ModuleMigrations } from '../../core/database-store.ts'
import { canonicalJson, isJsonObject, parseJsonOrUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import type { StoredContentCheck } from '../../ledger/projection.ts'
import type { ProjectionLogWriter } from '../../ledger/projection-log.ts'
import { homeseerProjection } from '../homeseer-state.ts'
import type { RecordedRollback } from '../homeseer-state.ts'

export const rollbackMigrations: ModuleMigrations = {
  module: 'homeseer-rollback',
  steps: ['CREATE TABLE homeseer_rollback (id TEXT PRIMARY KEY, salt BLOB NOT NULL, args TEXT NOT NULL) STRICT'],
}

export interface AdminRollback extends Omit<RecordedRollback, 'argsHash'> {
  /** The arguments with which the undoing tool is called. */
  readonly args: JsonObject
}

const SALT_BYTES = 32

export interface AdminRollbackStore {
  /** Stores a rollback and returns the id that `hs4.admin.rollback` takes. */
  readonly store: (rollback: Omit<AdminRollback, 'id' | 'state'>, nowMs: number) => Promise<string>
  readonly get: (id: string) => AdminRollback | undefined
  /** Takes a rollback; of concurrent callers, one gets `true`. */
  readonly take: (id: string) => Promise<boolean>
  /** Returns a rollback that was taken and not tried. */
  readonly giveBack: (id: string) => Promise<void>
}

export function createAdminRollbackStore(database: Database, log: ProjectionLogWriter): AdminRollbackStore {
  const { rollbacks } = log.projections.state(homeseerProjection)
  const select = database.sql.prepare('SELECT salt, args FROM homeseer_rollback WHERE id = ?')
  return {
    store: ({ domain, tool, undoes, args }, nowMs) =>
      database.commit((sql) => {
        const id = newUlid(nowMs)
        const salt = randomBytes(SALT_BYTES)
        const text = canonicalJson(args)
        log.appendIn({ kind: 'rollback.kept', rollback: id, domain, tool, undoes, args_hash: argsHash(salt, text) })
        sql.prepare('INSERT INTO homeseer_rollback VALUES (?, ?, ?)').run(id, salt, text)
        // Deletes the arguments of rollbacks that were dropped from the state.
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
      const { argsHash: _, ...stored } = rollback
      return isJsonObject(args) ? { ...stored, args } : undefined
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

/** Compares the stored arguments with the hashes in the log. Arguments of a dropped rollback may be missing. */
export function createRollbackArgumentsCheck(sql: DatabaseSync): StoredContentCheck {
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
