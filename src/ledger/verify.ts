/**
 * Verify: the stored ledger held against itself and against what was signed. Everything is derived again from the
 * entries' bytes; no column, tile or checkpoint is believed because it is there.
 *
 *   entries ▸ canonical, in place, calls paired ▸ leaf hashes ▸ tiles ▸ roots ▸ every checkpoint, here and in the file
 *        ├──▸ bodies against their commitments
 *        ├──▸ which entry may follow which (projection.ts)
 *        └──▸ tables that repeat what entries say (entry-cache-store.ts), once all entries were read
 *
 * From an earlier checkpoint (`since`) it does the same for what came after. Of what came before it relies on full
 * tiles, whose root that signature covers, and does not read the entries again; nor are succession and tables looked at
 * then, since both follow from all entries.
 *
 * It yields between batches, so that a node can verify itself while it works, and ends at the entry that is last then.
 *
 * Reads through the stores it is given.
 */
import { setImmediate } from 'node:timers/promises'
import { equalBytes } from '../core/bytes.ts'
import { thrownMessage } from '../core/thrown.ts'
import { Audit, CALL_ENTER, closedCall } from './audit.ts'
import { BodyAudit } from './body-audit.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import { cachedEntry } from './cached-entry.ts'
import type { CacheAudit } from './entry-cache-store.ts'
import { Edge } from './edge.ts'
import type { FullTile } from './edge.ts'
import { ExpectedRoots } from './expected-roots.ts'
import { Findings } from './finding.ts'
import type { Finding } from './finding.ts'
import type { BodyRow, EntryRow, LedgerStore } from './ledger-store.ts'
import { SuccessionAudit } from './projection.ts'
import type { AnyProjection, ContentAudit } from './projection.ts'
import { parseVerifierKey } from './note-key.ts'
import type { VerifierKey } from './note-key.ts'
import { levelCount, TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, tileNode } from './tile.ts'
import { leafHash } from './tree.ts'

