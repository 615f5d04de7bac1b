/**
 * Lookup store: which entries bear a trace id, belong to a task or session, speak of an approval, changed something, or
 * ended which call. A cache in a file of its own: it
 * says nothing that the entries do not say, is brought up to date from them when the log is opened, and can be deleted.
 *
 * Rows are written in the background, many at once, and before anybody asks; a call does not wait for them.
 */
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { BODY_ERASED } from './group.ts'
import type { WorkReference } from '../core/fault.ts'
import type { LedgerEntry, LedgerEvent } from './entry.ts'
import type { Json } from '../core/json.ts'
import { CALL_ENTER, CHANGING_EFFECTS, readClosedCall, readLateOutcomeCall } from './audit.ts'

/** What people do to the node itself, and to calls that wait for them; those of calls are told by their effect. */
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
/** A client may do everything it ever does under one trace id. */
const MAX_OF_TRACE = 200
/** A few milliseconds' work. */
const FLUSH_ROWS = 2_048
const FLUSH_MS = 1_000
const FORMAT = 3

/** Newest first: from `since` on, and before the entry `seq` at the time `at`. Times as entries spell them. */
export interface ChangeQuery {
  readonly since: string
  readonly before: { readonly at: string; readonly seq: number }
  readonly limit: number
  /** Only what was done for this task or session. */
  readonly work?: WorkReference
}

/** An entry, what ended the call that it began, and what became known of that call afterwards, the newest. */
export interface EndedCall {
  readonly seq: number
  readonly ended: number | undefined
  readonly late: number | undefined
}

export interface LookupRow {
  readonly seq: number
  readonly listed: number
  readonly opens: number
  readonly trace_id: string | null
  readonly task_id: string | null
  readonly session_id: string | null
  /** The approval, grant or erased entry that the entry speaks of. */
  readonly about: string | null
  readonly changed_at: string | null
  readonly ended: number | null
  readonly late: number | null
}

