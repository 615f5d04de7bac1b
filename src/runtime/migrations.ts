/**
 * Migrations: the runtime's tables. They are copies of the log (runtime-cache-store.ts) for queries; rules for every
 * writer are checked where entries are applied (runtime-state.ts).
 */
import type { ModuleMigrations } from '../core/database-store.ts'

/**
 *   audit_sessions 1──n thought_records n──1 tasks ──n task_dependencies
 *          │ 1                 (by task_id)
 *          └──1 merkle_roots
 *
 * Every `log_index` is an entry of the ledger, and every `seq` the one that created the row, which orders them.
 */
export const runtimeMigrations: ModuleMigrations = {
  module: 'runtime',
  steps: [
    `
    CREATE TABLE audit_sessions (
      session_id TEXT PRIMARY KEY,
      intent TEXT NOT NULL,
      task_id TEXT,
      started_at TEXT NOT NULL,
      principal TEXT NOT NULL,
      client TEXT,
      log_index INTEGER NOT NULL UNIQUE,
      finalized_at TEXT
    ) STRICT, WITHOUT ROWID;

    -- The words are the body of entry log_index, where they can be erased. Every other column is a field of that entry.
    CREATE TABLE thought_records (
      seq INTEGER NOT NULL UNIQUE,
      id TEXT PRIMARY KEY,
      type TEXT NOT NULL,
      task_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      session_id TEXT,
      timestamp TEXT NOT NULL,
      prev_hash TEXT NOT NULL,
      hash TEXT NOT NULL,
      principal TEXT NOT NULL,
      client TEXT,
      public_key TEXT,
      signature TEXT,
      log_index INTEGER NOT NULL UNIQUE,
      leaf_hash TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX thought_records_task ON thought_records (task_id, seq);
    CREATE INDEX thought_records_session ON thought_records (session_id, seq);

    -- What the session.final entry at log_index says.
    CREATE TABLE merkle_roots (
      session_id TEXT PRIMARY KEY,
      root TEXT NOT NULL,
      record_count INTEGER NOT NULL,
      first_index INTEGER NOT NULL,
      last_index INTEGER NOT NULL,
      finalized_at TEXT NOT NULL,
      log_index INTEGER NOT NULL UNIQUE,
      leaf_hash TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- log_index is the entry of the last change, verify_index that of the last move into VERIFY, set_by the entries
    -- whose bodies have the words.
    CREATE TABLE tasks (
      seq INTEGER NOT NULL UNIQUE,
      id TEXT PRIMARY KEY,
      project_id TEXT,
      title TEXT NOT NULL,
      description TEXT,
      status TEXT NOT NULL,
      priority TEXT,
      priority_rank INTEGER NOT NULL,
      assignee TEXT,
      cancel_reason TEXT,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      deleted_at TEXT,
      version INTEGER NOT NULL,
      attempt INTEGER NOT NULL,
      log_index INTEGER NOT NULL,
      verify_index INTEGER,
      set_by TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tasks_open ON tasks (priority_rank, seq) WHERE status NOT IN ('DONE', 'CANCELLED');
    CREATE INDEX tasks_project ON tasks (project_id, seq);
    CREATE INDEX tasks_status ON tasks (status, seq);

    CREATE TABLE task_dependencies (
      task_id TEXT NOT NULL,
      depends_on TEXT NOT NULL,
      position INTEGER NOT NULL,
      log_index INTEGER NOT NULL,
      PRIMARY KEY (task_id, depends_on)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX task_dependencies_back ON task_dependencies (depends_on);

    -- One row that server_health overwrites to see whether writing works.
    CREATE TABLE runtime_probe (id INTEGER PRIMARY KEY CHECK (id = 1), at TEXT NOT NULL) STRICT;
    `,
  ],
}
