/**
 * Schema: the guard's tables. Times are wall-clock milliseconds, hashes hex or raw SHA-256, documents JSON text.
 *
 * Does I/O, through whoever runs the migrations.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Migrations } from '../core/database-store.ts'

const FIRST = `
  -- Keys the hashes of arguments: a four-digit code behind a plain hash would be guessed in a blink.
  CREATE TABLE guard_secret (id INTEGER PRIMARY KEY CHECK (id = 1), hash_key BLOB NOT NULL) STRICT;
  INSERT INTO guard_secret VALUES (1, randomblob(32));

  CREATE TABLE guard_token (
    hash BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('observer', 'agent', 'approver', 'admin')),
    restrictions TEXT,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX guard_token_live ON guard_token (name) WHERE revoked_at IS NULL;

  CREATE TABLE guard_approval (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('requested', 'approved', 'denied', 'expired', 'used')),
    principal TEXT NOT NULL,
    tool TEXT NOT NULL,
    args_hash TEXT NOT NULL,
    -- Pointer to hash of every argument; absent when there are too many for a grant.
    leaves TEXT,
    -- The rest of what the approval is bound to, and what the approver is shown.
    binding TEXT NOT NULL,
    shown TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by TEXT,
    reason TEXT,
    used_at INTEGER,
    used_trace TEXT,
    grant_id TEXT
  ) STRICT;
  CREATE INDEX guard_approval_call ON guard_approval (principal, tool, args_hash);
  CREATE INDEX guard_approval_state ON guard_approval (state, expires_at);

  CREATE TABLE guard_grant (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    tool TEXT NOT NULL,
    target TEXT,
    definition_hash TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    -- Pointer to hash of every argument that must stay as it was approved, and the bounds of those that may vary.
    frame TEXT NOT NULL,
    bounds TEXT NOT NULL,
    free TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    granted_by TEXT NOT NULL,
    granted_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    max_uses INTEGER NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0 CHECK (uses <= max_uses),
    ended_at INTEGER,
    ended_because TEXT
  ) STRICT;
  CREATE INDEX guard_grant_call ON guard_grant (principal, tool) WHERE ended_at IS NULL;

  CREATE TABLE guard_change (
    hash BLOB PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('prepared', 'committing', 'committed', 'failed', 'unknown')),
    principal TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- Readable only with the token, which is not kept.
    sealed BLOB NOT NULL,
    summary TEXT NOT NULL,
    prepared_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    taken_at INTEGER,
    finished_at INTEGER,
    prepared_seq INTEGER NOT NULL,
    finished_seq INTEGER
  ) STRICT;
  CREATE INDEX guard_change_owner ON guard_change (principal, state, prepared_at);

  CREATE TABLE guard_key (
    hash BLOB PRIMARY KEY,
    principal TEXT NOT NULL,
    capability TEXT NOT NULL,
    args_hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('in-flight', 'done', 'unknown')),
    outcome TEXT,
    reserved_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX guard_key_owner ON guard_key (principal, state, reserved_at);
  CREATE INDEX guard_key_expiry ON guard_key (expires_at);

  CREATE TABLE guard_stop (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    engaged_at INTEGER NOT NULL,
    engaged_by TEXT NOT NULL,
    reason TEXT NOT NULL
  ) STRICT;
`

const ACTUATORS = `
  -- Changes of a device by hour; last_at dates all of them.
  CREATE TABLE guard_actuator (
    target TEXT NOT NULL,
    hour INTEGER NOT NULL,
    acts INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (target, hour)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX guard_actuator_hour ON guard_actuator (hour);
`

export const guardMigrations: Migrations = { room: 'guard', steps: [FIRST, ACTUATORS] }

/** The key of the argument hashes, made with the tables and never shown. */
export function readHashKey(sql: DatabaseSync): Uint8Array {
  const key = sql.prepare('SELECT hash_key FROM guard_secret WHERE id = 1').get()?.['hash_key']
  if (!(key instanceof Uint8Array)) throw new Error('the guard has no hash key; were its migrations run?')
  return key
}
