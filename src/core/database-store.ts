/**
 * Database: the node's SQLite file and the journal before it, with durability paid once per group.
 *
 *   commit(work) ─┐
 *   commit(work) ─┼─▶ works, in order ─▶ journal: one write, one fdatasync ─▶ COMMIT of the tables ─▶ callers hear
 *   commit(work) ─┘                      whatever is queued meanwhile is the next group
 *
 * The journal (the ledger's log) is durable before the tables commit, so that the tables never hold what the log lacks.
 * A group whose works changed rows syncs the write-ahead log too, before its callers are answered; a group that only
 * appended to the journal opens no transaction at all; a group that wrote nothing syncs nothing. Answers keep the order
 * of the groups: a caller who read what another one wrote learns of it only when that is on the disk.
 *
 * Each work runs in its own savepoint: one that throws undoes only itself. Works run in the order they were given, so
 * what a later one reads is what an earlier one wrote.
 *
 * No slow disk holds up the event loop: SQLite only writes its WAL (synchronous = NORMAL), and it is synced beside the
 * event loop. The journal is synced on the event loop as long as the disk is quick, because handing a sync to a thread and
 * back takes longer than the sync; after slow syncs the next ones run in a thread for a time that keeps the event loop's
 * share small. A transaction stays open while a thread syncs the journal. What reads the tables meanwhile sees a group that
 * is not durable yet; what needs one consistent state of journal and tables uses `view`.
 */
