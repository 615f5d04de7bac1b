/**
 * Ledger verification: one run over a stored ledger, bundle by bundle.
 *
 * Reads through the stores it is given.
 */
import { areBytesEqual } from '../core/bytes.ts'
import { CallAudit } from './call-audit.ts'
import { CALL_ENTER_KIND, readClosedCall, readLateOutcomeCall } from './call-entry.ts'
import { EntryBodyAudit } from './body-audit.ts'
import { sliceSaltedBody } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'
import { openCheckpoint, formatCheckpointFault } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { toCachedEntry } from './cached-entry.ts'
import { GrowingTreeEdge } from './stored-tree.ts'
import type { CompletedTile } from './stored-tree.ts'
import { ExpectedCheckpointRoots } from './expected-roots.ts'
import { isBodyMissing } from './erasure.ts'
import type { EntryCacheAudit } from './entry-cache-store.ts'
import type { LedgerFindings } from './ledger-finding.ts'
import { SuccessionAudit } from './projection.ts'
import { decodeEntry } from './entry.ts'
import type { LedgerEntry } from './entry.ts'
import { toLookupRow } from './lookup-store.ts'
import type { LedgerLookupRow } from './lookup-store.ts'
import { parseVerifierKey } from './note-key.ts'
import type { VerifierKey } from './note-key.ts'
import {
  formatBodiesPath,
  decodeEntryBundle,
  encodeEntryBundle,
  expandTile,
  TILE_BYTES,
  TILE_HEIGHT,
  TILE_WIDTH,
  readTileNode,
  formatTilePath,
  listTiles,
} from './tile.ts'
import type { TileCoordinates } from './tile.ts'
import { countCommittedTableEntries } from './tail-reader-store.ts'
import type { TailContents } from './tail-reader-store.ts'
import type { LogToVerify, LogVerificationOptions } from './log-verification.ts'

export class LedgerVerification {
  readonly #stored: LogToVerify
  readonly #findings: LedgerFindings
  readonly #options: LogVerificationOptions
  readonly #audit: CallAudit
  readonly #bodyAudit: EntryBodyAudit
  readonly #hasBodies: boolean
  readonly #roots: ExpectedCheckpointRoots
  /** The audits that still have rows to compare. */
  readonly #cacheAudits: EntryCacheAudit[]
  readonly #opened: readonly EntryCacheAudit[]
  /** Absent where the run does not begin with the first entry: what may follow depends on everything before it. */
  readonly #succession: SuccessionAudit | undefined
  readonly #witnesses = new Map<string, VerifierKey | undefined>()
  /** Grows with the entries; dropped once one is missing, because the tree after a gap is unknown. */
  #edge: GrowingTreeEdge | undefined
  /** The expected lookup rows of entries that were read and not compared yet. */
  #lookups = new Map<number, LedgerLookupRow>()
  #ends = new Map<number, number>()
  #lates = new Map<number, number>()
  #compared = false
  /** The largest tree that witnesses had cosigned, as starts say. */
  #cosigned = 0
  /** Of the bundle that is being read. */
  #bundled: readonly Uint8Array[] = []
  published: SignedCheckpoint | undefined
  readonly from: number
  next: number
  compared = false

