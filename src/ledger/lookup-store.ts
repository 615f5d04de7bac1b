/**
 * Lookup store: finds entries by trace id, by task or session, by the approval they are about, by whether they changed
 * something, and by the call that they end. A cache in a file of its own: it contains nothing that the entries do not
 * say, is updated from them when the log is opened, and can be deleted. Rows are written in the background, many at
 * once, and before each query; a call does not wait for them.
 */
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { requireRegularFile } from '../core/bounded-file-store.ts'
import { readRowsRoundingUnsafeIntegers } from '../core/sqlite-row-store.ts'
import { BODY_ERASED_KIND } from './entry-group.ts'
import type { TaskOrSessionReference } from '../core/fault.ts'
import type { LedgerEntry, LedgerEvent } from './entry.ts'
import type { Json } from '../core/json.ts'
import { CALL_ENTER_KIND, CHANGING_EFFECTS, readEndedCallSeq, readLateOutcomeCallSeq } from './call-entry.ts'

/**
 * Kinds of entries for what people do to the node itself and to calls that wait for approval. Calls that change
 * something are recognised by their effect.
 */
const DEEDS: ReadonlySet<string> = new Set([
  'approval.approved',
  'approval.denied',
  'body.erased',
  'grant.created',
  'grant.ended',
  'ledger.adopted',
  'stop.engaged',
  'stop.released',
  'token.created',
  'token.revoked',
])
/** Kinds that an audit lists beside calls. */
const LISTED = /^(?:call\.enter|change\..*|approval\..*)$/
/** A client may use one trace id for all its calls, so the list is bounded. */
const MAX_OF_TRACE = 200
/** How many rows are written at once; this takes a few milliseconds. */
const FLUSH_ROWS = 2_048
const FLUSH_MS = 1_000
const FORMAT = 4

/** Newest first: from `since` on, and before the entry `seq` at the time `at`. Times are as in entries. */
export interface RecordedChangeQuery {
  readonly since: string
  readonly before: { readonly at: string; readonly seq: number }
  readonly limit: number
  /** Only what was done for this task or session. */
  readonly work?: TaskOrSessionReference
}

/** An entry, the end of the call that it began, and the newest late outcome of that call. */
export interface CallWithEnding {
  readonly seq: number
  readonly ended: number | undefined
  readonly late: number | undefined
}

export interface LedgerLookupRow {
  readonly seq: number
  readonly listed: number
  readonly opens: number
  readonly trace_id: string | null
  readonly task_id: string | null
  readonly session_id: string | null
  /** The approval, grant or erased entry that the entry is about. */
  readonly about: string | null
  readonly changed_at: string | null
  readonly ended: number | null
  readonly late: number | null
}

/** The lookup row of an entry; `undefined` for an entry that no query returns. */
export function toLookupRow(seq: number, at: string, event: LedgerEvent | LedgerEntry): LedgerLookupRow | undefined {
  const { isDeed, listed, subject } = kindFacts(event.kind)
  const [trace, task, session] = [textOf(event['trace_id']), textOf(event['task_id']), textOf(event['session_id'])]
  const about = subject === undefined ? null : subjectOf(event, subject)
  const isEnter = event.kind === CALL_ENTER_KIND
  const changes = isEnter ? CHANGING_EFFECTS.has(event['effect']) : isDeed
  if (!changes && !listed && (trace ?? task ?? session ?? about) === null) return undefined
  return {
    seq,
    listed: listed ? 1 : 0,
    opens: isEnter ? 1 : 0,
    trace_id: trace,
    task_id: task,
    session_id: session,
    about,
    changed_at: changes ? at : null,
    ended: null,
    late: null,
  }
}

/** The value of `about` for the erasure of an entry's body. */
export function formatErasureLookupKey(seq: number): string {
  return `entry:${seq}`
}

/** Facts that follow from the kind of an entry alone. There are few kinds, and each occurs very often. */
interface KindFacts {
  readonly isDeed: boolean
  readonly listed: boolean
  /** The field that names what the entry is about. */
  readonly subject: 'approval' | 'grant' | 'entry' | undefined
}

const KNOWN_FACTS = new Map<string, KindFacts>()
const MAX_KNOWN_FACTS = 500