export interface VerifyOptions {
  /** Verify only what came after this checkpoint, which must be one this log signed. */
  readonly since?: SignedCheckpoint | undefined
  readonly onProgress?: ((checked: number, size: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Stored {
  readonly store: LedgerStore
  readonly checkpoints: CheckpointStore
  readonly key: VerifierKey
  /** The file beside the database. */
  readonly lastSigned: { readonly path: string; readonly text: Uint8Array | undefined }
  /** Of the tables of the same database that repeat what entries say. */
  readonly cacheAudits?: () => readonly CacheAudit[]
  /** Whose rules say which entry may follow which. */
  readonly projections?: readonly AnyProjection[]
  /** Of what is stored beside the log under hashes that the log has. */
  readonly contents?: readonly ContentAudit[]
  /** What is not as this program made it, in the whole database; without it only the ledger's own tables are compared. */
  readonly schema?: (() => readonly string[]) | undefined
}

export interface VerifyReport {
  /** The first entry that was read; above 0 only for an incremental run. */
  readonly from: number
  readonly size: number
  /** `undefined` when entries are missing, so that the tree cannot be known. */
  readonly root: Uint8Array | undefined
  /** Empty when all is well. */
  readonly findings: readonly Finding[]
  /** Findings beyond those listed. */
  readonly more: number
  /** Bodies that are gone because an entry, among those that were read, says that they were erased. */
  readonly erased: number
  /** Whether the tables that repeat the log were compared: only where every entry was read. */
  readonly compared: boolean
}

/** Rejects only when `signal` says so; whatever else goes wrong is a finding. */
export async function verifyStored(stored: Stored, options: VerifyOptions = {}): Promise<VerifyReport> {
  const findings = new Findings()
  let run: Verification | undefined
  try {
    const verification = new Verification(stored, findings, options.since)
    run = verification
    verification.begin()
    while (stored.store.reading(() => verification.turn())) {
      options.onProgress?.(verification.next, stored.store.size())
      await setImmediate()
      options.signal?.throwIfAborted()
    }
  } catch (error) {
    if (options.signal?.aborted === true) throw error
    // What SQLite cannot read somebody may have written.
    findings.add({ kind: 'unreadable', reason: thrownMessage(error) })
  } finally {
    run?.close()
  }
  const { list, more } = findings
  return {
    from: run?.from ?? 0,
    size: run?.next ?? 0,
    root: run?.root(),
    findings: list,
    more,
    erased: run?.erased() ?? 0,
    compared: run?.compared ?? false,
  }
}

/** One tile per turn of the event loop: a few milliseconds. */
const BATCH = TILE_WIDTH

class Verification {
  readonly #stored: Stored
  readonly #findings: Findings
  readonly #since: SignedCheckpoint | undefined
  readonly #audit: Audit
  readonly #bodyAudit: BodyAudit
  readonly #roots: ExpectedRoots
  /** Those that still have rows to compare. */
  readonly #cacheAudits: CacheAudit[]
  readonly #opened: readonly CacheAudit[]
  /** Absent where it does not begin with the first entry: what may follow depends on everything before it. */
  readonly #succession: SuccessionAudit | undefined
  readonly #witnesses = new Map<string, VerifierKey | undefined>()
  /** Grows with the entries; gone once one is missing, because the tree after a gap cannot be known. */
  #edge: Edge | undefined
  readonly from: number
  next: number
  compared = false

  constructor(stored: Stored, findings: Findings, since: SignedCheckpoint | undefined) {
    const { store, key, cacheAudits = () => [], projections = [] } = stored
    this.#stored = stored
    this.#findings = findings
    this.#since = since
    this.from = Math.floor(Math.min(since?.checkpoint.size ?? 0, store.size()) / TILE_WIDTH) * TILE_WIDTH
    this.next = this.from
    this.#audit = new Audit(this.#findings, this.from, this.#wasOpen)
    this.#bodyAudit = new BodyAudit(this.#findings, (seq) => store.bodyIsGone(seq))
    this.#roots = new ExpectedRoots(this.#findings, key)
    this.#succession = this.from > 0 ? undefined : new SuccessionAudit(projections)
    this.#opened = this.from > 0 ? [] : cacheAudits()
    this.#cacheAudits = [...this.#opened]
  }

  begin(): void {
    const { store, checkpoints, lastSigned, schema = () => store.alteredSchema() } = this.#stored
    for (const name of schema()) this.#findings.add({ kind: 'schema-differs', name })
    this.#readWitnesses()
    if (this.#since !== undefined) this.#roots.expect('given', this.#since.checkpoint)
    const newest = checkpoints.latest()
    if (lastSigned.text !== undefined) this.#roots.expectNote('file', lastSigned.text)
    else if (newest !== undefined) this.#findings.add({ kind: 'last-signed-missing', path: lastSigned.path })
    this.#expectCheckpoints(this.from - 1, this.from)
    const edge = Edge.at(this.from, (level, at, count) => store.partialTile(level, at, count), this.#checkTile)
    this.#edge = edge
    this.#roots.reached(this.from, () => edge.root())
  }

  /** `false` when everything was read. The last entries and what must agree with all of them are seen in one view. */
  turn(): boolean {
    // Also while rows are compared: what changed a row since the last turn is read before the row is.
    if (this.#batch()) return true
    const [audit] = this.#cacheAudits
    if (audit !== undefined) {
      if (!audit.compare((finding) => this.#findings.add(finding))) this.#cacheAudits.shift()
      return true
    }
    this.compared = this.from === 0
    this.#end()
    return false
  }

  /** `false` when the last entry was read. */
  #batch(): boolean {
    const { store } = this.#stored
    const rows = store.entries(this.next, BATCH)
    const last = rows.at(-1)
    if (last === undefined) return false
    this.#expectCheckpoints(this.next, last.seq + 1)
    const bodies = new Map(store.bodies(this.next, last.seq + 1).map((body) => [body.seq, body]))
    for (const row of rows) this.#checkRow(row, bodies)
    for (const seq of bodies.keys()) this.#findings.add({ kind: 'body-without-entry', seq })
    return rows.length === BATCH
  }

  #end(): void {
    const { store } = this.#stored
    this.#expectCheckpoints(this.next, Number.MAX_SAFE_INTEGER)
    this.#roots.ended(this.next)
    this.#bodyAudit.ended()
    for (const seq of store.strayBodies(this.next)) this.#findings.add({ kind: 'body-without-entry', seq })
    this.#checkOpenCalls()
    for (const { seq, kind: of, why } of this.#succession?.unlawful ?? [])
      this.#findings.add({ kind: 'entry-unlawful', seq, of, why })
    const succession = this.#succession
    if (succession !== undefined)
      for (const find of this.#stored.contents ?? [])
        for (const finding of find((projection) => succession.state(projection))) this.#findings.add(finding)
    const [expected, found] = [fullTiles(this.next), store.tileCount()]
    if (found > expected) this.#findings.add({ kind: 'tiles-superfluous', expected, found })
  }

  close(): void {
    for (const audit of this.#opened) audit.close()
  }

  root(): Uint8Array | undefined {
    return this.#edge?.root()
  }

  erased(): number {
    return this.#bodyAudit.erased
  }

  #checkRow(row: EntryRow, bodies: Map<number, BodyRow>): void {
    const { seq, kind, closes, bytes } = row
    if (seq !== this.next) {
      this.#findings.add({ kind: 'entries-missing', from: this.next, to: seq - 1 })
      this.#edge = undefined
    }
    this.next = seq + 1
    const entry = this.#audit.read(seq, bytes)
    if (entry !== undefined) {
      if (kind !== entry.kind) this.#findings.add({ kind: 'column-differs', seq, column: 'kind' })
      if (closes !== (closedCall(entry) ?? null)) this.#findings.add({ kind: 'column-differs', seq, column: 'closes' })
      this.#bodyAudit.read(entry, seq, bodies.get(seq))
      this.#succession?.read(entry)
      const audits = this.#cacheAudits.filter((audit) => audit.handles(entry.kind))
      const cached = audits.length > 0 ? cachedEntry(entry, bytes, this.#stored.store) : undefined
      if (cached !== undefined) for (const audit of audits) audit.read(cached)
    }
    bodies.delete(seq)
    const edge = this.#edge
    if (edge === undefined) return
    edge.append(leafHash(bytes))
    this.#roots.reached(this.next, () => edge.root())
  }

  readonly #checkTile = ({ level, index, nodes }: FullTile): void => {
    const row = this.#stored.store.tile(level, index)
    const same =
      row !== undefined &&
      equalBytes(row.hashes, nodes.subarray(0, TILE_BYTES)) &&
      equalBytes(row.root, tileNode(nodes, TILE_HEIGHT, 0))
    if (!same) this.#findings.add({ kind: 'tile-differs', level, index })
  }

  #expectCheckpoints(above: number, upTo: number): void {
    const rows = this.#stored.checkpoints.between(above, upTo)
    // A witness may have cosigned for the first time while this run was going on.
    const witnesses = rows.some(({ cosignatures }) => cosignatures > 0) ? this.#readWitnesses() : []
    for (const row of rows) this.#roots.expectStored(row, witnesses)
  }

  #readWitnesses(): VerifierKey[] {
    for (const vkey of this.#stored.checkpoints.witnesses()) {
      if (this.#witnesses.has(vkey)) continue
      const key = parseVerifierKey(vkey)
      this.#witnesses.set(vkey, key.ok ? key.value : undefined)
      if (!key.ok) this.#findings.add({ kind: 'witness-key-unreadable', vkey })
    }
    return [...this.#witnesses.values()].filter((key) => key !== undefined)
  }

  /** For a call that began before the first entry of this run. */
  readonly #wasOpen = (call: number, seq: number): boolean => {
    const { store } = this.#stored
    const closers = store.closersOf(call)
    return store.entry(call)?.kind === CALL_ENTER && closers.length === 1 && closers[0] === seq
  }

  #checkOpenCalls(): void {
    const { store } = this.#stored
    const listed = new Set(store.openCalls())
    for (const call of this.#audit.open)
      if (!listed.delete(call)) this.#findings.add({ kind: 'open-calls-differ', call })
    for (const call of listed) {
      const open = call < this.from && store.entry(call)?.kind === CALL_ENTER && store.closersOf(call).length === 0
      if (!open) this.#findings.add({ kind: 'open-calls-differ', call })
    }
  }
}

/** How many full tiles, on all levels, the entries make. */
function fullTiles(size: number): number {
  let count = 0
  for (let level = 1; levelCount(level, size) > 0; level++) count += levelCount(level, size)
  return count
}
