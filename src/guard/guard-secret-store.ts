/**
 * Guard secret: the two tables of the guard that are not in the log: the key of its hashes, to which the log commits,
 * and when each token was last used, which decides nothing. Everything that decides is the log's (guard-state.ts).
 *
 * Does I/O through the database that runs the migrations.
 */
import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { ModuleMigrations } from '../core/database-store.ts'
import type { StoredContentCheck } from '../ledger/projection.ts'
import { GUARD_SECRET_COMMITMENT_FIELD, guardProjection } from './guard-state.ts'
import type { GuardState } from './guard-state.ts'

export const guardMigrations: ModuleMigrations = {
  module: 'guard',
  steps: [
    `
    -- Keys the hashes of arguments: a four-digit code behind a plain hash would be guessed in a blink.
    CREATE TABLE guard_secret (id INTEGER PRIMARY KEY CHECK (id = 1), hash_key BLOB NOT NULL) STRICT;
    INSERT INTO guard_secret VALUES (1, randomblob(32));
    CREATE TABLE guard_token_use (hash TEXT PRIMARY KEY, last_used_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    `,
  ],
}

/** The message says what to do. */
export class GuardSecretChangedError extends Error {}

/**
 * The key of the argument hashes, created with the tables and never shown. Throws when it is not the one that the log
 * commits to: approvals, grants and idempotency keys are bound to hashes made with it.
 */
export function readGuardHashKey(sql: DatabaseSync, { secrets }: GuardState): Uint8Array {
  const key = sql.prepare('SELECT hash_key FROM guard_secret WHERE id = 1').get()?.['hash_key']
  if (!(key instanceof Uint8Array)) throw new Error('the guard has no hash key; were its migrations run?')
  const committed = secrets.get(GUARD_SECRET_COMMITMENT_FIELD)
  if (committed !== undefined && committed !== computeSecretCommitment(key))
    throw new GuardSecretChangedError(
      'The guard’s secret in the database is not the one that the ledger commits to: somebody changed it. Restore the newest copy of the database.',
    )
  return key
}

/** Checks the stored secret against the commitment in the log. */
export function createGuardSecretCheck(sql: DatabaseSync): StoredContentCheck {
  return (state) => {
    try {
      readGuardHashKey(sql, state(guardProjection))
      return []
    } catch {
      return [{ kind: 'copy-unfounded', what: 'secret of the guard', id: 'that is stored' }]
    }
  }
}

/** The key has 256 random bits, which cannot be guessed, so a plain hash hides it. */
export function computeSecretCommitment(key: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from('hearthbus guard secret\n'), key]))
}
