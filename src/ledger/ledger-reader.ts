/**
 * Ledger reader: what the log says, entry by entry and call by call. It reads the log itself; the cache of lookups only
 * says where to look.
 */
import { setImmediate } from 'node:timers/promises'
import type { TaskOrSessionReference } from '../core/fault.ts'
import type { Json } from '../core/json.ts'
import { createEntryCacheInput } from './entry-cache-input.ts'
import type { EntryAndBodyReader } from './entry-cache-input.ts'
import type { EntryCacheInput } from './entry-cache-store.ts'
import { readEndedCallSeq, readLateOutcomeCallSeq } from './call-entry.ts'
import { decodeEntry, decodeReadableEntries } from './entry.ts'
import type { LedgerEntry, StoredEntry, StoredEntryBytes } from './entry.ts'
import { computeCommitmentHash, decodeEntryBody } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'
import type { LogStore } from './log-store.ts'
import { formatErasureLookupKey, toLookupRow } from './lookup-store.ts'
import type { CallWithEnding, LedgerLookupRow, RecordedChangeQuery } from './lookup-reader-store.ts'
import type { LookupStore } from './lookup-store.ts'

export type BodyState =
  | { readonly kind: 'kept'; readonly body: Json }
  | { readonly kind: 'erased' }
  /** The stored body is not the one that the entry commits to, so it is not shown. */
  | { readonly kind: 'altered' }
  | { readonly kind: 'none' }

/** A change and its record; without `entry` where its bytes are damaged, which `verify` reports. */
export interface RecordedChange {
  readonly seq: number
  readonly at: string
  readonly entry?: LedgerEntry
  /** Absent while the call is running. */
  readonly end?: LedgerEntry
  /** The newest late outcome of the call. */
  readonly late?: LedgerEntry
}

/** An entry with its body; without one where it has none, or it was erased. */
export interface LedgerEntryWithBody {
  readonly seq: number
  readonly event: LedgerEntry
  readonly body?: Json
}

interface LeafOfKind {
  readonly seq: number
  /** The kind of the entry; empty for bytes that are not an entry. */
  readonly kind: string
  readonly bytes: Uint8Array
}

/** Reads entries and bodies, including those of works that are running. */
export interface RecordedEntryReader extends EntryAndBodyReader {
  readonly size: () => number
  readonly entry: (seq: number) => LeafOfKind | undefined
  readonly entries: (from: number, limit: number) => readonly LeafOfKind[]
}

export interface RecordedCall {
  readonly seq: number
  readonly entry?: LedgerEntry
  readonly end?: LedgerEntry
  readonly late?: LedgerEntry
}

export abstract class LedgerReader {
  protected readonly log: LogStore
  protected readonly lookup: LookupStore

  protected constructor(log: LogStore, lookup: LookupStore) {
    this.log = log
    this.lookup = lookup
  }

  /** Whether the log says that the body of the entry was erased. */
  protected abstract isErased(seq: number): boolean

  /** The number of entries; inside a work it includes those that are not durable yet. */
  size(): number {
    return this.log.pendingSize
  }

  /** The entries and bodies as they are stored. */
  get leaves(): RecordedEntryReader {
    const log = this.log
    return {
      size: () => log.pendingSize,
      entry: (seq) => {
        const row = log.entry(seq)
        return row && withKind(row)
      },
      entries: (from, limit) => log.entries(from, limit).map(withKind),
      body: (seq) => log.body(seq),
    }
  }

  /** Every entry from `from` on, in order, with its body where one is stored: the input of projections. */
  *records(from = 0, to = this.size()): Generator<LedgerEntryWithBody> {
    for (let seq = from; seq < to; seq++) {
      const entry = this.entry(seq)?.entry
      if (entry === undefined) continue
      const stored = this.body(seq)
      yield stored.kind === 'kept' ? { seq, event: entry, body: stored.body } : { seq, event: entry }
    }
  }

  /** The next thousand entries from `from` on, as input for the tables that copy them. */
  cached(from: number): readonly { readonly seq: number; readonly cached: EntryCacheInput | undefined }[] {
    return this.log.entries(from, CACHED_PIECE).map(({ seq, bytes }) => {
      const decoded = decodeEntry(bytes)
      return { seq, cached: decoded.ok ? createEntryCacheInput(decoded.value, bytes, this.log) : undefined }
    })
  }

  /** The entry; `undefined` when there is none, or its bytes are no longer an entry. */
  entry(seq: number): StoredEntry | undefined {
    const [found] = this.entries(seq, 1)
    return found?.entry.seq === seq ? found : undefined
  }

  /** The entries in order, starting at `from`; unreadable ones are skipped, and `verify` reports them. */
  entries(from: number, limit: number): readonly StoredEntry[] {
    return decodeReadableEntries(this.log.entries(from, limit))
  }

  /**
   * The newest entries with a trace id, and the ends of the calls among them. The caller may choose the id (W3C Trace
   * Context), so it proves neither the time, nor that the entries belong to one call or one caller.
   */
  entriesOfTrace(traceId: string): readonly LedgerEntry[] {
    return this.#readAll(this.lookup.ofTrace(traceId), ({ trace_id: of }) => of === traceId)
  }

