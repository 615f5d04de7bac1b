/**
 * Trail verification: reads the ledger and the decision trail side by side and reports every difference.
 *
 *   ledger          …  thought 17   call.exit   thought 19   body.erased 17  …
 *   thought_records …  row @17                  (deleted)                    …      ─▶ 19 is missing
 *
 * The ledger is the reference, because a chain that was deleted completely leaves no row to start from. Pieces of
 * bounded size are read, and one hash and a few numbers per task are kept, so that a long trail neither fills the
 * memory nor blocks the node.
 *
 * Pure: it reads through what it is given.
 */
import { canonicalJson } from '../../core/json.ts'
import { BODY_ERASED_KIND } from '../../ledger/entry-group.ts'
import { decodeEntry } from '../../ledger/entry.ts'
import { SESSION_START_KIND } from './session-entry.ts'
import { readTaskId } from '../task-entries.ts'
import {
  readCommittedThoughtContent,
  findThoughtContentFlaw,
  listDifferingThoughtColumns,
  THOUGHT_KIND,
  decodeThoughtEntry,
} from './thought-entry.ts'
import type { ThoughtRecordFlaw, StoredThoughtBody, StoredThoughtEntry } from './thought-entry.ts'
import { THOUGHT_CHAIN_GENESIS_HASH } from './thought.ts'
import type { ThoughtRow, ThoughtReader } from './thought-reader-store.ts'

/** The parts of the ledger that the verification reads. */
export interface TrailLedgerReader {
  readonly size: () => number
  readonly entries: (from: number, limit: number) => readonly LeafRow[]
  readonly entry: (seq: number) => LeafRow | undefined
  readonly body: (seq: number) => StoredThoughtBody | undefined
}

interface LeafRow {
  readonly seq: number
  readonly kind: string
  readonly bytes: Uint8Array
}

export interface ThoughtTrailToVerify {
  readonly leaves: TrailLedgerReader
  readonly thoughts: Pick<ThoughtReader, 'between' | 'beyond' | 'lastBefore'>
}

/** The range `[from, to)` of the ledger; only the records of one task or session, if one is given. */
export interface ThoughtTrailRange {
  readonly from: number
  readonly to: number
  readonly taskId?: string
  readonly sessionId?: string
}

export interface ThoughtTrailCounts {
  record_count: number
  broken_count: number
  missing_count: number
  erased_count: number
  first_broken_at?: string
}

interface Finding {
  readonly id: string
  readonly task_id: string
  readonly log_index: number
  readonly flaw: ThoughtRecordFlaw
}

export interface ThoughtTrailReport extends ThoughtTrailCounts {
  /** The first findings. */
  readonly findings: readonly Finding[]
  /** In order of first appearance. */
  readonly byTask: ReadonlyMap<string, ThoughtTrailCounts>
}

/** Ledger entries per piece, which bounds the memory and the time of one turn of the event loop. */
const PIECE = 1_000
/** The limit of listed findings; the counts are complete. */
const MAX_FINDINGS = 20

/** Yields after each piece, so that the caller decides whether to let others have a turn. */
export function* verifyThoughtTrail(
  trail: ThoughtTrailToVerify,
  stretch: ThoughtTrailRange,
): Generator<undefined, ThoughtTrailReport, void> {
  const walk = begin(trail, stretch)
  for (let from = stretch.from; from < stretch.to;) {
    const rows = trail.leaves.entries(from, Math.min(PIECE, stretch.to - from))
    const end = Math.min(stretch.to, (rows.at(-1)?.seq ?? stretch.to) + 1)
    compare(walk, rows, trail.thoughts.between(from, end))
    from = end
    yield
  }
  // Records that were added during the verification are after `to` and have entries; these records have none.
  for (const record of trail.thoughts.beyond(trail.leaves.size())) meet(walk, record, undefined)
  if (walk.bodiless.size > 0) lateErasures(walk)
  for (const record of walk.bodiless.values())
    if (concerns(stretch, record)) found(walk, 'broken_count', { ...record, flaw: 'content' })
  const { total, findings, byTask } = walk
  return { ...total, findings, byTask }
}