import { closeSync, existsSync, fdatasync, fdatasyncSync, fstatSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { findAlteredSchema, MODULE_VERSION_TABLE_SQL } from './database-schema-check-store.ts'

/**
 * Each module brings its own tables; its migrations are numbered from 1 without gaps and never edited once released.
 */
export interface ModuleMigrations {
  readonly module: string
  readonly steps: readonly string[]
}

export interface DatabaseOpenOptions {
  readonly path: string
  readonly migrations: readonly ModuleMigrations[]
  readonly readOnly?: boolean
  /** These are all migrations: a file that contains anything else is refused before it is touched. */
  readonly isWhole?: boolean
}

export class DatabaseTooNewError extends Error {}

/** The schema is not the one that this program created. */
export class SchemaAlteredError extends Error {}

/** Increased when an older program must not touch the file at all, whatever modules it knows. */
const FORMAT = 1

/** One group takes at most this many works, so that a flood of works cannot postpone the first answer for ever. */
const GROUP_LIMIT = 512

/** The event loop may spend this share of its time on waiting for slow syncs of the journal … */
const SLOW_SYNC_SHARE = 0.005
/** … and this long at once. A disk that is quick in general is slow now and then. */
const SLOW_SYNC_BURST_MS = 20
/** A sync of this length costs the event loop less than handing it to a thread under load. */
const QUICK_SYNC_MS = 1

/**
 * A group waits while more works arrive, up to this many: requests that the event loop has not read yet would have to
 * wait for the sync of the group before theirs, and pay for one of their own.
 */
const GATHERED_WORKS = 128

/** How often to check that the file was not removed. */
const LOOK_EVERY_MS = 1_000

/** How long a deferred work may wait for others to share its group. */
const DEFERRED_MS = 20

/**
 * State in memory that must follow the transaction: it changes while a work runs, and must change back when that work,
 * or its whole group, is undone.
 */
export interface TransactionListener {
  /** A work is about to run. */
  readonly workBegins: () => void
  /** The work that began last was undone, the rest of the group goes on. */
  readonly workUndone: () => void
  /**
   * The group has ended, before any caller is answered; `false` means that everything since the last end was undone.
   */
  readonly groupEnds: (committed: boolean) => void
}

/** An append-only log that is durable before the tables are. */
export interface PreCommitJournal extends TransactionListener {
  /**
   * All works have run. Writes what they appended; `undefined` when that is nothing. With `changedRows` a transaction
   * is open, and its tables differ from what they were before the group.
   */
  readonly writeGroup: (changedRows: boolean) => PendingJournalSync | undefined
  /** Called when a group has committed. The result runs when the group is durable, before its callers are answered. */
  readonly prepareAnswer?: () => (() => void) | undefined
  readonly close: () => void
}

export interface PendingJournalSync {
  readonly later: (done: (error: Error | null) => void) => void
  /** Synchronous, for a close that cannot wait, and for a group of one caller alone. */
  readonly now: () => void
}

export interface CommitOptions {
  /** `false` for a work that only appends to the journal: no transaction is opened for it. */
  readonly tables?: boolean
  /** Nobody waits for it alone: it runs with the next group, or after a short time. */
  readonly deferred?: boolean
}

interface Pending {
  readonly work: (db: DatabaseSync) => unknown
  readonly tables: boolean
  readonly resolve: (value: never) => void
  readonly reject: (reason: unknown) => void
}

interface Settled {
  readonly pending: Pending
  readonly failed: boolean
  readonly value: unknown
}

interface Group {
  readonly pending: readonly Pending[]
  readonly settled: readonly Settled[]
  readonly tables: boolean
  readonly changedRows: boolean
  readonly sync: PendingJournalSync | undefined
}

/** A committed group whose callers have not been answered. */
interface UnansweredGroup {
  readonly settled: readonly Settled[]
  readonly beforeAnswer: (() => void) | undefined
}

export class Database {
  readonly sql: DatabaseSync
  /** The migrations that created its tables. */
  readonly migrations: readonly ModuleMigrations[]
  #queue: Pending[] = []
  readonly #views: (() => void)[] = []
  #scheduled = false
  #deferral: NodeJS.Timeout | undefined
  #closed = false
  #journal: PreCommitJournal | undefined
  readonly #followers: TransactionListener[] = []
  /** Written to the journal and not yet committed to the tables. */
  #group: Group | undefined
  readonly path: string
  #lookedMs = -Infinity
  /** The write-ahead log, to be synced; `undefined` for a database in memory. */
  readonly #wal: number | undefined
  /** Committed but not synced yet, or waiting for an earlier group that is not. */
  #unsynced: UnansweredGroup[] = []
  #walIsDirty = false
  #syncing = false
  readonly #total: StatementSync
  /** The number of changed rows, as of the last group. */
  #changes: unknown
  /**
   * Until then the slow syncs on the event loop have used up its share of time for them: while that is in the future, the
   * journal is synced in a thread.
   */
  #slowSyncsUntilMs = -Infinity
  /** A disk that failed to sync may have lost data: nothing is confirmed after that. */
  #broken: Error | undefined
  /** SQLite's number of the file's content when this process had opened it. */
  readonly #openedVersion: number

  constructor(options: DatabaseOpenOptions) {
    this.path = options.path
    this.migrations = options.migrations
    this.sql = new DatabaseSync(options.path, { readOnly: options.readOnly ?? false })
    this.sql.exec('PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000')
    this.#total = this.sql.prepare('SELECT total_changes() AS total')
    if (options.readOnly === true) {
      this.#openedVersion = readDataVersion(this.sql)
      this.#wal = undefined
      refuseNewer(this.sql, options)
      return
    }
    const mode = this.sql.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
    if (mode !== 'wal' && options.path !== ':memory:')
      throw new Error(`${options.path}: SQLite answered journal mode ${String(mode)} instead of wal`)
    // Deleted or replaced data is overwritten. SQLite would otherwise leave the bytes in free pages and, where a row
    // moves, in its old place: texts that are erased later would leave copies that nobody can find.
    this.sql.exec('PRAGMA secure_delete = ON')
    // With FULL, so that a migration is on the disk before the first work.
    this.sql.exec('PRAGMA synchronous = FULL')
    migrate(this.sql, options)
    this.#openedVersion = readDataVersion(this.sql)
    this.sql.exec('PRAGMA synchronous = NORMAL')
    this.#wal = mode === 'wal' ? openSync(`${options.path}-wal`, 'r') : undefined
    this.#changes = this.#countChanges()
  }

  /** Resolves after the work's group is durable; rejects, with the work undone, when it throws or the disk refuses. */
  commit<Value>(work: (db: DatabaseSync) => Value, options: CommitOptions = {}): Promise<Value> {
    if (this.#closed) return Promise.reject(new Error('the database is closed'))
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    return new Promise<Value>((resolve, reject) => {
      this.#queue.push({ work, tables: options.tables ?? true, resolve, reject })
      if (options.deferred === true) this.#defer()
      else this.#schedule()
    })
  }

  /**
   * 0 until another program writes into the file after it was opened, then a number that changes with each such write.
   * Only the process that holds the lock should write.
   */
  foreignWrites(): number {
    return readDataVersion(this.sql) - this.#openedVersion
  }

  /** Runs between two groups, when journal and tables agree and no transaction is open. */
  view<Value>(read: (db: DatabaseSync) => Value): Promise<Value> {
    if (this.#closed) return Promise.reject(new Error('the database is closed'))
    return new Promise<Value>((resolve, reject) => {
      this.#views.push(() => {
        try {
          resolve(read(this.sql))
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)))
        }
      })
      this.#schedule()
    })
  }

  /** There is one journal at a time; a new one replaces it. */
  useJournal(journal: PreCommitJournal): void {
    if (this.#journal !== undefined) this.#followers.splice(this.#followers.indexOf(this.#journal), 1)
    this.#journal = journal
    this.#followers.push(journal)
  }

  follow(follower: TransactionListener): void {
    this.#followers.push(follower)
  }

  /** Commits and syncs what is queued, then closes the file. Throws, after closing, if the file was removed. */
  close(): void {
    if (this.#closed) return
    clearTimeout(this.#deferral)
    if (this.#group !== undefined) this.#finishNow(this.#group)
    while (this.#queue.length > 0 || this.#views.length > 0) {
      this.#runGroup()
      if (this.#group !== undefined) this.#finishNow(this.#group)
    }
    this.#closed = true
    const removed = this.#removed()
    if (this.#wal !== undefined) {
      fdatasyncSync(this.#wal)
      // A running sync still uses the descriptor; it is closed with the process.
      if (!this.#syncing) closeSync(this.#wal)
    }
    answer(this.#unsynced.splice(0))
    this.#journal?.close()
    this.sql.close()
    if (removed !== undefined) throw removed
  }

  #schedule(): void {
    if (this.#scheduled || this.#group !== undefined) return
    this.#scheduled = true
    // setImmediate rather than a microtask: all writes of this turn of the event loop share one fsync.
    setImmediate(() => this.#gather(0))
  }

  /**
   * Gives the event loop another turn as long as the last one brought more works. A group that a thread syncs need not
   * wait: the next one gathers meanwhile.
   */
  #gather(before: number): void {
    const waiting = this.#queue.length
    if (waiting > before && waiting < GATHERED_WORKS && performance.now() >= this.#slowSyncsUntilMs)
      setImmediate(() => this.#gather(waiting))
    else this.#runGroup()
  }

  #defer(): void {
    this.#deferral ??= setTimeout(() => {
      this.#deferral = undefined
      if (this.#queue.length > 0) this.#schedule()
    }, DEFERRED_MS)
  }

  #runGroup(): void {
    this.#scheduled = false
    if (this.#closed || this.#group !== undefined) return
    for (const view of this.#views.splice(0)) view()
    const pending = this.#queue.splice(0, GROUP_LIMIT)
    if (pending.length === 0) return
    if (this.#broken !== undefined) {
      // They waited while the sync failed: a later one that succeeds would not cover what was lost before.
      for (const { reject } of pending) reject(this.#broken)
      return
    }
    const group = this.#runWorks(pending)
    if (group === undefined) return this.#next()
    if (group.sync === undefined) return this.#commitGroup(group)
    this.#group = group
    const synced = (error: Error | null): void => {
      // A close has finished it meanwhile.
      if (this.#group !== group) return
      if (error === null) this.#commitGroup(group)
      else {
        this.#undoGroup(group.pending, (this.#broken = unkept(error)))
        this.#next()
      }
    }
    const beganMs = performance.now()
    if (beganMs < this.#slowSyncsUntilMs) return group.sync.later(synced)
    const error = tryNow(group.sync)
    const tookMs = performance.now() - beganMs
    if (tookMs > QUICK_SYNC_MS)
      this.#slowSyncsUntilMs =
        Math.max(this.#slowSyncsUntilMs, beganMs - SLOW_SYNC_BURST_MS / SLOW_SYNC_SHARE) + tookMs / SLOW_SYNC_SHARE
    synced(error)
  }

  #runWorks(pending: readonly Pending[]): Group | undefined {
    const tables = pending.some((one) => one.tables)
    try {
      if (tables) this.sql.exec('BEGIN IMMEDIATE')
      const settled = pending.map((one) => this.#runOne(one))
      const changes = tables ? this.#countChanges() : this.#changes
      const changedRows = changes !== this.#changes
      const sync = this.#journal?.writeGroup(changedRows)
      return { pending, settled, tables, changedRows, sync }
    } catch (error) {
      // A full disk, or a locked or broken file: nothing of this group was recorded, and every caller must be told.
      this.#undoGroup(pending, error)
      return undefined
    }
  }

  #commitGroup(group: Group): void {
    try {
      if (group.tables) this.sql.exec('COMMIT')
    } catch (error) {
      this.#undoGroup(group.pending, error)
      return this.#next()
    }
    this.#group = undefined
    for (const follower of this.#followers) follower.groupEnds(true)
    if (group.changedRows) this.#changes = this.#countChanges()
    this.#walIsDirty ||= group.changedRows
    const unanswered = { settled: group.settled, beforeAnswer: this.#journal?.prepareAnswer?.() }
    if (this.#walIsDirty || this.#syncing) {
      this.#unsynced.push(unanswered)
      this.#sync()
    } else answer([unanswered])
    this.#next()
  }

  #undoGroup(pending: readonly Pending[], error: unknown): void {
    if (this.sql.isTransaction) this.sql.exec('ROLLBACK')
    this.#group = undefined
    for (const follower of this.#followers) follower.groupEnds(false)
    for (const { reject } of pending) reject(error)
  }

  #finishNow(group: Group): void {
    try {
      group.sync?.now()
    } catch (error) {
      return this.#undoGroup(group.pending, error)
    }
    this.#commitGroup(group)
  }

  #next(): void {
    if (this.#queue.length > 0 || this.#views.length > 0) this.#schedule()
  }

  #countChanges(): unknown {
    return this.#total.get()?.['total']
  }

  /** One sync at a time; whatever was committed meanwhile shares the next. */
  #sync(): void {
    if (this.#syncing || this.#unsynced.length === 0) return
    const covered = this.#unsynced.splice(0)
    const isDirty = this.#walIsDirty
    this.#walIsDirty = false
    if (this.#wal === undefined || !isDirty) {
      answer(covered)
      return
    }
    this.#syncing = true
    fdatasync(this.#wal, (error) => {
      this.#syncing = false
      const broken = error === null ? this.#lookedFor() : unkept(error)
      if (broken !== undefined) this.#breakWith(broken, covered)
      else answer(covered)
      if (!this.#closed) this.#sync()
    })
  }

  #breakWith(broken: Error, covered: readonly UnansweredGroup[]): void {
    this.#broken = broken
    for (const { settled } of [...covered, ...this.#unsynced.splice(0)])
      for (const { pending } of settled) pending.reject(broken)
  }

  #lookedFor(): Error | undefined {
    const nowMs = performance.now()
    if (nowMs - this.#lookedMs < LOOK_EVERY_MS) return undefined
    this.#lookedMs = nowMs
    return this.#removed()
  }

  /** A removed file accepts writes until it is closed, and then they are lost. A moved file keeps them. */
  #removed(): Error | undefined {
    if (this.#wal === undefined) return undefined
    const isGone = fstatSync(this.#wal).nlink === 0 || (existsSync(`${this.path}-wal`) && !existsSync(this.path))
    return isGone
      ? new Error(`the database ${this.path} was removed while it was open; restore it from a backup and restart`)
      : undefined
  }

  #runOne(pending: Pending): Settled {
    if (pending.tables) this.sql.exec('SAVEPOINT work')
    for (const follower of this.#followers) follower.workBegins()
    try {
      const value = pending.work(this.sql)
      if (pending.tables) this.sql.exec('RELEASE work')
      return { pending, failed: false, value }
    } catch (error) {
      // Some errors (disk full, out of memory) make SQLite end the whole transaction: then the group has failed.
      if (pending.tables && !this.sql.isTransaction) throw error
      if (pending.tables) this.sql.exec('ROLLBACK TO work; RELEASE work')
      for (const follower of this.#followers) follower.workUndone()
      return { pending, failed: true, value: error }
    }
  }
}

/** Changes when another connection commits to the file (https://sqlite.org/pragma.html#pragma_data_version). */
function readDataVersion(sql: DatabaseSync): number {
  return Number(sql.prepare('PRAGMA data_version').get()?.['data_version'])
}

function tryNow(sync: PendingJournalSync): Error | null {
  try {
    sync.now()
    return null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function unkept(error: Error): Error {
  return new Error(`the disk failed to store what was written (${error.message}); repair it, then restart`)
}

function answer(groups: readonly UnansweredGroup[]): void {
  for (const { settled, beforeAnswer } of groups) {
    beforeAnswer?.()
    for (const { pending, failed, value } of settled) {
      if (failed) pending.reject(value)
      else pending.resolve(value as never)
    }
  }
}

/** A database with tables of a newer program is refused, because they are not understood. */
function refuseNewer(sql: DatabaseSync, { path, migrations }: DatabaseOpenOptions): void {
  if (migrations.length === 0) return
  const format = Number(sql.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
  if (format > FORMAT)
    throw new DatabaseTooNewError(
      `${path} was written by a newer Hearthbus (format ${format}; this program knows ${FORMAT}). Use that version, or another data directory.`,
    )
  const begun = sql.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'room_version'").get() !== undefined
  for (const { module, steps } of begun ? migrations : []) {
    const have = stepsTaken(sql, module)
    if (have > steps.length)
      throw new DatabaseTooNewError(
        `${path} was written by a newer Hearthbus (${module} is at step ${have}; this program knows ${steps.length}). Use that version, or another data directory.`,
      )
  }
}

/** Before the first statement that writes: an added trigger would run with it. */
function refuseAltered(sql: DatabaseSync, { path, migrations, isWhole }: DatabaseOpenOptions): void {
  const names = isWhole === true ? findAlteredSchema(sql, migrations) : []
  if (names.length > 0)
    throw new SchemaAlteredError(
      `${path} was changed by another program: ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not as this program made it. Restore the newest copy of the database, or see what is wrong with it: hearthbus ledger verify.`,
    )
}

function migrate(sql: DatabaseSync, options: DatabaseOpenOptions): void {
  refuseNewer(sql, options)
  refuseAltered(sql, options)
  sql.exec('BEGIN IMMEDIATE')
  try {
    sql.exec(MODULE_VERSION_TABLE_SQL)
    for (const migrations of options.migrations) migrateModule(sql, migrations)
    sql.exec(`PRAGMA user_version = ${FORMAT}`)
    sql.exec('COMMIT')
  } catch (error) {
    if (sql.isTransaction) sql.exec('ROLLBACK')
    throw error
  }
}

function migrateModule(sql: DatabaseSync, { module, steps }: ModuleMigrations): void {
  for (const step of steps.slice(stepsTaken(sql, module))) sql.exec(step)
  sql
    .prepare('INSERT INTO room_version VALUES (?, ?) ON CONFLICT (room) DO UPDATE SET version = excluded.version')
    .run(module, steps.length)
}

function stepsTaken(sql: DatabaseSync, module: string): number {
  return Number(sql.prepare('SELECT version FROM room_version WHERE room = ?').get(module)?.['version'] ?? 0)
}
