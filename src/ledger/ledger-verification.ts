/**
 * Ledger verification: one run over a stored ledger, bundle by bundle. Each entry is read once, from the files that
 * were signed; what no file has to have yet is read from the tail.
 *
 * Reads through the stores it is given.
 */
import { areBytesEqual } from '../core/bytes.ts'
import { CallEntryVerification } from './call-entry-verification.ts'
import { CALL_ENTER_KIND } from './call-entry.ts'
import { EntryBodyVerification } from './entry-body-verification.ts'
import { EntryContentVerification } from './entry-content-verification.ts'
import { sliceSaltedBody } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'
import { CheckpointVerification } from './checkpoint-verification.ts'
import { createEntryCacheInput } from './entry-cache-input.ts'
import { ExpectedCheckpointRoots } from './expected-roots.ts'
import type { EntryCacheVerification } from './entry-cache-store.ts'
import type { LedgerFindings, UncheckedPart } from './ledger-finding.ts'
import { ProjectionRuleVerification } from './projection.ts'
import { decodeEntry } from './entry.ts'
import type { LedgerEntry } from './entry.ts'
import { LookupVerification } from './lookup-verification.ts'
import { verifyAppliedEntryCount, verifyTailSegments } from './tail-segment-verification.ts'
import { formatBodiesPath, TILE_WIDTH } from './tile.ts'
import { TreeVerification } from './tree-verification.ts'
import type { LogToVerify, LogVerificationOptions } from './log-verification.ts'

export class LedgerVerification {
  readonly #stored: LogToVerify
  readonly #findings: LedgerFindings
  readonly #options: LogVerificationOptions
  readonly #calls: CallEntryVerification
  readonly #bodies: EntryBodyVerification | undefined
  readonly #roots: ExpectedCheckpointRoots
  readonly #checkpoints: CheckpointVerification
  #lookups: LookupVerification | undefined
  /** The audits that still have rows to compare. */
  #cacheVerifications: EntryCacheVerification[]
  readonly #opened: readonly EntryCacheVerification[]
  /**
   * Checks which entry follows which. Absent once an entry is unknown, because the rules depend on every entry before.
   */
  #succession: ProjectionRuleVerification | undefined
  #tree: TreeVerification | undefined
  /** Whether an entry could not be read, so that state which depends on all entries is unknown. */
  #isIncomplete = false
  readonly unchecked: Set<UncheckedPart>
  readonly from: number
  next: number
  compared = false