function kindFacts(kind: string): KindFacts {
  const known = KNOWN_FACTS.get(kind)
  if (known !== undefined) return known
  const consent = kind.startsWith('approval.') ? 'approval' : kind.startsWith('grant.') ? 'grant' : undefined
  const subject = kind === BODY_ERASED_KIND ? 'entry' : consent
  const facts: KindFacts = { isDeed: DEEDS.has(kind), listed: LISTED.test(kind), subject }
  if (KNOWN_FACTS.size < MAX_KNOWN_FACTS) KNOWN_FACTS.set(kind, facts)
  return facts
}

function subjectOf(event: LedgerEvent | LedgerEntry, field: 'approval' | 'grant' | 'entry'): string | null {
  return field === 'entry' ? formatErasureLookupKey(Number(event['entry'])) : textOf(event[field])
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}

type PendingRow = Omit<LedgerLookupRow, 'ended' | 'late'> & { ended: number | null; late: number | null }

/** What a later entry says of a call whose row is written already. */
interface CallUpdate {
  readonly call: number
  readonly column: 'ended' | 'late'
  readonly seq: number
}

export class LookupStore {
  readonly path: string
  readonly #sql: DatabaseSync
  readonly #isLive: boolean
  readonly #prepared = new Map<string, StatementSync>()
  /** The rows that are not written yet, by entry. */
  readonly #rows = new Map<number, PendingRow>()
  readonly #updates: CallUpdate[] = []
  /** The number of entries that the stored and the pending rows cover. */
  #size: number
  #written: number
  #timer: NodeJS.Timeout | undefined

