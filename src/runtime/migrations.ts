/**
 * Migrations: the runtime's tables. What must hold for every writer is written here as constraints and triggers; the
 * tools only say it in friendlier words first.
 *
 * Pure.
 */
import type { Migrations } from '../core/database-store.ts'

/**
 *   audit_sessions 1──n thought_records n──1 tasks ──n task_dependencies
 *          │ 1                 (by task_id, which may name a task of another system: no foreign key)
 *          └──1 merkle_roots
 *
 * Every `log_index` is an entry of the ledger: things are looked up here and believed there.
 * `task_begins` and its neighbours close the gates of spec 5's pipeline for every writer: a task created as DONE would
 * be past all of them, and a reflection from before VERIFY cannot speak of what was verified.
 */
export const runtimeMigrations: Migrations = {
  room: 'runtime',
  steps: [
    `
    -- A session is open until finalized_at is set, once; log_index is its session.start in the ledger.
    CREATE TABLE audit_sessions (
      session_id TEXT PRIMARY KEY,
      intent TEXT NOT NULL,
      task_id TEXT,
      started_at TEXT NOT NULL,
      principal TEXT NOT NULL,
      log_index INTEGER NOT NULL UNIQUE,
      finalized_at TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX audit_sessions_open ON audit_sessions (task_id) WHERE finalized_at IS NULL;
    CREATE TRIGGER session_closes_once BEFORE UPDATE ON audit_sessions
      WHEN OLD.finalized_at IS NOT NULL OR NEW.finalized_at IS NULL OR NEW.session_id <> OLD.session_id
      BEGIN SELECT RAISE(ABORT, 'a session changes once, when it is finalized'); END;
    CREATE TRIGGER session_stays BEFORE DELETE ON audit_sessions
      BEGIN SELECT RAISE(ABORT, 'sessions are never deleted'); END;

    -- seq is the order of recording (times may tie or go back); the words are the body of entry log_index, where they
    -- can be erased. Every other column is a field of that entry.
    CREATE TABLE thought_records (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      type TEXT NOT NULL CHECK (type IN ('plan', 'analysis', 'decision', 'reflection')),
      task_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      session_id TEXT REFERENCES audit_sessions (session_id),
      timestamp TEXT NOT NULL,
      prev_hash TEXT NOT NULL,
      hash TEXT NOT NULL,
      principal TEXT NOT NULL,
      public_key TEXT,
      signature TEXT UNIQUE,
      log_index INTEGER NOT NULL UNIQUE,
      leaf_hash TEXT NOT NULL
    ) STRICT;
    CREATE INDEX thought_records_task ON thought_records (task_id, seq);
    CREATE INDEX thought_records_session ON thought_records (session_id, seq);
    CREATE TRIGGER thought_needs_open_session BEFORE INSERT ON thought_records
      WHEN EXISTS (SELECT 1 FROM audit_sessions WHERE session_id = NEW.session_id AND finalized_at IS NOT NULL)
      BEGIN SELECT RAISE(ABORT, 'the session is finalized'); END;
    CREATE TRIGGER thought_never_changes BEFORE UPDATE ON thought_records
      BEGIN SELECT RAISE(ABORT, 'thought records never change'); END;
    CREATE TRIGGER thought_stays BEFORE DELETE ON thought_records
      BEGIN SELECT RAISE(ABORT, 'thought records are never deleted'); END;

    -- The first key an agent signed with, and the record that said so.
    CREATE TABLE agent_keys (
      agent_id TEXT PRIMARY KEY,
      public_key TEXT NOT NULL,
      log_index INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- What the session.final entry at log_index says: looked up here, believed there.
    CREATE TABLE merkle_roots (
      session_id TEXT PRIMARY KEY REFERENCES audit_sessions (session_id),
      root TEXT NOT NULL,
      record_count INTEGER NOT NULL CHECK (record_count > 0),
      first_index INTEGER NOT NULL,
      last_index INTEGER NOT NULL,
      finalized_at TEXT NOT NULL,
      log_index INTEGER NOT NULL UNIQUE,
      leaf_hash TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER root_never_changes BEFORE UPDATE ON merkle_roots
      BEGIN SELECT RAISE(ABORT, 'roots never change'); END;
    CREATE TRIGGER root_stays BEFORE DELETE ON merkle_roots
      BEGIN SELECT RAISE(ABORT, 'roots are never deleted'); END;

    -- tasks/machine.ts as data; a test holds the two against each other.
    CREATE TABLE task_transitions (
      from_status TEXT NOT NULL,
      to_status TEXT NOT NULL,
      PRIMARY KEY (from_status, to_status)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO task_transitions VALUES
      ('INIT', 'GATHER'), ('GATHER', 'ANALYZE'), ('ANALYZE', 'PLAN'), ('PLAN', 'APPLY'), ('APPLY', 'VERIFY'),
      ('VERIFY', 'DONE'), ('VERIFY', 'GATHER'),
      ('INIT', 'CANCELLED'), ('GATHER', 'CANCELLED'), ('ANALYZE', 'CANCELLED'), ('PLAN', 'CANCELLED'),
      ('APPLY', 'CANCELLED'), ('VERIFY', 'CANCELLED');

    -- log_index is the entry of the last change, verify_index that of the last move into VERIFY: what came after is
    -- decided by the ledger's sequence, not by a clock.
    CREATE TABLE tasks (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      project_id TEXT,
      title TEXT NOT NULL CHECK (title <> ''),
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
      attempt INTEGER NOT NULL CHECK (attempt > 0),
      log_index INTEGER NOT NULL,
      verify_index INTEGER
    ) STRICT;
    CREATE INDEX tasks_open ON tasks (priority_rank, seq) WHERE status NOT IN ('DONE', 'CANCELLED');
    CREATE INDEX tasks_project ON tasks (project_id, seq);
    CREATE INDEX tasks_status ON tasks (status, seq);

    -- Circles are refused by tasks/graph.ts: a trigger cannot walk a graph.
    CREATE TABLE task_dependencies (
      task_id TEXT NOT NULL REFERENCES tasks (id),
      depends_on TEXT NOT NULL REFERENCES tasks (id),
      position INTEGER NOT NULL,
      PRIMARY KEY (task_id, depends_on),
      CHECK (task_id <> depends_on)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX task_dependencies_back ON task_dependencies (depends_on);

    CREATE TRIGGER task_begins BEFORE INSERT ON tasks WHEN NEW.status <> 'INIT' OR NEW.version <> 1
      BEGIN SELECT RAISE(ABORT, 'a task begins as INIT'); END;
    CREATE TRIGGER task_stays BEFORE DELETE ON tasks
      BEGIN SELECT RAISE(ABORT, 'tasks are never deleted'); END;
    CREATE TRIGGER task_counts_changes BEFORE UPDATE ON tasks
      WHEN NEW.version <> OLD.version + 1 OR NEW.id <> OLD.id
      BEGIN SELECT RAISE(ABORT, 'a change of a task raises its version by one'); END;
    CREATE TRIGGER task_takes_no_other_way BEFORE UPDATE OF status ON tasks
      WHEN NEW.status <> OLD.status AND NOT EXISTS (
        SELECT 1 FROM task_transitions WHERE from_status = OLD.status AND to_status = NEW.status
      )
      BEGIN SELECT RAISE(ABORT, 'no such transition'); END;
    CREATE TRIGGER task_waits_for_others BEFORE UPDATE OF status ON tasks
      WHEN NEW.status = 'APPLY' AND OLD.status <> 'APPLY' AND EXISTS (
        SELECT 1 FROM task_dependencies JOIN tasks AS other ON other.id = depends_on
        WHERE task_id = NEW.id AND other.status <> 'DONE'
      )
      BEGIN SELECT RAISE(ABORT, 'a dependency is not done'); END;
    CREATE TRIGGER task_is_written_back BEFORE UPDATE OF status ON tasks
      WHEN NEW.status = 'DONE' AND OLD.status <> 'DONE' AND NOT EXISTS (
        SELECT 1 FROM thought_records
        WHERE task_id = NEW.id AND type = 'reflection' AND log_index > OLD.verify_index
      )
      BEGIN SELECT RAISE(ABORT, 'writeback required'); END;
    CREATE TRIGGER task_says_why BEFORE UPDATE OF status ON tasks
      WHEN NEW.status = 'CANCELLED' AND OLD.status <> 'CANCELLED' AND coalesce(NEW.cancel_reason, '') = ''
      BEGIN SELECT RAISE(ABORT, 'a cancelled task has a reason'); END;

    -- As last seen on disk, so that a change while the node was off is noticed.
    CREATE TABLE skills (
      name TEXT PRIMARY KEY,
      source_path TEXT NOT NULL,
      content_hash TEXT NOT NULL,
      loaded_at TEXT NOT NULL,
      log_index INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- One row that server_health overwrites to see whether writing works.
    CREATE TABLE runtime_probe (id INTEGER PRIMARY KEY CHECK (id = 1), at TEXT NOT NULL) STRICT;
    `,
    `
    -- Erasing words on request blanks them here, too, and changes nothing else: no version, no time, no status.
    -- IS and not =, since what is NULL in a condition lets everything pass.
    DROP TRIGGER session_closes_once;
    CREATE TRIGGER session_closes_once BEFORE UPDATE ON audit_sessions
      WHEN (OLD.finalized_at IS NOT NULL OR NEW.finalized_at IS NULL OR NEW.session_id <> OLD.session_id) AND NOT (
        NEW.intent IS '[erased]' AND NEW.finalized_at IS OLD.finalized_at AND
        (NEW.session_id, NEW.started_at, NEW.principal, NEW.log_index) =
          (OLD.session_id, OLD.started_at, OLD.principal, OLD.log_index) AND NEW.task_id IS OLD.task_id
      )
      BEGIN SELECT RAISE(ABORT, 'a session changes once, when it is finalized'); END;
    DROP TRIGGER task_counts_changes;
    CREATE TRIGGER task_counts_changes BEFORE UPDATE ON tasks
      WHEN (NEW.version <> OLD.version + 1 OR NEW.id <> OLD.id) AND NOT (
        (NEW.seq, NEW.id, NEW.version, NEW.status, NEW.attempt, NEW.created_at, NEW.updated_at, NEW.log_index) =
          (OLD.seq, OLD.id, OLD.version, OLD.status, OLD.attempt, OLD.created_at, OLD.updated_at, OLD.log_index) AND
        NEW.deleted_at IS OLD.deleted_at AND NEW.verify_index IS OLD.verify_index AND
        NEW.title IN (OLD.title, '[erased]') AND
        (NEW.project_id IS OLD.project_id OR NEW.project_id IS '[erased]') AND
        (NEW.description IS OLD.description OR NEW.description IS '[erased]') AND
        (NEW.assignee IS OLD.assignee OR NEW.assignee IS '[erased]') AND
        (NEW.cancel_reason IS OLD.cancel_reason OR NEW.cancel_reason IS '[erased]') AND
        (NEW.priority IS '[erased]' OR NEW.priority IS OLD.priority AND NEW.priority_rank = OLD.priority_rank)
      )
      BEGIN SELECT RAISE(ABORT, 'a change of a task raises its version by one'); END;
    `,
  ],
}