  constructor(stored: LogToVerify, findings: LedgerFindings, options: LogVerificationOptions) {
    const { log, key, tail, lookup, cacheVerifications = () => [], projections } = stored
    this.#stored = stored
    this.#findings = findings
    this.#options = options
    this.#roots = new ExpectedCheckpointRoots(findings, key)
    this.#checkpoints = new CheckpointVerification(stored, findings, this.#roots)
    const size = tail === undefined ? this.#signedSize() : log.size
    this.from = Math.floor(Math.min(options.since?.checkpoint.size ?? 0, size) / TILE_WIDTH) * TILE_WIDTH
    this.next = this.from
    const isWhole = this.from === 0
    this.#calls = new CallEntryVerification(findings, this.from, this.#isCall)
    const hasBodies = tail !== undefined || log.tiles.has('bodies')
    this.#bodies = hasBodies
      ? new EntryBodyVerification(findings, new EntryContentVerification(projections), this.#isBodyGone)
      : undefined
    this.#succession = isWhole && projections !== undefined ? new ProjectionRuleVerification(projections) : undefined
    this.#opened = isWhole ? cacheVerifications() : []
    this.#cacheVerifications = [...this.#opened]
    this.#lookups = lookup && new LookupVerification(lookup, findings, this.from)
    this.unchecked = new Set(listUnchecked(stored, { isWhole, hasBodies }))
  }

  get published(): CheckpointVerification['published'] {
    return this.#checkpoints.published
  }

  begin(): void {
    const { schema, log, tail } = this.#stored
    const { since, known = [] } = this.#options
    for (const name of schema?.() ?? []) this.#findings.add({ kind: 'schema-differs', name })
    if (tail !== undefined && log.damage !== undefined) this.#findings.add({ kind: 'unreadable', reason: log.damage })
    this.#checkpoints.begin(since === undefined ? known : [since, ...known])
    // A row of a size below zero is about no tree, and somebody else's.
    this.#checkpoints.expect(this.from === 0 ? Number.MIN_SAFE_INTEGER : this.from - 1, this.from)
    this.#tree = new TreeVerification({
      tiles: log.tiles,
      findings: this.#findings,
      roots: this.#roots,
      published: this.published?.checkpoint,
      from: this.from,
    })
  }

  /**
   * `false` when everything was read. The last entries, and everything that must agree with all of them, are read in
   * one view.
   */
  turn(): boolean {
    // Runs also while rows are compared: an entry that changed a row since the last turn is read before the row is.
    if (this.#readBundle()) return true
    const [audit] = this.#cacheVerifications
    if (audit !== undefined) {
      if (!audit.compare((finding) => this.#findings.add(finding))) this.#cacheVerifications.shift()
      return true
    }
    this.compared = this.from === 0
    this.#end()
    return false
  }

  close(): void {
    for (const audit of this.#opened) audit.close()
  }

  /** `undefined` when an entry is missing. */
  root(): Uint8Array | undefined {
    return this.#isIncomplete ? undefined : this.#tree?.root()
  }

  /** How many entries there are, as far as they were read. */
  size(): number {
    const { tail, log } = this.#stored
    return tail === undefined ? this.next : Math.min(this.next, log.size)
  }

  erased(): number {
    return this.#bodies?.erased ?? 0
  }

  /** `false` when the last entry was read. */
  #readBundle(): boolean {
    const size = this.#size()
    if (this.next >= size) return false
    const index = Math.floor(this.next / TILE_WIDTH)
    const first = index * TILE_WIDTH
    const end = Math.min(first + TILE_WIDTH, size)
    this.#checkpoints.expect(this.next, end)
    const bodies = this.#isInBodyFile(first) ? this.#readBodyFile(index) : undefined
    if (this.next === first) this.#readSigned(index, Math.min(end, this.#signedSize()), bodies)
    this.#readRecent(end)
    for (const [seq] of bodies?.stored ?? [])
      if (seq < first + TILE_WIDTH) this.#findings.add({ kind: 'body-without-entry', seq })
    return true
  }

  /** Reads the entries of a bundle that a checkpoint covers. */
  #readSigned(index: number, end: number, bodies: BodyFile | undefined): void {
    const { log } = this.#stored
    const first = this.next
    if (end <= first) return
    const recent = first < log.base ? [] : this.#recentEntries(first, Math.min(end, log.size))
    const read = this.#tree?.readBundle(index, end - first, recent) ?? []
    for (let seq = first; seq < end; seq++) {
      const [entry, other] = [read[seq - first], recent[seq - first]]
      if (entry !== undefined && other !== undefined && !areBytesEqual(entry, other))
        this.#findings.add({ kind: 'tail-differs', seq })
      this.#readEntry(seq, entry ?? other, bodies)
    }
  }

  /** Reads the entries that no checkpoint beside the tiles covers. */
  #readRecent(end: number): void {
    let missing = 0
    for (let seq = this.next; seq < end; seq++) {
      const bytes = this.#stored.log.entry(seq)?.bytes
      if (bytes !== undefined) this.#tree?.append(bytes)
      missing = bytes === undefined ? missing + 1 : 0
      const isLastMissing = missing > 0 && (seq + 1 === end || this.#stored.log.entry(seq + 1) !== undefined)
      if (isLastMissing) this.#findings.add({ kind: 'entries-missing', from: seq + 1 - missing, to: seq })
      this.#readEntry(seq, bytes, undefined)
    }
  }

  #recentEntries(from: number, to: number): readonly Uint8Array[] {
    const entries: Uint8Array[] = []
    for (let seq = from; seq < to; seq++) {
      const bytes = this.#stored.log.entry(seq)?.bytes
      if (bytes === undefined) break
      entries.push(bytes)
    }
    return entries
  }

  #readEntry(seq: number, bytes: Uint8Array | undefined, bodies: BodyFile | undefined): void {
    this.next = seq + 1
    if (bytes === undefined) this.#lose(seq)
    const entry = bytes && this.#calls.read(seq, bytes)
    if (bytes !== undefined && entry !== undefined) {
      this.#checkpoints.read(entry)
      this.#bodies?.read(entry, seq, this.#bodyCopies(seq, bodies))
      if (entry['body_hash'] === undefined && bodies?.blank.has(seq) === true)
        this.#findings.add({ kind: 'body-without-entry', seq })
      this.#succession?.read(entry)
      for (const audit of this.#cacheVerifications)
        if (audit.handles(entry.kind)) audit.read(createEntryCacheInput(entry, bytes, this.#stored.log))
      this.#lookups?.read(entry, seq)
    }
    bodies?.stored.delete(seq)
  }

  /** State that depends on all entries is unknown without this one. */
  #lose(seq: number): void {
    this.#calls.lose(seq)
    this.#bodies?.lose(seq)
    // The leaves of a signed entry are known from its tile.
    if (seq >= this.#signedSize()) this.#tree?.lose()
    if (this.#isIncomplete) return
    this.#isIncomplete = true
    this.unchecked.add('succession').add('tables').add('lookups')
    this.#succession = undefined
    this.#cacheVerifications = []
    this.#lookups = undefined
  }

  #end(): void {
    const { log, tail, tablesSize, newestRow = 0, contents = [] } = this.#stored
    this.#checkpoints.expect(this.next, Number.MAX_SAFE_INTEGER)
    this.#roots.ended(tail === undefined ? this.next : log.size)
    this.#bodies?.ended()
    this.#lookups?.ended(log.size)
    this.#checkpoints.ended()
    const succession = this.#succession
    for (const { seq, kind: of, why } of succession?.unlawful ?? [])
      this.#findings.add({ kind: 'entry-unlawful', seq, of, why })
    if (succession !== undefined)
      for (const find of contents)
        for (const finding of find((projection) => succession.state(projection))) this.#findings.add(finding)
    else if (contents.length > 0) this.unchecked.add('keys')
    if (tail === undefined) return
    const segments = tail()
    verifyAppliedEntryCount(segments, { size: tablesSize?.(), newestRow }, this.#findings)
    // This damage was already reported at the beginning, if the log was opened with it.
    if (segments.damage === undefined || segments.damage !== log.damage)
      verifyTailSegments(log, segments, this.#findings)
  }

  /** An export is as long as its checkpoint says; a log may have entries behind it. */
  #size(): number {
    return Math.max(this.#signedSize(), this.#stored.log.size)
  }

  #signedSize(): number {
    return this.published?.checkpoint.size ?? 0
  }

  /** Also works for a call that began before the first entry of this run. */
  readonly #isCall = (call: number): boolean => this.#decode(call)?.kind === CALL_ENTER_KIND

  #decode(seq: number): LedgerEntry | undefined {
    const row = this.#stored.log.entry(seq)
    const decoded = row && decodeEntry(row.bytes)
    return decoded?.ok === true ? decoded.value : undefined
  }

  /** Whether the entry commits to a body, and none of its copies is stored. */
  readonly #isBodyGone = (seq: number): boolean =>
    this.#decode(seq)?.['body_hash'] !== undefined &&
    this.#bodyCopies(seq, undefined).every((copy) => copy === undefined)

  /**
   * Whether the bundle of this entry has a file of bodies; all its bodies were written before the bundle was signed.
   */
  #isInBodyFile(seq: number): boolean {
    const end = (Math.floor(seq / TILE_WIDTH) + 1) * TILE_WIDTH
    return this.#stored.tail === undefined || end <= this.#signedSize()
  }

  /** The stored copies of an entry's body: in its file, in the tail, or in both until the tail releases it. */
  #bodyCopies(seq: number, file: BodyFile | undefined): readonly (SaltedBody | undefined)[] {
    const { log, tail } = this.#stored
    const inTail = tail !== undefined && seq >= log.tailFirst
    if (!this.#isInBodyFile(seq)) return [log.body(seq)]
    if (file === undefined) return inTail ? [log.body(seq), this.#bodyInFile(seq)] : [log.body(seq)]
    const copies = file.isReadable ? [file.stored.get(seq)] : []
    // The log is asked only for bodies that are in the tail: for others it would open a file for each entry.
    return inTail && log.hasBodyInTail(seq) ? [...copies, log.body(seq)] : copies
  }

  #bodyInFile(seq: number): SaltedBody | undefined {
    const { content } = this.#stored.log.tiles.examineBodies(Math.floor(seq / TILE_WIDTH))
    const record = content?.records.find(({ index }) => index === seq % TILE_WIDTH)
    return content && record && sliceSaltedBody(content.bytes, record)
  }

  /** The bodies of a bundle by entry; `undefined` where none are stored, as in an export without bodies. */
  #readBodyFile(index: number): BodyFile | undefined {
    if (this.#bodies === undefined) return undefined
    const stored = new Map<number, SaltedBody>()
    const blank = new Set<number>()
    const path = formatBodiesPath(index)
    const { content, reason } = this.#stored.log.tiles.examineBodies(index)
    if (reason !== undefined) {
      this.#findings.add({ kind: 'file-unreadable', path, reason })
      // Rows that were made from these bodies cannot be made again, so the tables are not compared.
      this.#cacheVerifications = []
      this.unchecked.add('tables')
    }
    for (const record of content?.records ?? []) {
      const seq = index * TILE_WIDTH + record.index
      const body = content && sliceSaltedBody(content.bytes, record)
      if (record.index >= TILE_WIDTH || stored.has(seq) || blank.has(seq))
        this.#findings.add({ kind: 'body-without-entry', seq })
      if (body === undefined) blank.add(seq)
      else stored.set(seq, body)
    }
    return { stored, blank, isReadable: reason === undefined }
  }
}

/** The bodies of a bundle, as their file has them. */
interface BodyFile {
  readonly stored: Map<number, SaltedBody>
  /** Entries of whose record only zeros are left. */
  readonly blank: ReadonlySet<number>
  readonly isReadable: boolean
}

function listUnchecked(
  { tail, lastSigned, checkpoints, lookup, contents, projections }: LogToVerify,
  { isWhole, hasBodies }: { readonly isWhole: boolean; readonly hasBodies: boolean },
): readonly UncheckedPart[] {
  const parts: readonly (readonly [UncheckedPart, boolean])[] = [
    ['bodies', hasBodies],
    ['succession', isWhole && projections !== undefined],
    ['tail', tail !== undefined],
    ['last-signed', lastSigned !== undefined],
    ['tables', isWhole && checkpoints !== undefined],
    ['lookups', lookup !== undefined],
    ['keys', isWhole && contents !== undefined],
  ]
  return parts.filter(([, isChecked]) => !isChecked).map(([part]) => part)
}