interface Walk {
  readonly trail: ThoughtTrailToVerify
  readonly stretch: ThoughtTrailRange
  /** The canonical JSON text of the id that is searched for; `undefined` when all records are verified. */
  readonly needle: string | undefined
  readonly total: ThoughtTrailCounts
  readonly byTask: Map<string, ThoughtTrailCounts>
  readonly findings: Finding[]
  /** Per task, the hash that the next record has to continue. */
  readonly lastHash: Map<string, string>
  /** Records without a body, until an entry is found that erased it. */
  readonly bodiless: Map<number, ThoughtRow>
  /** Entries whose texts were erased according to the ledger. */
  readonly erasures: Set<number>
  /** The highest position in the table so far: ledger and table have the same order. */
  lastSeq: number
}

function begin(trail: ThoughtTrailToVerify, stretch: ThoughtTrailRange): Walk {
  const needle = needleOf(stretch)
  return {
    trail,
    stretch,
    needle,
    total: emptyTally(),
    byTask: new Map(),
    findings: [],
    lastHash: new Map(),
    bodiless: new Map(),
    erasures: new Set(),
    lastSeq: -1,
  }
}

function needleOf({ taskId, sessionId }: ThoughtTrailRange): string | undefined {
  if (sessionId !== undefined) return `"session_id":${canonicalJson(sessionId)}`
  return taskId === undefined ? undefined : `"task_id":${canonicalJson(taskId)}`
}

/** Compares a piece of the ledger with the rows that claim to be in it; each side may lack what the other has. */
function compare(walk: Walk, rows: readonly LeafRow[], records: readonly ThoughtRow[]): void {
  const byIndex = new Map(records.map((record) => [record.log_index, record]))
  for (const row of rows) {
    if (row.kind === BODY_ERASED_KIND) accountForErasure(walk, row)
    const record = byIndex.get(row.seq)
    byIndex.delete(row.seq)
    const isOurs = mentions(walk, row) || (record !== undefined && concerns(walk.stretch, record))
    const leaf = isOurs ? decodeThoughtEntry(row.bytes) : undefined
    if (record !== undefined) meet(walk, record, leaf)
    else if (leaf !== undefined) miss(walk, row.seq, leaf)
  }
  // Rows at positions at which the ledger has no such entry.
  for (const record of byIndex.values()) meet(walk, record, undefined)
}

function mentions({ needle }: Walk, { kind, bytes }: LeafRow): boolean {
  return kind === THOUGHT_KIND && hasNeedle(needle, bytes)
}

/** Searches the bytes: decoding every entry to find those of one task would take most of the time. */
function hasNeedle(needle: string | undefined, bytes: Uint8Array): boolean {
  return needle === undefined || Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(needle)
}

function meet(walk: Walk, record: ThoughtRow, leaf: StoredThoughtEntry | undefined): void {
  // A record that was reassigned to another task or session still belongs to the one in the ledger.
  const isOurs = concerns(walk.stretch, record) || (leaf !== undefined && concerns(walk.stretch, ownersOf(leaf)))
  const flaw = isOurs ? flawOf(walk, record, leaf) : undefined
  // Also set for broken records, so that one break is one finding and not one in every later record.
  walk.lastHash.set(record.task_id, record.hash)
  walk.lastSeq = Math.max(walk.lastSeq, record.seq)
  if (!isOurs) return
  for (const tally of tallies(walk, record.task_id)) tally.record_count += 1
  if (flaw !== undefined) found(walk, 'broken_count', { ...record, flaw })
}

function flawOf(walk: Walk, record: ThoughtRow, leaf: StoredThoughtEntry | undefined): ThoughtRecordFlaw | undefined {
  if (leaf === undefined || listDifferingThoughtColumns(record, leaf).length > 0) return 'ledger'
  if (record.seq !== record.log_index || record.seq <= walk.lastSeq) return 'order'
  if (record.prev_hash !== previousHash(walk, record)) return 'link'
  const body = walk.trail.leaves.body(record.log_index)
  if (body === undefined) {
    walk.bodiless.set(record.log_index, record)
    return undefined
  }
  const content = readCommittedThoughtContent(leaf.entry, body)
  return content === undefined ? 'content' : findThoughtContentFlaw(record, content)
}

