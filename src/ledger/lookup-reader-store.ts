/**
 * Lookup reader: the queries of the cache of lookups, by trace id, by task or session, by the approval that entries are
 * about, by whether they changed something, and by the call that they end.
 */
import { DatabaseSync } from 'node:sqlite'
import { prepareCachedStatement } from '../core/prepared-statement-store.ts'
import { requireRegularFile } from '../core/bounded-file-store.ts'
import { readRowsRoundingUnsafeIntegers } from '../core/sqlite-row-store.ts'
import type { TaskOrSessionReference } from '../core/fault.ts'
import { readCoveredSize } from './lookup-schema-store.ts'

/** A client may use one trace id for all its calls, so the list is bounded. */
const MAX_OF_TRACE = 200

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

export class LookupReader {
  readonly path: string
  protected readonly sql: DatabaseSync
  readonly #reach: number
  readonly #openedVersion: number

  protected constructor(path: string, sql: DatabaseSync, reach: number) {
    this.path = path
    this.sql = sql
    this.#reach = reach
    this.#openedVersion = this.#dataVersion()
  }

  /** Opens the cache beside the process that writes it; throws for a file that is none. */
  static openReadOnly(path: string): LookupReader {
    requireRegularFile(path)
    const sql = new DatabaseSync(path, { readOnly: true })
    // A transaction gives one view of all rows while others write.
    sql.exec('BEGIN')
    return new LookupReader(path, sql, readCoveredSize(sql))
  }

  /** 0 until another program writes into the file after it was opened, then a number that changes with each write. */
  foreignWrites(): number {
    return this.#dataVersion() - this.#openedVersion
  }

  #dataVersion(): number {
    return Number(prepareCachedStatement(this.sql, 'PRAGMA data_version').get()?.['data_version'])
  }

  /**
   * The number of entries that the cache covers. A process that reads it beside the writing node sees it up to a second
   * behind.
   */
  get reach(): number {
    return this.#reach
  }

  /** The newest entries with the trace id, in order. */
  ofTrace(traceId: string): readonly CallWithEnding[] {
    return this.#readCalls('SELECT seq, ended, late FROM lookup WHERE trace_id = ? ORDER BY seq DESC LIMIT ?', [
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
    const query = prepareCachedStatement(
      this.sql,
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
    return rows.map((row) => ({ ...toCallWithEnding(row), at: String(row['changed_at']) }))
  }

  /** Calls and what people decided about them, before `seq`, newest first. */
  listed(before: number, limit: number, traceId?: string): readonly CallWithEnding[] {
    const ofTrace = traceId === undefined ? '' : 'AND trace_id = ?'
    return this.#readCalls(
      `SELECT seq, ended, late FROM lookup WHERE listed = 1 AND seq < ? ${ofTrace} ORDER BY seq DESC LIMIT ?`,
      [before, ...(traceId === undefined ? [] : [traceId]), limit],
    )
  }

  /** Entries with the id of the task or session, in order. */
  ofWork({ taskId, sessionId }: TaskOrSessionReference): readonly CallWithEnding[] {
    const [column, id] = sessionId === undefined ? ['task_id', taskId] : ['session_id', sessionId]
    return this.#readCalls(`SELECT seq, ended, late FROM lookup WHERE ${column} = ? ORDER BY seq`, [id ?? ''])
  }

  /** Entries about the approval or grant, in order. */
  about(id: string): readonly CallWithEnding[] {
    return this.#readCalls('SELECT seq, ended, late FROM lookup WHERE about = ? ORDER BY seq', [id])
  }

  openCalls(): readonly number[] {
    return this.#readCalls(
      'SELECT seq, ended, late FROM lookup WHERE opens = 1 AND ended IS NULL ORDER BY seq',
      [],
    ).map(({ seq }) => seq)
  }

  /**
   * The rows as they are stored, in order, starting at `from`. Without `from` all rows, including those that another
   * program stored under negative numbers.
   */
  rows(from: number | undefined, limit: number): readonly LedgerLookupRow[] {
    this.flush()
    const rows =
      from === undefined
        ? readRowsRoundingUnsafeIntegers(
            prepareCachedStatement(this.sql, 'SELECT * FROM lookup ORDER BY seq LIMIT ?'),
            limit,
          )
        : readRowsRoundingUnsafeIntegers(
            prepareCachedStatement(this.sql, 'SELECT * FROM lookup WHERE seq >= ? ORDER BY seq LIMIT ?'),
            from,
            limit,
          )
    return rows as unknown as LedgerLookupRow[]
  }

  close(): void {
    this.sql.close()
  }

  /** Writes rows that a query has to see; a process that only reads has none. */
  protected flush(): void {}

  #readCalls(query: string, values: readonly (string | number)[]): readonly CallWithEnding[] {
    this.flush()
    return readRowsRoundingUnsafeIntegers(prepareCachedStatement(this.sql, query), ...values).map(toCallWithEnding)
  }
}

function toCallWithEnding(row: Readonly<Record<string, unknown>>): CallWithEnding {
  const place = (value: unknown): number | undefined => (value === null ? undefined : Number(value))
  return { seq: Number(row['seq']), ended: place(row['ended']), late: place(row['late']) }
}