  /** The entries of a task or a session, and the ends of the calls among them. */
  entriesOfWork(work: TaskOrSessionReference): readonly LedgerEntry[] {
    const { taskId, sessionId } = work
    return this.#readAll(this.lookup.ofWork(work), (row) =>
      sessionId === undefined ? row.task_id === taskId : row.session_id === sessionId,
    )
  }

  /** The entries about an approval or a grant, or about the erasure of an entry's body. */
  entriesAbout(subject: string | number): readonly LedgerEntry[] {
    const key = typeof subject === 'number' ? formatErasureLookupKey(subject) : subject
    return this.#readAll(this.lookup.about(key), ({ about }) => about === key)
  }

  /** Reads the entries and keeps those whose own fields match the query, whatever the cache says of them. */
  #readAll(calls: readonly CallWithEnding[], isWanted: (row: LedgerLookupRow) => boolean): readonly LedgerEntry[] {
    const found = new Map<number, LedgerEntry>()
    for (const call of calls) {
      const { entry, end, late } = this.#readCall(call)
      const row = entry && toLookupRow(entry.seq, entry.at, entry)
      if (row === undefined || !isWanted(row)) continue
      for (const each of [entry, end, late]) if (each !== undefined) found.set(each.seq, each)
    }
    return [...found.values()].toSorted((one, other) => one.seq - other.seq)
  }

  /** Changes and attempts: calls with their ends, and people's decisions; newest first by the clock. */
  changes(query: RecordedChangeQuery): readonly RecordedChange[] {
    return this.lookup.changes(query).map(({ at, ...call }) => ({ at, ...this.#readCall(call) }))
  }

  /** Calls, and prepared or decided changes, before an entry, newest first; only of one trace, if one is given. */
  listed(before: number, limit: number, traceId?: string): readonly RecordedCall[] {
    return this.lookup.listed(before, limit, traceId).map((call) => this.#readCall(call))
  }

  #readCall({ seq, ended, late: lateSeq }: CallWithEnding): RecordedCall {
    const entryAt = (place: number | undefined): LedgerEntry | undefined =>
      place === undefined ? undefined : this.entry(place)?.entry
    const [entry, end, late] = [entryAt(seq), entryAt(ended), entryAt(lateSeq)]
    return {
      seq,
      ...(entry && { entry }),
      // An end that belongs to another call is not shown as this one's, whatever the cache says.
      ...(end && readEndedCallSeq(end) === seq && { end }),
      ...(late && readLateOutcomeCallSeq(late) === seq && { late }),
    }
  }

  body(seq: number): BodyState {
    const committed = this.entry(seq)?.entry['body_hash']
    if (committed === undefined) return { kind: 'none' }
    // Whatever another program has put there since.
    if (this.isErased(seq)) return { kind: 'erased' }
    const stored = this.#committedBody(seq, committed)
    // This node erased only what is on record as erased.
    const body = stored && decodeEntryBody(stored.body)
    return body === undefined ? { kind: 'altered' } : { kind: 'kept', body }
  }

  /**
   * The salt and content that the entry's `body_hash` commits to, for callers that may read it; `undefined` when it was
   * erased, or the stored one is another.
   */
  opening(seq: number): SaltedBody | undefined {
    const committed = this.entry(seq)?.entry['body_hash']
    return committed === undefined || this.isErased(seq) ? undefined : this.#committedBody(seq, committed)
  }

  #committedBody(seq: number, committed: Json): SaltedBody | undefined {
    const stored = this.log.body(seq)
    return stored !== undefined && computeCommitmentHash(stored.salt, stored.body) === committed ? stored : undefined
  }

  /**
   * Like `changes`, from an entry on, and from the log alone: for a caller that acts on what the cache of lookups may
   * not list. Other work has its turn meanwhile; when it resolves, the list has the newest entry.
   */
  async changesInLog(from: number): Promise<readonly RecordedChange[]> {
    const found = new Map<number, RecordedChange>()
    for (let next = Math.max(0, from); ;) {
      const end = Math.min(next + READ_AT_ONCE, this.log.size)
      for (const { entry } of this.entries(next, end - next)) addChange(found, entry)
      next = end
      if (next >= this.log.size) break
      await setImmediate()
    }
    return [...found.values()].toSorted((one, other) => compareTexts(other.at, one.at) || other.seq - one.seq)
  }

  /** Changes when another program has written into the cache of lookups. */
  foreignLookupWrites(): number {
    return this.lookup.foreignWrites()
  }
}

/** How many entries are read at once for the tables that copy the log. */
const CACHED_PIECE = 1_000
/** Some milliseconds. */
const READ_AT_ONCE = 2_048

function addChange(found: Map<number, RecordedChange>, entry: LedgerEntry): void {
  const { seq, at } = entry
  if ((toLookupRow(seq, at, entry)?.changed_at ?? null) !== null) found.set(seq, { seq, at, entry })
  const [ended, late] = [found.get(readEndedCallSeq(entry) ?? -1), found.get(readLateOutcomeCallSeq(entry) ?? -1)]
  if (ended !== undefined) found.set(ended.seq, { ...ended, end: entry })
  if (late !== undefined) found.set(late.seq, { ...late, late: entry })
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** `undefined` when there is none, or its bytes are not an entry. */
export function readLogEntry(log: Pick<LogStore, 'entry'>, seq: number): LedgerEntry | undefined {
  const row = log.entry(seq)
  const decoded = row && decodeEntry(row.bytes)
  return decoded?.ok === true ? decoded.value : undefined
}

function withKind(row: StoredEntryBytes): LeafOfKind {
  const decoded = decodeEntry(row.bytes)
  return { ...row, kind: decoded.ok ? decoded.value.kind : '' }
}