  constructor(path: string, options: { readonly readOnly?: boolean } = {}) {
    this.path = path
    this.#isLive = options.readOnly !== true
    requireRegularFile(path)
    this.#sql = this.#isLive ? openCache(path) : new DatabaseSync(path, { readOnly: true })
    // A transaction gives one view of all rows while others write.
    if (!this.#isLive) this.#sql.exec('BEGIN')
    this.#size = Number(this.#statement('SELECT size FROM applied').get()?.['size'] ?? 0)
    this.#written = this.#size
  }

  get size(): number {
    return this.#size
  }

  /** Changes when another program has written into the file. */
  foreignWrites(): number {
    return Number(this.#statement('PRAGMA data_version').get()?.['data_version'])
  }

  /**
   * The number of entries that the cache covers. A process that reads it beside the writing node sees it up to a second
   * behind.
   */
  get reach(): number {
    return this.#isLive ? Infinity : this.#size
  }

  /** Adds the rows of an entry. Entries must come in order. */
  add(seq: number, at: string, event: LedgerEvent | LedgerEntry): void {
    const row = toLookupRow(seq, at, event)
    if (row !== undefined) this.#rows.set(seq, row)
    const call = readEndedCallSeq(event)
    if (call !== undefined) this.#update({ call, column: 'ended', seq })
    const late = readLateOutcomeCallSeq(event)
    if (late !== undefined) this.#update({ call: late, column: 'late', seq })
    this.#size = seq + 1
    if (this.#rows.size + this.#updates.length >= FLUSH_ROWS) this.#tryFlush()
    else this.#timer ??= setTimeout(() => this.#tryFlush(), FLUSH_MS).unref()
  }

  /** Most calls end before their row is written, so the row is written once, with the end. */
  #update(update: CallUpdate): void {
    const row = this.#rows.get(update.call)
    if (row === undefined) this.#updates.push(update)
    else row[update.column] = update.seq
  }

  /** A full disk loses nothing: rows and updates stay in memory, and the log has the entries. */
  #tryFlush(): void {
    try {
      this.flush()
    } catch {
      if (this.#sql.isTransaction) this.#sql.exec('ROLLBACK')
    }
  }

  /** Removes later rows, because the log is shorter than this table. */
  cut(size: number): void {
    this.flush()
    this.#statement('DELETE FROM lookup WHERE seq >= ?').run(size)
    this.#statement('UPDATE lookup SET ended = NULL WHERE ended >= ?').run(size)
    // The cache does not know which outcome was the newest before the removed one, so it is built again.
    if (this.#statement('SELECT 1 FROM lookup WHERE late >= ? LIMIT 1').get(size) !== undefined) return this.clear()
    this.#statement('UPDATE applied SET size = ?').run(size)
    this.#size = size
    this.#written = size
  }

  /** Empties the cache, because it contradicts the entries; it is then filled from them again. */
  clear(): void {
    this.#rows.clear()
    this.#updates.length = 0
    this.#sql.exec('BEGIN; DELETE FROM lookup; UPDATE applied SET size = 0; COMMIT')
    this.#size = 0
    this.#written = 0
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#size === this.#written) return
    this.#sql.exec('BEGIN')
    const insert = this.#statement('INSERT OR REPLACE INTO lookup VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    for (const row of this.#rows.values()) {
      const { seq, listed, opens, trace_id, task_id, session_id, about, changed_at, ended, late } = row
      insert.run(seq, listed, opens, trace_id, task_id, session_id, about, changed_at, ended, late)
    }
    for (const { call, column, seq } of this.#updates)
      this.#statement(`UPDATE lookup SET ${column} = ? WHERE seq = ?`).run(seq, call)
    this.#statement('UPDATE applied SET size = ?').run(this.#size)
    this.#sql.exec('COMMIT')
    this.#rows.clear()
    this.#updates.length = 0
    this.#written = this.#size
  }

  /** The newest entries with the trace id, in order. */
  ofTrace(traceId: string): readonly CallWithEnding[] {
    return this.#ended('SELECT seq, ended, late FROM lookup WHERE trace_id = ? ORDER BY seq DESC LIMIT ?', [
      traceId,
      MAX_OF_TRACE,
    ]).toReversed()
  }

  /** Newest first, by the time in the entries. */
  changes({
    since,
    before,
    limit,
    work = {},
  }: RecordedChangeQuery): readonly (CallWithEnding & { readonly at: string })[] {
    this.flush()
    const { taskId, sessionId } = work
    const query = this.#statement(
      `SELECT seq, ended, late, changed_at FROM lookup
       WHERE changed_at >= $since AND changed_at <= $at AND (changed_at < $at OR seq < $seq)
       ${taskId === undefined ? '' : 'AND task_id = $task'} ${sessionId === undefined ? '' : 'AND session_id = $session'}
       ORDER BY changed_at DESC, seq DESC LIMIT $limit`,
    )
    const rows = readRowsRoundingUnsafeIntegers(query, {
      $since: since,
      $at: before.at,
      $seq: before.seq,
      $limit: limit,
      ...(taskId === undefined ? {} : { $task: taskId }),
      ...(sessionId === undefined ? {} : { $session: sessionId }),
    })
    return rows.map((row) => ({ ...endedOf(row), at: String(row['changed_at']) }))
  }

  /** Calls and what people decided about them, before `seq`, newest first. */
  listed(before: number, limit: number, traceId?: string): readonly CallWithEnding[] {
    const ofTrace = traceId === undefined ? '' : 'AND trace_id = ?'
    return this.#ended(
      `SELECT seq, ended, late FROM lookup WHERE listed = 1 AND seq < ? ${ofTrace} ORDER BY seq DESC LIMIT ?`,
      [before, ...(traceId === undefined ? [] : [traceId]), limit],
    )
  }

  /** Entries with the id of the task or session, in order. */
  ofWork({ taskId, sessionId }: TaskOrSessionReference): readonly CallWithEnding[] {
    const [column, id] = sessionId === undefined ? ['task_id', taskId] : ['session_id', sessionId]
    return this.#ended(`SELECT seq, ended, late FROM lookup WHERE ${column} = ? ORDER BY seq`, [id ?? ''])
  }

  /** Entries about the approval or grant, in order. */
  about(id: string): readonly CallWithEnding[] {
    return this.#ended('SELECT seq, ended, late FROM lookup WHERE about = ? ORDER BY seq', [id])
  }

  openCalls(): readonly number[] {
    return this.#ended('SELECT seq, ended, late FROM lookup WHERE opens = 1 AND ended IS NULL ORDER BY seq', []).map(
      ({ seq }) => seq,
    )
  }

  /**
   * The rows as they are stored, in order, starting at `from`. Without `from` all rows, including those that another
   * program stored under negative numbers.
   */
  rows(from: number | undefined, limit: number): readonly LedgerLookupRow[] {
    this.flush()
    const rows =
      from === undefined
        ? readRowsRoundingUnsafeIntegers(this.#statement('SELECT * FROM lookup ORDER BY seq LIMIT ?'), limit)
        : readRowsRoundingUnsafeIntegers(
            this.#statement('SELECT * FROM lookup WHERE seq >= ? ORDER BY seq LIMIT ?'),
            from,
            limit,
          )
    return rows as unknown as LedgerLookupRow[]
  }

  close(): void {
    this.#tryFlush()
    clearTimeout(this.#timer)
    this.#sql.close()
  }

  #ended(query: string, values: readonly (string | number)[]): readonly CallWithEnding[] {
    this.flush()
    return readRowsRoundingUnsafeIntegers(this.#statement(query), ...values).map(endedOf)
  }

  #statement(text: string): StatementSync {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const statement = this.#sql.prepare(text)
    this.#prepared.set(text, statement)
    return statement
  }
}

