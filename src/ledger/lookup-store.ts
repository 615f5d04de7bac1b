/**
 * Lookup store: finds entries by what they say of themselves (lookup-reader-store.ts). A cache in a file of its own: it
 * contains nothing that the entries do not say, is updated from them when the log is opened, and can be deleted. Rows are
 * written in the background, many at once, and before each query; a call does not wait for them.
 */
import { prepareCachedStatement } from '../core/prepared-statement-store.ts'
import { requireRegularFile } from '../core/bounded-file-store.ts'
import { BODY_ERASED_KIND } from './entry-group.ts'
import type { LedgerEntry, LedgerEvent } from './entry.ts'
import { LookupReader } from './lookup-reader-store.ts'
import type { LedgerLookupRow } from './lookup-reader-store.ts'
import { openLookupCache, readCoveredSize } from './lookup-schema-store.ts'
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
/** How many rows are written at once; this takes a few milliseconds. */
const FLUSH_ROWS = 2_048
const FLUSH_MS = 1_000

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

export class LookupStore extends LookupReader {
  /** The rows that are not written yet, by entry. */
  readonly #rows = new Map<number, PendingRow>()
  readonly #updates: CallUpdate[] = []
  /** The number of entries that the stored and the pending rows cover. */
  #size: number
  #written: number
  #timer: NodeJS.Timeout | undefined

  constructor(path: string) {
    requireRegularFile(path)
    super(path, openLookupCache(path), Infinity)
    this.#size = readCoveredSize(this.sql)
    this.#written = this.#size
  }

  get size(): number {
    return this.#size
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
      if (this.sql.isTransaction) this.sql.exec('ROLLBACK')
    }
  }

  /** Removes later rows, because the log is shorter than this table. */
  cut(size: number): void {
    this.flush()
    prepareCachedStatement(this.sql, 'DELETE FROM lookup WHERE seq >= ?').run(size)
    prepareCachedStatement(this.sql, 'UPDATE lookup SET ended = NULL WHERE ended >= ?').run(size)
    // The cache does not know which outcome was the newest before the removed one, so it is built again.
    if (prepareCachedStatement(this.sql, 'SELECT 1 FROM lookup WHERE late >= ? LIMIT 1').get(size) !== undefined)
      return this.clear()
    prepareCachedStatement(this.sql, 'UPDATE applied SET size = ?').run(size)
    this.#size = size
    this.#written = size
  }

  /** Empties the cache, because it contradicts the entries; it is then filled from them again. */
  clear(): void {
    this.#rows.clear()
    this.#updates.length = 0
    this.sql.exec('BEGIN; DELETE FROM lookup; UPDATE applied SET size = 0; COMMIT')
    this.#size = 0
    this.#written = 0
  }

  override flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#size === this.#written) return
    this.sql.exec('BEGIN')
    const insert = prepareCachedStatement(
      this.sql,
      'INSERT OR REPLACE INTO lookup VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    )
    for (const row of this.#rows.values()) {
      const { seq, listed, opens, trace_id, task_id, session_id, about, changed_at, ended, late } = row
      insert.run(seq, listed, opens, trace_id, task_id, session_id, about, changed_at, ended, late)
    }
    for (const { call, column, seq } of this.#updates)
      prepareCachedStatement(this.sql, `UPDATE lookup SET ${column} = ? WHERE seq = ?`).run(seq, call)
    prepareCachedStatement(this.sql, 'UPDATE applied SET size = ?').run(this.#size)
    this.sql.exec('COMMIT')
    this.#rows.clear()
    this.#updates.length = 0
    this.#written = this.#size
  }

  override close(): void {
    this.#tryFlush()
    clearTimeout(this.#timer)
    super.close()
  }
}