  constructor(stored: LogToVerify, findings: LedgerFindings, options: LogVerificationOptions) {
    const { log, key, cacheAudits = () => [], projections = [] } = stored
    this.#stored = stored
    this.#findings = findings
    this.#options = options
    this.published = this.#readPublished()
    this.from = Math.floor(Math.min(options.since?.checkpoint.size ?? 0, this.#size()) / TILE_WIDTH) * TILE_WIDTH
    this.next = this.from
    this.#audit = new CallAudit(this.#findings, this.from, this.#isCall)
    this.#bodyAudit = new EntryBodyAudit(this.#findings, (seq) => isBodyMissing(log, seq))
    this.#hasBodies = stored.tail !== undefined || log.tiles.has('bodies')
    this.#roots = new ExpectedCheckpointRoots(this.#findings, key)
    this.#succession = this.from > 0 ? undefined : new SuccessionAudit(projections)
    this.#opened = this.from > 0 ? [] : cacheAudits()
    this.#cacheAudits = [...this.#opened]
  }

  begin(): void {
    const { checkpoints, lastSigned, schema, log, tail } = this.#stored
    for (const name of schema?.() ?? []) this.#findings.add({ kind: 'schema-differs', name })
    if (tail !== undefined && log.damage !== undefined) this.#findings.add({ kind: 'unreadable', reason: log.damage })
    this.#readWitnesses()
    const { since, kept = [] } = this.#options
    for (const { checkpoint } of since === undefined ? kept : [since, ...kept]) this.#roots.expect('given', checkpoint)
    if (this.published !== undefined) this.#roots.expect('export', this.published.checkpoint)
    const newest = checkpoints?.latest()
    this.#checkOrder()
    if (lastSigned?.text !== undefined) this.#roots.expectNote('file', lastSigned.text)
    else if (lastSigned !== undefined && newest !== undefined)
      this.#findings.add({ kind: 'last-signed-missing', path: lastSigned.path })
    this.#expectCheckpoints(this.from - 1, this.from)
    const edge = GrowingTreeEdge.at(this.from, (level, at, count) => this.#tileRoots(level, at, count), this.#checkTile)
    this.#edge = edge
    this.#roots.reached(this.from, edge)
  }

  /**
   * The file is written first, then the checkpoint beside the tiles, then the row: whichever is behind was restored.
   */
  #checkOrder(): void {
    const { lastSigned, newestRow = 0, key } = this.#stored
    const reason = 'it is older than the newest one that the database has'
    if (this.published !== undefined && this.published.checkpoint.size < newestRow)
      this.#findings.add({ kind: 'checkpoint-untrusted', where: 'export', reason })
    const file = lastSigned?.text === undefined ? undefined : openCheckpoint(lastSigned.text, key)
    if (file?.ok === true && file.value.checkpoint.size < newestRow)
      this.#findings.add({ kind: 'checkpoint-untrusted', where: 'file', reason })
  }

  /**
   * `false` when everything was read. The last entries, and everything that must agree with all of them, are read in
   * one view.
   */
  turn(): boolean {
    // Also while rows are compared: an entry that changed a row since the last turn is read before the row is.
    if (this.#bundle()) return true
    const [audit] = this.#cacheAudits
    if (audit !== undefined) {
      if (!audit.compare((finding) => this.#findings.add(finding))) this.#cacheAudits.shift()
      return true
    }
    this.compared = this.from === 0
    this.#end()
    return false
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

  /** `false` when the last entry was read. */
  #bundle(): boolean {
    const size = this.#size()
    if (this.next >= size) return false
    const index = Math.floor(this.next / TILE_WIDTH)
    const first = index * TILE_WIDTH
    const width = Math.min(TILE_WIDTH, size - first)
    this.#expectCheckpoints(this.next, first + width)
    const entries = this.#entriesOf({ level: 'entries', index, width })
    if (entries === undefined) {
      this.#edge = undefined
      this.next = first + width
      return true
    }
    const bodies = this.#bodiesOf(index)
    this.#bundled = entries
    this.#compareBundle({ level: 'entries', index, width }, entries, bodies)
    // Those that were read in an earlier turn, when the bundle was shorter.
    for (let seq = first; seq < this.next; seq++) bodies?.delete(seq)
    for (const bytes of entries.slice(this.next - first)) this.#checkEntry(this.next, bytes, bodies)
    if (bodies !== undefined)
      for (const [seq] of bodies) if (seq < this.next) this.#findings.add({ kind: 'body-without-entry', seq })
    return true
  }

  /**
   * Entries that the tail still has were read from there; others read the files, which a checkpoint has made durable.
   */
  #compareBundle(
    name: TileCoordinates,
    entries: readonly Uint8Array[],
    bodies: Map<number, SaltedBody> | undefined,
  ): void {
    const { log, tail } = this.#stored
    const first = name.index * TILE_WIDTH
    const isPublished = first + TILE_WIDTH <= (this.published?.checkpoint.size ?? 0)
    if (tail === undefined || first < log.base || !isPublished) return
    this.#compareTile(name, encodeEntryBundle(entries))
    const stored = log.tiles.bodies(name.index)
    const records = new Map(
      stored?.records.map((record) => [first + record.index, sliceSaltedBody(stored.bytes, record)]),
    )
    const isSame = [...(bodies ?? [])].every(([seq, body]) => {
      const kept = records.get(seq)
      return kept !== undefined && areBytesEqual(kept.salt, body.salt) && areBytesEqual(kept.body, body.body)
    })
    if (!isSame || records.size !== (stored?.records.length ?? 0) || records.size < (bodies?.size ?? 0))
      this.#findings.add({
        kind: 'unreadable',
        reason: `${formatBodiesPath(name.index)} does not hold what its entries commit to`,
      })
  }

  /** From the files; entries that are in no full bundle yet are read from the tail or the partial bundle. */
  #entriesOf(name: TileCoordinates): readonly Uint8Array[] | undefined {
    const { log, tail } = this.#stored
    const first = name.index * TILE_WIDTH
    if (tail !== undefined && first >= log.base) return log.entries(first, name.width).map(({ bytes }) => bytes)
    const bundle = log.tiles.tile(name)
    if (bundle === undefined) {
      this.#findings.add({ kind: 'file-missing', path: formatTilePath(name) })
      return undefined
    }
    const decoded = decodeEntryBundle(bundle, name.width)
    if (decoded.ok) return decoded.value
    const reason =
      decoded.fault.kind === 'cut-off' ? 'it ends in the middle of an entry' : `it holds ${decoded.fault.count} entries`
    this.#findings.add({ kind: 'bundle-unreadable', index: name.index, reason })
    return undefined
  }

  /** By entry. `undefined` where there are none at all, as in an export without bodies. */
  #bodiesOf(index: number): Map<number, SaltedBody> | undefined {
    if (!this.#hasBodies) return undefined
    const { log, tail } = this.#stored
    const first = index * TILE_WIDTH
    const found = new Map<number, SaltedBody>()
    if (tail !== undefined && first >= log.base) {
      for (let seq = first; seq < Math.min(first + TILE_WIDTH, log.size); seq++) {
        const body = log.body(seq)
        if (body !== undefined) found.set(seq, body)
      }
      return found
    }
    const stored = log.tiles.bodies(index)
    if (stored === undefined && log.tiles.has(formatBodiesPath(index)))
      this.#findings.add({ kind: 'unreadable', reason: `${formatBodiesPath(index)} is not whole` })
    for (const record of stored?.records ?? []) {
      const body = stored && sliceSaltedBody(stored.bytes, record)
      if (body === undefined) continue
      if (record.index >= TILE_WIDTH || found.has(first + record.index))
        this.#findings.add({ kind: 'body-without-entry', seq: first + record.index })
      found.set(first + record.index, body)
    }
    return found
  }

  #checkEntry(seq: number, bytes: Uint8Array, bodies: Map<number, SaltedBody> | undefined): void {
    this.next = seq + 1
    const entry = this.#audit.read(seq, bytes)
    if (entry !== undefined) {
      this.#readCosigned(entry)
      if (bodies !== undefined) this.#bodyAudit.read(entry, seq, bodies.get(seq))
      this.#succession?.read(entry)
      for (const audit of this.#cacheAudits)
        if (audit.handles(entry.kind)) audit.read(toCachedEntry(entry, bytes, this.#stored.log))
      this.#expectLookup(entry, seq)
    }
    bodies?.delete(seq)
    const edge = this.#edge
    if (edge === undefined) return
    edge.appendEntry(bytes)
    if (this.published?.checkpoint.size === this.next) this.#checkPartials(edge)
    this.#roots.reached(this.next, edge)
  }

  #end(): void {
    const { log, tail } = this.#stored
    this.#expectCheckpoints(this.next, Number.MAX_SAFE_INTEGER)
    this.#roots.ended(this.next)
    if (this.#hasBodies) this.#bodyAudit.ended()
    if (this.#edge !== undefined) this.#checkOlderPartials(this.#edge)
    this.#checkLookups()
    this.#checkCosigned()
    for (const { seq, kind: of, why } of this.#succession?.unlawful ?? [])
      this.#findings.add({ kind: 'entry-unlawful', seq, of, why })
    const succession = this.#succession
    if (succession !== undefined)
      for (const find of this.#stored.contents ?? [])
        for (const finding of find((projection) => succession.state(projection))) this.#findings.add(finding)
    if (tail === undefined) return
    const contents = tail()
    this.#checkTablesSize(contents)
    const { damage, segments, torn } = contents
    if (damage !== undefined) this.#findings.add({ kind: 'unreadable', reason: damage })
    const last = segments.at(-1)?.groups.at(-1)
    const end = last === undefined ? (segments.at(-1)?.first ?? 0) : last.first + last.entries.length
    if (damage === undefined && end < log.size)
      this.#findings.add({ kind: 'entries-missing', from: end, to: log.size - 1 })
    if (damage === undefined && end >= log.size && torn === 0) {
      for (const { groups } of segments)
        for (const { first, entries } of groups)
          for (const [offset, bytes] of entries.entries()) {
            const known = log.entry(first + offset)
            if (known !== undefined && first + offset < log.size && !areBytesEqual(known.bytes, bytes))
              this.#findings.add({ kind: 'entry-misplaced', seq: first + offset, claims: first + offset })
          }
    }
  }

  /** Every group that changed rows says so, and each segment what the groups before it had changed last. */
  #checkTablesSize(tail: TailContents): void {
    const { tablesSize, newestRow = 0 } = this.#stored
    const size = tablesSize?.()
    // Segments that were removed since the tables were looked at: a node beside this process goes on.
    if ((tail.segments[0]?.first ?? 0) > newestRow) return
    const expected = countCommittedTableEntries(tail)
    if (size !== undefined && tail.damage === undefined && size !== expected)
      this.#findings.add({ kind: 'tables-size-differs', size, expected })
  }

  readonly #checkTile = ({ level, index, nodes }: CompletedTile): void => {
    // What no checkpoint covers yet may be being written just now, and is made anew before one does.
    const size = this.published?.checkpoint.size ?? 0
    if ((index + 1) * TILE_WIDTH ** (level + 1) > size) return
    this.#compareTile({ level, index, width: TILE_WIDTH }, nodes.subarray(0, TILE_BYTES))
  }

  /** The partial tiles that a reader of the checkpoint beside the tiles requests. */
  #checkPartials(edge: GrowingTreeEdge): void {
    for (const name of listTiles(edge.size)) {
      if (name.width === TILE_WIDTH || name.level === 'entries') continue
      const [level, first] = [name.level, name.index * TILE_WIDTH]
      const hashes = Array.from({ length: name.width }, (_, offset) => edge.node(level * TILE_HEIGHT, first + offset))
      this.#comparePartial(name, Buffer.concat(hashes.map((hash) => hash ?? new Uint8Array(0))))
      if (level === 0)
        this.#comparePartial({ ...name, level: 'entries' }, encodeEntryBundle(this.#bundled.slice(0, name.width)))
    }
  }

  /** Narrower ones stay for readers with an older checkpoint: their hashes are the first of the same tile. */
  #checkOlderPartials(edge: GrowingTreeEdge): void {
    for (const name of listTiles(edge.size)) {
      if (name.width === TILE_WIDTH || name.level === 'entries') continue
      const { level, index } = name
      for (const width of this.#stored.log.tiles.partialWidths({ level, index, width: TILE_WIDTH })) {
        const hashes = Array.from({ length: width }, (_, offset) =>
          edge.node(level * TILE_HEIGHT, index * TILE_WIDTH + offset),
        ).filter((hash) => hash !== undefined)
        // A wider one belongs to a later checkpoint, which a running node may have signed meanwhile.
        if (hashes.length === width) this.#compareIfThere({ level, index, width }, Buffer.concat(hashes))
      }
      const entries = { level: 'entries', index, width: TILE_WIDTH } as const
      for (const width of level === 0 ? this.#stored.log.tiles.partialWidths(entries) : [])
        if (width <= this.#bundled.length)
          this.#compareIfThere({ ...entries, width }, encodeEntryBundle(this.#bundled.slice(0, width)))
    }
  }

  /** Each file is looked at once: a running node removes partial tiles meanwhile. */
  #compareIfThere(name: TileCoordinates, content: Uint8Array): boolean {
    const stored = this.#stored.log.tiles.tile(name)
    if (stored !== undefined) this.#compareContent(name, stored, content)
    return stored !== undefined
  }

  /** A partial tile is removed only once the full one exists. */
  #comparePartial(name: TileCoordinates, content: Uint8Array): void {
    if (this.#compareIfThere(name, content)) return
    if (!this.#stored.log.tiles.has(formatTilePath({ ...name, width: TILE_WIDTH })))
      this.#findings.add({ kind: 'file-missing', path: formatTilePath(name) })
  }

  #compareTile(name: TileCoordinates, content: Uint8Array): void {
    if (!this.#compareIfThere(name, content)) this.#findings.add({ kind: 'file-missing', path: formatTilePath(name) })
  }

  #compareContent(name: TileCoordinates, stored: Uint8Array, content: Uint8Array): void {
    if (areBytesEqual(stored, content)) return
    if (name.level !== 'entries') this.#findings.add({ kind: 'tile-differs', level: name.level, index: name.index })
    else this.#findings.add({ kind: 'bundle-unreadable', index: name.index, reason: 'it does not hold the entries' })
  }

  #tileRoots(level: number, from: number, count: number): Uint8Array {
    return Buffer.concat(
      Array.from({ length: count }, (_, offset) => {
        const hashes = this.#stored.log.tiles.tile({ level: level - 1, index: from + offset, width: TILE_WIDTH })
        if (hashes?.length !== TILE_BYTES) throw new Error(`tile ${level - 1}/${from + offset} is not stored`)
        return readTileNode(expandTile(hashes), TILE_HEIGHT, 0)
      }),
    )
  }

  #readPublished(): SignedCheckpoint | undefined {
    const { log, key, checkpoints } = this.#stored
    const text = log.checkpoint
    if (text === undefined) {
      if (checkpoints === undefined || checkpoints.latest() !== undefined)
        this.#findings.add({ kind: 'file-missing', path: 'checkpoint' })
      return undefined
    }
    const opened = openCheckpoint(text, key)
    if (opened.ok) return opened.value
    this.#findings.add({ kind: 'checkpoint-untrusted', where: 'export', reason: formatCheckpointFault(opened.fault) })
    return undefined
  }

  /** An export is as long as its checkpoint says. */
  #size(): number {
    const { log, tail } = this.#stored
    return tail === undefined ? (this.published?.checkpoint.size ?? 0) : log.size
  }

