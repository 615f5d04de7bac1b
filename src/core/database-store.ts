/**
 * Database: the node's one SQLite file, with durability paid once per group.
 *
 *   commit(work) ─┐
 *   commit(work) ─┼─▶ BEGIN IMMEDIATE ▸ work ▸ work ▸ work ▸ COMMIT ─▶ fdatasync of the WAL ─▶ every caller hears
 *   commit(work) ─┘                     the next group runs meanwhile
 *
 * A group that wrote nothing is not synced: a node looks at its tables every second, and each flush wears out a card.
 *
 * Each work runs in its own savepoint: one that throws undoes only itself. Works run in the order they were given, so
 * what a later one reads is what an earlier one wrote. A caller is answered only after its group is on the disk.
 *
 * SQLite's own sync (synchronous = FULL) would hold up the whole process for as long as the disk takes, on a small
 * computer's card tens of milliseconds. So it is left to write the WAL (NORMAL), and the WAL is synced here, beside the
 * event loop, before anybody hears: the same promise, kept without standing still. What one caller reads of another's
 * unsynced work is covered by its own sync, which comes later in the same file.
 *
 * Does I/O.
 */
import { closeSync, existsSync, fdatasync, fdatasyncSync, fstatSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { alteredSchema, ROOM_VERSION } from './database-schema-store.ts'

/** Rooms bring their own tables; a room's steps are numbered from 1 without gaps and never edited once landed. */
export interface Migrations {
  readonly room: string
  readonly steps: readonly string[]
}

export interface OpenOptions {
  readonly path: string
  readonly migrations: readonly Migrations[]
  readonly readOnly?: boolean
  /** These are all the migrations there are: a file with anything else in it is refused before it is touched. */
  readonly isWhole?: boolean
}

export class DatabaseTooNew extends Error {}

/** Somebody changed what this program made. */
export class SchemaAltered extends Error {}

/** Bumped when an older program must not touch the file at all, whatever rooms it knows. */
const FORMAT = 1

/** One group takes at most this many works, so that a flood cannot postpone its own first answer for ever. */
const GROUP_LIMIT = 512

/** How often to check that the file was not removed. */
const LOOK_EVERY_MS = 1_000

/**
 * Something in memory that must follow the transaction: the ledger's tree, which grows while a work runs and has to
 * shrink again when that work, or its whole group, is undone.
 */
export interface Follower {
  /** A work is about to run. */
  readonly workBegins: () => void
  /** The work that began last was undone, the rest of the group goes on. */
  readonly workUndone: () => void
  /** The group is over, before any caller hears; `false` means that everything since the last end was undone. */
  readonly groupEnds: (committed: boolean) => void
}

interface Pending {
  readonly work: (db: DatabaseSync) => unknown
  readonly resolve: (value: never) => void
  readonly reject: (reason: unknown) => void
}

interface Settled {
  readonly pending: Pending
  readonly failed: boolean
  readonly value: unknown
}

export class Database {
  readonly sql: DatabaseSync
  #queue: Pending[] = []
  #scheduled = false
  #closed = false
  readonly #followers: Follower[] = []
  readonly #path: string
  #lookedMs = -Infinity
  /** The write-ahead log, to be synced; `undefined` for a database in memory. */
  readonly #wal: number | undefined
  /** Committed and not yet synced. */
  #unsynced: Settled[] = []
  #syncing = false
  readonly #total: StatementSync
  /** Rows changed so far, as of the last group that is or will be synced. */
  #changes: unknown
  /** A disk that failed to sync may have lost what it was given: nothing is promised after that. */
  #broken: Error | undefined

  constructor(options: OpenOptions) {
    this.#path = options.path
    this.sql = new DatabaseSync(options.path, { readOnly: options.readOnly ?? false })
    this.sql.exec('PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000')
    this.#total = this.sql.prepare('SELECT total_changes() AS total')
    if (options.readOnly === true) {
      this.#wal = undefined
      refuseNewer(this.sql, options)
      return
    }
    const mode = this.sql.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
    if (mode !== 'wal' && options.path !== ':memory:')
      throw new Error(`${options.path}: SQLite answered journal mode ${String(mode)} instead of wal`)
    // What is deleted or replaced is overwritten. SQLite would otherwise leave the bytes in free pages and, where a row
    // moves, in its old place: words that were to be erased later would have left copies that nobody can find.
    this.sql.exec('PRAGMA secure_delete = ON')
    // With FULL, so that what a migration made is on the disk before the first work.
    this.sql.exec('PRAGMA synchronous = FULL')
    migrate(this.sql, options)
    this.sql.exec('PRAGMA synchronous = NORMAL')
    this.#wal = mode === 'wal' ? openSync(`${options.path}-wal`, 'r') : undefined
    this.#changes = this.#countChanges()
  }

  /** Resolves after the work's group is durable; rejects, with the work undone, when it throws or the disk refuses. */
  commit<Value>(work: (db: DatabaseSync) => Value): Promise<Value> {
    if (this.#closed) return Promise.reject(new Error('the database is closed'))
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    return new Promise<Value>((resolve, reject) => {
      this.#queue.push({ work, resolve, reject })
      if (this.#scheduled) return
      this.#scheduled = true
      // setImmediate, not a microtask: everything that this turn of the event loop wants to write shares one fsync.
      setImmediate(() => this.#runGroup())
    })
  }

  /**
   * A number that changes when another program writes into the file. Nobody but the process that holds the lock should.
   */
  foreignWrites(): number {
    return Number(this.sql.prepare('PRAGMA data_version').get()?.['data_version'])
  }

  follow(follower: Follower): void {
    this.#followers.push(follower)
  }

  /** Commits and syncs what is queued, then closes the file. Throws, after closing, if the file was removed. */
  close(): void {
    if (this.#closed) return
    while (this.#queue.length > 0) this.#runGroup()
    this.#closed = true
    const removed = this.#removed()
    if (this.#wal !== undefined) {
      fdatasyncSync(this.#wal)
      // A sync that is under way still holds the descriptor; the process gives it back.
      if (!this.#syncing) closeSync(this.#wal)
    }
    answer(this.#unsynced.splice(0))
    this.sql.close()
    if (removed !== undefined) throw removed
  }

  #runGroup(): void {
    const group = this.#queue.splice(0, GROUP_LIMIT)
    this.#scheduled = this.#queue.length > 0
    if (this.#scheduled) setImmediate(() => this.#runGroup())
    if (group.length === 0 || this.#closed) return
    if (this.#broken !== undefined) {
      // They waited while the sync failed: a later one that succeeds would cover nothing of what was lost before it.
      for (const pending of group) pending.reject(this.#broken)
      return
    }
    let settled: readonly Settled[]
    try {
      this.sql.exec('BEGIN IMMEDIATE')
      settled = group.map((pending) => this.#runOne(pending))
      this.sql.exec('COMMIT')
    } catch (error) {
      // A full disk, a locked or broken file: nobody in this group was recorded, and everybody must hear so.
      if (this.sql.isTransaction) this.sql.exec('ROLLBACK')
      for (const follower of this.#followers) follower.groupEnds(false)
      for (const pending of group) pending.reject(error)
      return
    }
    for (const follower of this.#followers) follower.groupEnds(true)
    const changes = this.#countChanges()
    // A group that wrote nothing has nothing to sync; but what it read must be on the disk before anybody hears of it.
    if (changes === this.#changes && !this.#syncing && this.#unsynced.length === 0) return answer(settled)
    this.#changes = changes
    this.#unsynced.push(...settled)
    this.#sync()
  }

  #countChanges(): unknown {
    return this.#total.get()?.['total']
  }

  /** One sync at a time; whatever was committed meanwhile shares the next. */
  #sync(): void {
    if (this.#syncing || this.#unsynced.length === 0) return
    const covered = this.#unsynced.splice(0)
    if (this.#wal === undefined) {
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

  #breakWith(broken: Error, covered: readonly Settled[]): void {
    this.#broken = broken
    for (const { pending } of [...covered, ...this.#unsynced.splice(0)]) pending.reject(broken)
  }

  #lookedFor(): Error | undefined {
    const nowMs = performance.now()
    if (nowMs - this.#lookedMs < LOOK_EVERY_MS) return undefined
    this.#lookedMs = nowMs
    return this.#removed()
  }

  /**
   * A file that was removed while it is open takes everything and keeps it until it is closed. A moved one keeps it.
   */
  #removed(): Error | undefined {
    if (this.#wal === undefined) return undefined
    const isGone = fstatSync(this.#wal).nlink === 0 || (existsSync(`${this.#path}-wal`) && !existsSync(this.#path))
    return isGone
      ? new Error(`the database ${this.#path} was removed while it was open; put it back from a backup and restart`)
      : undefined
  }

  #runOne(pending: Pending): Settled {
    this.sql.exec('SAVEPOINT work')
    for (const follower of this.#followers) follower.workBegins()
    try {
      const value = pending.work(this.sql)
      this.sql.exec('RELEASE work')
      return { pending, failed: false, value }
    } catch (error) {
      // Some errors (disk full, out of memory) make SQLite end the whole transaction: then the group has failed.
      if (!this.sql.isTransaction) throw error
      this.sql.exec('ROLLBACK TO work; RELEASE work')
      for (const follower of this.#followers) follower.workUndone()
      return { pending, failed: true, value: error }
    }
  }
}

function unkept(error: Error): Error {
  return new Error(`the disk failed to keep what it was given (${error.message}); restart when it is mended`)
}

function answer(settled: readonly Settled[]): void {
  for (const { pending, failed, value } of settled) {
    if (failed) pending.reject(value)
    else pending.resolve(value as never)
  }
}

/** Whoever brings migrations means to understand the tables: those of a newer program are not understood. */
function refuseNewer(sql: DatabaseSync, { path, migrations }: OpenOptions): void {
  if (migrations.length === 0) return
  const format = Number(sql.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
  if (format > FORMAT)
    throw new DatabaseTooNew(
      `${path} was written by a newer Hearthbus (format ${format}; this program knows ${FORMAT}). Use that version, or another data directory.`,
    )
  const begun = sql.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'room_version'").get() !== undefined
  for (const { room, steps } of begun ? migrations : []) {
    const have = stepsTaken(sql, room)
    if (have > steps.length)
      throw new DatabaseTooNew(
        `${path} was written by a newer Hearthbus (${room} is at step ${have}; this program knows ${steps.length}). Use that version, or another data directory.`,
      )
  }
}

/** Before the first statement that writes: a planted trigger would run with it. */
function refuseAltered(sql: DatabaseSync, { path, migrations, isWhole }: OpenOptions): void {
  const names = isWhole === true ? alteredSchema(sql, migrations) : []
  if (names.length > 0)
    throw new SchemaAltered(
      `${path} was changed by somebody else: ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not what this program made. Put back the newest copy of the database, or see what is wrong with it: hearthbus ledger verify.`,
    )
}

function migrate(sql: DatabaseSync, options: OpenOptions): void {
  refuseNewer(sql, options)
  refuseAltered(sql, options)
  sql.exec('BEGIN IMMEDIATE')
  try {
    sql.exec(ROOM_VERSION)
    for (const migrations of options.migrations) migrateRoom(sql, migrations)
    sql.exec(`PRAGMA user_version = ${FORMAT}`)
    sql.exec('COMMIT')
  } catch (error) {
    if (sql.isTransaction) sql.exec('ROLLBACK')
    throw error
  }
}

function migrateRoom(sql: DatabaseSync, { room, steps }: Migrations): void {
  for (const step of steps.slice(stepsTaken(sql, room))) sql.exec(step)
  sql
    .prepare('INSERT INTO room_version VALUES (?, ?) ON CONFLICT (room) DO UPDATE SET version = excluded.version')
    .run(room, steps.length)
}

function stepsTaken(sql: DatabaseSync, room: string): number {
  return Number(sql.prepare('SELECT version FROM room_version WHERE room = ?').get(room)?.['version'] ?? 0)
}