/** Read from the table if the verification began in the middle of the chain. */
function previousHash({ lastHash, trail }: Walk, { task_id, log_index }: ThoughtRow): string {
  return lastHash.get(task_id) ?? trail.thoughts.lastBefore(task_id, log_index)?.hash ?? THOUGHT_CHAIN_GENESIS_HASH
}

function miss(walk: Walk, index: number, leaf: StoredThoughtEntry): void {
  const owners = ownersOf(leaf)
  if (!concerns(walk.stretch, owners)) return
  found(walk, 'missing_count', { ...owners, log_index: index, flaw: 'missing' })
}

function accountForErasure(walk: Walk, { bytes }: LeafRow): void {
  const erasure = decodeEntry(bytes)
  const target = erasure.ok ? Number(erasure.value['entry']) : undefined
  if (target === undefined || walk.erasures.has(target)) return
  walk.erasures.add(target)
  const record = walk.bodiless.get(target)
  if (record === undefined) {
    if (isAudited(walk, target)) walk.total.erased_count += 1
    return
  }
  walk.bodiless.delete(record.log_index)
  if (concerns(walk.stretch, record)) for (const tally of tallies(walk, record.task_id)) tally.erased_count += 1
}

/** Whether the entry at `seq` is about a task or session of this verification. */
function isAudited({ trail, stretch }: Walk, seq: number): boolean {
  const row = trail.leaves.entry(seq)
  const entry = row && decodeEntry(row.bytes)
  if (entry?.ok !== true) return false
  const isOurs = readTaskId(entry.value) !== undefined || entry.value.kind === SESSION_START_KIND
  return isOurs && concerns(stretch, ownersOf({ entry: entry.value }))
}

/**
 * A text may be erased during the verification: then the entry about it is after `to`, and nothing was tampered with.
 */
function lateErasures(walk: Walk): void {
  const { leaves } = walk.trail
  for (let from = walk.stretch.to; from < leaves.size(); from += PIECE)
    for (const row of leaves.entries(from, PIECE)) {
      if (row.kind !== BODY_ERASED_KIND) continue
      accountForErasure(walk, row)
    }
}

function found(walk: Walk, count: 'broken_count' | 'missing_count', finding: Finding): void {
  const { id, task_id, log_index, flaw } = finding
  for (const tally of tallies(walk, task_id)) {
    tally[count] += 1
    tally.first_broken_at ??= id
  }
  if (walk.findings.length < MAX_FINDINGS) walk.findings.push({ id, task_id, log_index, flaw })
}

function tallies({ byTask, total }: Walk, taskId: string): readonly ThoughtTrailCounts[] {
  const known = byTask.get(taskId) ?? emptyTally()
  byTask.set(taskId, known)
  return [total, known]
}

interface Owners {
  readonly task_id: string
  readonly session_id: string | null
}

function concerns({ taskId, sessionId }: ThoughtTrailRange, { task_id, session_id }: Owners): boolean {
  return (taskId === undefined || task_id === taskId) && (sessionId === undefined || session_id === sessionId)
}

/** The owners according to the ledger, which is trusted here; `ledger_verify` checks the ledger itself. */
function ownersOf({ entry }: Pick<StoredThoughtEntry, 'entry'>): Owners & { readonly id: string } {
  const { id, task_id, session_id } = entry
  return {
    id: typeof id === 'string' ? id : '',
    task_id: typeof task_id === 'string' ? task_id : '',
    session_id: typeof session_id === 'string' ? session_id : null,
  }
}

function emptyTally(): ThoughtTrailCounts {
  return { record_count: 0, broken_count: 0, missing_count: 0, erased_count: 0 }
}