function endedOf(row: Readonly<Record<string, unknown>>): CallWithEnding {
  const place = (value: unknown): number | undefined => (value === null ? undefined : Number(value))
  return { seq: Number(row['seq']), ended: place(row['ended']), late: place(row['late']) }
}

/** A cache that cannot be read, or has another format, is made anew. */
function openCache(path: string): DatabaseSync {
  try {
    const sql = prepareCache(path)
    if (sql !== undefined) return sql
  } catch {
    // The cache is opened again below.
  }
  for (const rest of ['', '-wal', '-shm']) rmSync(`${path}${rest}`, { force: true })
  const sql = prepareCache(path)
  if (sql === undefined) throw new Error(`${path} cannot be made`)
  return sql
}

function prepareCache(path: string): DatabaseSync | undefined {
  const sql = new DatabaseSync(path)
  sql.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  const format = Number(sql.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
  if (format === FORMAT && isOwnSchema(sql) && hasSize(sql)) return sql
  if (format !== 0) {
    sql.close()
    return undefined
  }
  sql.exec(`BEGIN; ${SCHEMA} INSERT INTO applied VALUES (0); PRAGMA user_version = ${FORMAT}; COMMIT`)
  return sql
}

/** Whether the table of sizes has exactly one row, with a valid number of entries. */
function hasSize(sql: DatabaseSync): boolean {
  const sizes = readRowsRoundingUnsafeIntegers(sql.prepare('SELECT size FROM applied LIMIT 2')).map(({ size }) =>
    Number(size),
  )
  return sizes.length === 1 && sizes.every((size) => Number.isSafeInteger(size) && size >= 0)
}

/** A trigger that another program planted could keep rows from being written. */
function isOwnSchema(sql: DatabaseSync): boolean {
  const schema = (of: DatabaseSync): string =>
    JSON.stringify(of.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name, type').all())
  const made = new DatabaseSync(':memory:')
  try {
    made.exec(SCHEMA)
    return schema(sql) === schema(made)
  } finally {
    made.close()
  }
}

const SCHEMA = `
  CREATE TABLE applied (size INTEGER NOT NULL) STRICT;
  CREATE TABLE lookup (
    seq INTEGER PRIMARY KEY,
    listed INTEGER NOT NULL,
    opens INTEGER NOT NULL,
    trace_id TEXT,
    task_id TEXT,
    session_id TEXT,
    about TEXT,
    changed_at TEXT,
    ended INTEGER,
    late INTEGER
  ) STRICT;
  CREATE INDEX lookup_trace ON lookup (trace_id) WHERE trace_id IS NOT NULL;
  CREATE INDEX lookup_task ON lookup (task_id) WHERE task_id IS NOT NULL;
  CREATE INDEX lookup_session ON lookup (session_id) WHERE session_id IS NOT NULL;
  CREATE INDEX lookup_about ON lookup (about) WHERE about IS NOT NULL;
  CREATE INDEX lookup_change ON lookup (changed_at) WHERE changed_at IS NOT NULL;
  CREATE INDEX lookup_open ON lookup (seq) WHERE opens = 1 AND ended IS NULL;`