  /** A start says what witnesses had cosigned. A log that goes on under another name begins anew with that. */
  #readCosigned(entry: LedgerEntry): void {
    if (entry.kind === 'ledger.adopted' && entry['successor_of'] !== undefined) this.#cosigned = 0
    if (entry.kind === 'node.start') this.#cosigned = Math.max(this.#cosigned, Number(entry['cosigned'] ?? 0))
  }

  #checkCosigned(): void {
    const { checkpoints } = this.#stored
    if (this.#cosigned === 0 || checkpoints === undefined) return
    if (checkpoints.cosignedCovering(this.#cosigned - 1) === undefined)
      this.#findings.add({
        kind: 'checkpoint-untrusted',
        where: `database ${this.#cosigned}`,
        reason: 'what witnesses said about it was removed',
      })
  }

  #expectCheckpoints(above: number, upTo: number): void {
    const rows = this.#stored.checkpoints?.between(above, upTo) ?? []
    // A witness may have cosigned for the first time during this run.
    const witnesses = rows.some(({ cosignatures }) => cosignatures > 0) ? this.#readWitnesses() : []
    for (const row of rows) this.#roots.expectStored(row, witnesses)
  }

  #readWitnesses(): VerifierKey[] {
    for (const vkey of this.#stored.checkpoints?.witnesses() ?? []) {
      if (this.#witnesses.has(vkey)) continue
      const key = parseVerifierKey(vkey)
      this.#witnesses.set(vkey, key.ok ? key.value : undefined)
      if (!key.ok) this.#findings.add({ kind: 'witness-key-unreadable', vkey })
    }
    return [...this.#witnesses.values()].filter((key) => key !== undefined)
  }

  /** Also for a call that began before the first entry of this run. */
  readonly #isCall = (call: number): boolean => {
    const entry = this.#stored.log.entry(call)
    const decoded = entry && decodeEntry(entry.bytes)
    return decoded?.ok === true && decoded.value.kind === CALL_ENTER_KIND
  }

  #expectLookup(entry: LedgerEntry, seq: number): void {
    if (seq >= (this.#stored.lookup?.reach ?? 0)) return
    const row = toLookupRow(seq, entry.at, entry)
    if (row !== undefined) this.#lookups.set(seq, row)
    const call = readClosedCall(entry)
    if (call !== undefined) this.#ends.set(call, seq)
    const late = readLateOutcomeCall(entry)
    if (late !== undefined) this.#lates.set(late, seq)
  }

  /** Checks that the lookup table agrees with the entries that were read. */
  #checkLookups(): void {
    const { lookup, log } = this.#stored
    if (lookup === undefined || this.#compared) return
    this.#compared = true
    if (Number.isFinite(lookup.reach) && lookup.reach > log.size)
      this.#findings.add({ kind: 'lookup-differs', seq: log.size })
    for (let from = this.from === 0 ? undefined : this.from; ;) {
      const rows = lookup.rows(from, LOOKUPS_AT_ONCE)
      for (const row of rows) this.#checkLookup(row)
      const last = rows.at(-1)
      if (last === undefined) break
      from = last.seq + 1
    }
    for (const seq of this.#lookups.keys()) this.#findings.add({ kind: 'lookup-differs', seq })
  }

  #checkLookup(row: LedgerLookupRow): void {
    const expected = this.#lookups.get(row.seq)
    this.#lookups.delete(row.seq)
    const isSame =
      expected !== undefined &&
      expected.listed === row.listed &&
      expected.opens === row.opens &&
      expected.trace_id === row.trace_id &&
      expected.task_id === row.task_id &&
      expected.session_id === row.session_id &&
      expected.about === row.about &&
      expected.changed_at === row.changed_at &&
      (this.#ends.get(row.seq) ?? null) === row.ended &&
      (this.#lates.get(row.seq) ?? null) === row.late
    if (!isSame) this.#findings.add({ kind: 'lookup-differs', seq: row.seq })
  }
}

const LOOKUPS_AT_ONCE = 4_096