/** What the table says of an entry; `undefined` for one that nobody looks for. */
export function lookupRow(seq: number, at: string, event: LedgerEvent | LedgerEntry): LookupRow | undefined {
  const { isDeed, listed, subject } = kindFacts(event.kind)
  const [trace, task, session] = [textOf(event['trace_id']), textOf(event['task_id']), textOf(event['session_id'])]
  const about = subject === undefined ? null : subjectOf(event, subject)
  const isEnter = event.kind === CALL_ENTER
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

/** What `about` is of the erasure of an entry's content. */
export function erasureKey(seq: number): string {
  return `entry:${seq}`
}

/** What the kind of an entry alone says; there are few kinds, and each is met very often. */
interface KindFacts {
  readonly isDeed: boolean
  readonly listed: boolean
  /** The field that names what the entry speaks of. */
  readonly subject: 'approval' | 'grant' | 'entry' | undefined
}

const KNOWN_FACTS = new Map<string, KindFacts>()
const MAX_KNOWN_FACTS = 500

function kindFacts(kind: string): KindFacts {
  const known = KNOWN_FACTS.get(kind)
  if (known !== undefined) return known
  const consent = kind.startsWith('approval.') ? 'approval' : kind.startsWith('grant.') ? 'grant' : undefined
  const subject = kind === BODY_ERASED ? 'entry' : consent
  const facts: KindFacts = { isDeed: DEEDS.has(kind), listed: LISTED.test(kind), subject }
  if (KNOWN_FACTS.size < MAX_KNOWN_FACTS) KNOWN_FACTS.set(kind, facts)
  return facts
}

function subjectOf(event: LedgerEvent | LedgerEntry, field: 'approval' | 'grant' | 'entry'): string | null {
  return field === 'entry' ? erasureKey(Number(event['entry'])) : textOf(event[field])
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}

type Step =
  | { readonly row: LookupRow }
  | { readonly call: number; readonly column: 'ended' | 'late'; readonly seq: number }

export class LookupStore {
  readonly #sql: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()
  readonly #steps: Step[] = []
  /** Entries that rows and steps account for. */
  #size: number
  #written: number
  #timer: NodeJS.Timeout | undefined

  constructor(path: string) {
    this.#sql = openCache(path)
    this.#size = Number(this.#statement('SELECT size FROM applied').get()?.['size'] ?? 0)
    this.#written = this.#size
  }

  get size(): number {
    return this.#size
  }

  /** In order. */
  add(seq: number, at: string, event: LedgerEvent | LedgerEntry): void {
    const row = lookupRow(seq, at, event)
    if (row !== undefined) this.#steps.push({ row })
    const call = readClosedCall(event)
    if (call !== undefined) this.#steps.push({ call, column: 'ended', seq })
    const late = readLateOutcomeCall(event)
    if (late !== undefined) this.#steps.push({ call: late, column: 'late', seq })
    this.#size = seq + 1
    if (this.#steps.length >= FLUSH_ROWS) this.#tryFlush()
    else this.#timer ??= setTimeout(() => this.#tryFlush(), FLUSH_MS).unref()
  }

  /** A disk that is full loses nothing: the steps stay, and the log has the entries. */
  #tryFlush(): void {
    try {
      this.flush()
    } catch {
      if (this.#sql.isTransaction) this.#sql.exec('ROLLBACK')
    }
  }

  /** Forgets what came after, because the log is shorter than this was told. */
  cut(size: number): void {
    this.flush()
    this.#statement('DELETE FROM lookup WHERE seq >= ?').run(size)
    this.#statement('UPDATE lookup SET ended = NULL WHERE ended >= ?').run(size)
    // Which outcome was the newest before is not known here, and told again by nobody: the table is made anew.
    if (this.#statement('SELECT 1 FROM lookup WHERE late >= ? LIMIT 1').get(size) !== undefined) return this.#clear()
    this.#statement('UPDATE applied SET size = ?').run(size)
    this.#size = size
    this.#written = size
  }

  #clear(): void {
    this.#sql.exec('BEGIN; DELETE FROM lookup; UPDATE applied SET size = 0; COMMIT')
    this.#size = 0
    this.#written = 0
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#size === this.#written) return
    this.#sql.exec('BEGIN')
    for (const step of this.#steps) {
      if ('call' in step) this.#statement(`UPDATE lookup SET ${step.column} = ? WHERE seq = ?`).run(step.seq, step.call)
      else {
        const { seq, listed, opens, trace_id, task_id, session_id, about, changed_at, ended, late } = step.row
        this.#statement('INSERT OR REPLACE INTO lookup VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
          seq,
          listed,
          opens,
          trace_id,
          task_id,
          session_id,
          about,
          changed_at,
          ended,
          late,
        )
      }
    }
    this.#statement('UPDATE applied SET size = ?').run(this.#size)
    this.#sql.exec('COMMIT')
    this.#steps.length = 0
    this.#written = this.#size
  }

  /** The newest that bear the trace id, in order. */
  ofTrace(traceId: string): readonly EndedCall[] {
    return this.#ended('SELECT seq, ended, late FROM lookup WHERE trace_id = ? ORDER BY seq DESC LIMIT ?', [
      traceId,
      MAX_OF_TRACE,
    ]).toReversed()
  }

  /** Newest first by the clock. */
  changes({ since, before, limit, work = {} }: ChangeQuery): readonly (EndedCall & { readonly at: string })[] {
    this.flush()
    const { taskId, sessionId } = work
    const rows = this.#statement(
      `SELECT seq, ended, late, changed_at FROM lookup
       WHERE changed_at >= $since AND changed_at <= $at AND (changed_at < $at OR seq < $seq)
       ${taskId === undefined ? '' : 'AND task_id = $task'} ${sessionId === undefined ? '' : 'AND session_id = $session'}
       ORDER BY changed_at DESC, seq DESC LIMIT $limit`,
    ).all({
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
  listed(before: number, limit: number, traceId?: string): readonly EndedCall[] {
    const ofTrace = traceId === undefined ? '' : 'AND trace_id = ?'
    return this.#ended(
      `SELECT seq, ended, late FROM lookup WHERE listed = 1 AND seq < ? ${ofTrace} ORDER BY seq DESC LIMIT ?`,
      [before, ...(traceId === undefined ? [] : [traceId]), limit],
    )
  }

  /** Entries that bear the task or the session, in order. */
  ofWork({ taskId, sessionId }: WorkReference): readonly EndedCall[] {
    const [column, id] = sessionId === undefined ? ['task_id', taskId] : ['session_id', sessionId]
    return this.#ended(`SELECT seq, ended, late FROM lookup WHERE ${column} = ? ORDER BY seq`, [id ?? ''])
  }

  /** Entries that speak of the approval or grant, in order. */
  about(id: string): readonly EndedCall[] {
    return this.#ended('SELECT seq, ended, late FROM lookup WHERE about = ? ORDER BY seq', [id])
  }

  openCalls(): readonly number[] {
    return this.#ended('SELECT seq, ended, late FROM lookup WHERE opens = 1 AND ended IS NULL ORDER BY seq', []).map(
      ({ seq }) => seq,
    )
  }

  /** As they stand, in order, from `from` on. */
  rows(from: number, limit: number): readonly LookupRow[] {
    this.flush()
    return this.#statement('SELECT * FROM lookup WHERE seq >= ? ORDER BY seq LIMIT ?').all(
      from,
      limit,
    ) as unknown as LookupRow[]
  }

  close(): void {
    this.#tryFlush()
    clearTimeout(this.#timer)
    this.#sql.close()
  }

  #ended(query: string, values: readonly (string | number)[]): readonly EndedCall[] {
    this.flush()
    return this.#statement(query)
      .all(...values)
      .map(endedOf)
  }

  #statement(text: string): StatementSync {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const statement = this.#sql.prepare(text)
    this.#prepared.set(text, statement)
    return statement
  }
}

function endedOf(row: Readonly<Record<string, unknown>>): EndedCall {
  const place = (value: unknown): number | undefined => (value === null ? undefined : Number(value))
  return { seq: Number(row['seq']), ended: place(row['ended']), late: place(row['late']) }
}

/** A cache that cannot be read, or is of another format, is made anew. */
function openCache(path: string): DatabaseSync {
  try {
    const sql = prepareCache(path)
    if (sql !== undefined) return sql
  } catch {
    // Below.
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
  if (format === FORMAT && sql.prepare('SELECT count(*) AS n FROM applied').get()?.['n'] === 1) return sql
  if (format !== 0) {
    sql.close()
    return undefined
  }
  sql.exec(`
    BEGIN;
    CREATE TABLE applied (size INTEGER NOT NULL) STRICT;
    INSERT INTO applied VALUES (0);
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
    CREATE INDEX lookup_open ON lookup (seq) WHERE opens = 1 AND ended IS NULL;
    PRAGMA user_version = ${FORMAT};
    COMMIT;`)
  return sql
}
