/**
 * Ledger: the node's one append-only log of events, and the proofs of what it says.
 *
 *   appendIn ▸ canonical bytes ▸ one write and one fdatasync for the group ▸ COMMIT of the tables ▸ leaves in the tree
 *            ▸ the caller hears ▸ (every 256 entries) bundle and tile files
 *
 * It stores events and knows nothing of tools, principals or policy. Five kinds mean something to it: `call.enter`
 * opens a call, `call.exit` and `call.aborted` (field `call`, the enter's sequence number) end it, once; `call.outcome`
 * tells what became known about a call that has ended; nothing may follow a signed `node.stop` but what a later start appended and signed.
 *
 * Reads and writes through its stores.
 */
import { dirname, join } from 'node:path'
import { equalBytes, toHex } from '../core/bytes.ts'
import { randomBytes } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import { findAlteredSchema } from '../core/database-schema-store.ts'
import type { Database, CommitJournal } from '../core/database-store.ts'
import { makeFolder } from '../core/folder-store.ts'
import type { WorkReference } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readIfThere, writeAtomically } from './atomic-file-store.ts'
import { CALL_ABORTED, CALL_ENTER, readClosedCall, isCallEnd, isLateOutcome, isLateOutcomeKind } from './audit.ts'
import { BODY_ERASED, commitmentHash, commitToBody, decodeBody, SALT_BYTES, TAIL_KEY_PURPOSE } from './group.ts'
import type { SaltedBody } from './group.ts'
import { formatSignedCheckpoint, openCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { CheckpointStore } from './checkpoint-store.ts'
import { cachedEntry } from './cached-entry.ts'
import type { EntryWords } from './cached-entry.ts'
import { toAppliedEntry, decodeEntry, encodeEntry, readableEntries } from './entry.ts'
import type { AppendReceipt, LedgerEntry, LedgerEvent, StoredEntry } from './entry.ts'
import { CacheAudit, rebuildCache } from './entry-cache-store.ts'
import type { CachedEntry, EntryCache } from './entry-cache-store.ts'
import { eraseBody, finishErasures } from './erase.ts'
import type { ErasureResult, ErasureNote } from './erase.ts'
import { writeExport } from './export-store.ts'
import type { ExportResult, ExportFault } from './export-store.ts'
import { LedgerRefusalError, SOUND_LEDGER } from './fork.ts'
import type { LedgerFault, LedgerState, SigningFault } from './fork.ts'
import { readEntriesOfKinds } from './kind-reader.ts'
import { setTablesSize, readTablesSize } from './ledger-store.ts'
import { LogStore } from './log-store.ts'
import type { LeafRow } from './log-store.ts'
import { erasureKey, LookupStore } from './lookup-store.ts'
import type { ChangeQuery, EndedCall } from './lookup-store.ts'
import { findTailFault, describeUnsignedTail } from './unsigned-tail.ts'
import type { UnsignedTail } from './unsigned-tail.ts'
import { verifyNote } from './note.ts'
import type { VerifiedSignature } from './note.ts'
import type { LogSigner, VerifierKey } from './note-key.ts'
import { proveConsistency, proveInclusion } from './proof.ts'
import type { ConsistencyProof, InclusionProof, ProofFault } from './proof.ts'
import { ProjectionSet } from './projection.ts'
import type { AnyProjection, ContentAudit } from './projection.ts'
import type { EraseFault } from './refusal.ts'
import { encodeOpening } from './opening.ts'
import { CheckpointSigning } from './signing.ts'
import { StoredTree } from './stored-tree.ts'
import { readTail } from './tail-store.ts'
import { formatTlogProof, createTlogProof } from './tlog-proof.ts'
import { leafHash } from './tree.ts'
import { verifyStored } from './verify.ts'
import type { VerifyOptions, VerifyReport } from './verify.ts'

export interface LedgerOptions {
  readonly database: Database
  /** Named after the origin. What is not signed yet is authenticated with a secret of its own. */
  readonly signer: LogSigner
  /** The log's name in its checkpoints, such as `hearthbus.local/attic`. */
  readonly origin: string
  /** Where the last signed checkpoint is kept a second time, outside the log. */
  readonly lastSignedPath: string
  /** Where the log is; `ledger` beside that file, unless told otherwise. */
  readonly directory?: string
  readonly clock: Clock
  /** How many entries a file of the tail takes. */
  readonly segmentEntries?: number | undefined
  /** The states that other modules decide from: read from the log when it is opened, and kept with every entry. */
  readonly projections?: readonly AnyProjection[]
  /** What is stored beside the log under hashes that the log has. */
  readonly contents?: readonly ContentAudit[]
  /** Tables of the same database that repeat what entries say, and are written with them. */
  readonly caches?: readonly EntryCache[]
}

/** Of the log, in the folder of the last signed checkpoint. */
export const LOG_FOLDER = 'ledger'

export type BodyState =
  | { readonly kind: 'kept'; readonly body: Json }
  | { readonly kind: 'erased' }
  /** What is stored is not what the entry commits to: nobody is shown it. */
  | { readonly kind: 'altered' }
  | { readonly kind: 'none' }

export interface LedgerVerifyOptions extends VerifyOptions {
  /** From the checkpoint up to which this process last found nothing wrong; everything, when it has not yet looked. */
  readonly incremental?: boolean
}

/** Without `entry` where its bytes are none any more, which is for `verify` to say. */
export interface RecordedChange {
  readonly seq: number
  readonly at: string
  readonly entry?: LedgerEntry
  /** Absent while the call is under way. */
  readonly end?: LedgerEntry
  /** What became known after it had ended, the newest. */
  readonly late?: LedgerEntry
}

/** An entry with the words beside it; without them where it has none, or they were erased. */
export interface LedgerRecord {
  readonly seq: number
  readonly event: LedgerEntry
  readonly body?: Json
}

interface LeafOfKind {
  readonly seq: number
  /** Empty for bytes that are no entry. */
  readonly kind: string
  readonly bytes: Uint8Array
}

/** The entries and bodies, those of works that are under way among them. */
export interface RecordedLeaves extends EntryWords {
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

export class Ledger {
  readonly #options: LedgerOptions
  readonly #directory: string
  readonly #tailKey: Uint8Array
  readonly #log: LogStore
  readonly #tree: StoredTree
  readonly #signing: CheckpointSigning
  readonly #lookup: LookupStore
  readonly projections: ProjectionSet
  readonly #openCalls = new Set<number>()
  /** Calls that the works of this group opened (true) and ended (false), to be put back if they are undone. */
  #callSteps: { readonly call: number; readonly opened: boolean }[] = []
  #stepsAtWork = 0
  #inWork = false
  #isStopped = false
  #isSigningSoon = false
  #time: { readonly ms: number; readonly text: string } | undefined
  #events: { readonly at: string; readonly event: LedgerEvent }[] = []
  #state: LedgerState = SOUND_LEDGER
  #verified: SignedCheckpoint | undefined
  #unsigned: UnsignedTail | undefined
  #lastRun: ReturnType<Ledger['lastVerification']>

  private constructor(options: LedgerOptions, signed: number) {
    const { database, signer, origin, lastSignedPath } = options
    const directory = options.directory ?? join(dirname(lastSignedPath), LOG_FOLDER)
    if (signer.key.name !== origin) throw new TypeError(`the signer is named ${signer.key.name}, the log ${origin}`)
    makeFolder(directory)
    this.#options = options
    this.#directory = directory
    this.#tailKey = signer.deriveSecret(TAIL_KEY_PURPOSE)
    this.#log = new LogStore({
      directory,
      key: this.#tailKey,
      tables: { size: readTablesSize(database.sql), signed },
      segmentEntries: options.segmentEntries,
    })
    this.#tree = new StoredTree(this.#log)
    this.#lookup = new LookupStore(join(directory, 'lookup.db'))
    this.#signing = new CheckpointSigning({
      database,
      tree: this.#tree,
      signer,
      lastSignedPath,
      prepare: (size) => this.#prepare(size),
      publish: (signed) => writeAtomically(join(directory, 'checkpoint'), formatSignedCheckpoint(signed)),
    })
    this.projections = new ProjectionSet((kinds) => readEntriesOfKinds(this.#log, kinds))
    database.useJournal(this.#journal)
    database.follow(this.projections.follower)
  }

  /** Opens in any case; `state()` says whether the stored tree may still be written and signed. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const ledger = new Ledger(options, await knownSigned(options))
    const fault = await ledger.#judge()
    ledger.projections.openAll(options.projections ?? [])
    const unlawful = ledger.projections.unlawful.length
    if (fault !== undefined) ledger.#state = { kind: 'refusing', fault }
    else if (unlawful > 0) ledger.#state = { kind: 'damaged', findings: unlawful }
    ledger.#recover(fault === undefined)
    return ledger
  }

  /** Sound, found damaged, or refusing appends and signatures, with the reason. */
  state(): LedgerState {
    return this.#state
  }

  /** The last verification that read everything, by this process. */
  lastVerification(): { readonly atMs: number; readonly size: number; readonly findings: number } | undefined {
    return this.#lastRun
  }

  /** What a crash left behind the last signature; `undefined` when everything was signed. */
  unsignedTail(): UnsignedTail | undefined {
    return this.#unsigned
  }

  /** Whoever has this can check what the ledger signs. */
  get verifierKey(): VerifierKey {
    return this.#options.signer.key
  }

  /** The entries and bodies as they are stored. */
  get leaves(): RecordedLeaves {
    const log = this.#log
    return {
      size: () => log.pendingSize,
      entry: (seq) => withKind(log.entry(seq)),
      entries: (from, limit) => log.entries(from, limit).map((row) => ({ ...row, kind: kindIn(row.bytes) })),
      body: (seq) => log.body(seq),
    }
  }

  /** Every entry from `from` on, in order, with its body where one is kept: what projections are made of. */
  *records(from = 0, to = this.size()): Generator<LedgerRecord> {
    for (let seq = from; seq < to; seq++) {
      const entry = this.entry(seq)?.entry
      if (entry === undefined) continue
      const stored = this.body(seq)
      yield stored.kind === 'kept' ? { seq, event: entry, body: stored.body } : { seq, event: entry }
    }
  }

  /** Resolves when the event is durable; shares the fsync with everything else that this turn wants to write. */
  append(event: LedgerEvent, body?: Json): Promise<AppendReceipt> {
    return this.#options.database.commit(() => this.appendIn(event, body), { tables: this.#isCached(event.kind) })
  }

  /**
   * Appends inside a work given to `Database.commit`, so that a domain write and its event are one transaction. It is
   * durable when that commit resolves. What it throws must leave the work too, so that all of it is undone.
   */
  appendIn(event: LedgerEvent, body?: Json): AppendReceipt {
    if (this.#state.kind === 'refusing') throw new LedgerRefusalError(this.#state.fault)
    if (this.#isStopped) throw new Error('the node has stopped: nothing is recorded any more')
    if (!this.#inWork) throw new Error('appendIn belongs inside Database.commit')
    const closes = readClosedCall(event)
    if (isCallEnd(event) && closes === undefined) throw new TypeError(`${event.kind} names no call`)
    const seq = this.#log.pendingSize
    if (isLateOutcomeKind(event) && !isLateOutcome(event, seq, (call) => this.#hasEnded(call)))
      throw new RangeError(`${event.kind} is about no call that has ended`)
    const at = this.#timeText(this.#options.clock.now())
    const kept = body === undefined ? undefined : commitToBody(body, randomBytes(SALT_BYTES))
    const bytes = encodeEntry(event, { seq, at, bodyHash: kept?.hash })
    if (this.projections.handles(event.kind))
      this.projections.append(toAppliedEntry(event, { seq, at, bodyHash: kept?.hash }))
    if (closes !== undefined && !this.#openCalls.delete(closes)) throw new RangeError(`call ${closes} is not open`)
    if (closes !== undefined) this.#callSteps.push({ call: closes, opened: false })
    if (event.kind === CALL_ENTER) {
      this.#openCalls.add(seq)
      this.#callSteps.push({ call: seq, opened: true })
    }
    const leaf = leafHash(bytes)
    this.#log.append({ bytes, leaf, body: kept && { salt: kept.salt, body: kept.bytes } })
    this.#events.push({ at, event })
    if (this.#isCached(event.kind))
      this.#writeCaches({
        entry: toAppliedEntry(event, { seq, at, bodyHash: kept?.hash }),
        leafHash: toHex(leaf),
        body,
        erased: event.kind === BODY_ERASED ? this.entry(Number(event['entry']))?.entry : undefined,
      })
    return { seq, at, leafHash: leaf }
  }

  #hasEnded(call: number): boolean {
    return !this.#openCalls.has(call) && this.entry(call)?.entry.kind === CALL_ENTER
  }

  #isCached(kind: string): boolean {
    return this.#options.caches?.some(({ apply }) => Object.hasOwn(apply, kind)) === true
  }

  #writeCaches(cached: CachedEntry): void {
    const { caches = [], database } = this.#options
    if (!database.sql.isTransaction) throw new Error(`${cached.entry.kind} is shown in tables: its work must say so`)
    for (const { apply } of caches) apply[cached.entry.kind]?.(database.sql, cached)
  }

  /** The next thousand entries from `from` on, as the tables that repeat them are made from them. */
  cached(from: number): readonly { readonly seq: number; readonly cached: CachedEntry | undefined }[] {
    return this.#log.entries(from, CACHED_PIECE).map(({ seq, bytes }) => {
      const decoded = decodeEntry(bytes)
      return { seq, cached: decoded.ok ? cachedEntry(decoded.value, bytes, this.#log) : undefined }
    })
  }

  /** Makes the tables that repeat the log again, from the log. */
  async rebuild(): Promise<void> {
    const { caches = [], database } = this.#options
    await database.commit((sql) => {
      for (const cache of caches) rebuildCache(cache, sql, this.#allCached(cache))
    })
  }

  *#allCached({ apply }: EntryCache): Generator<CachedEntry, void, void> {
    for (const entry of readEntriesOfKinds(this.#log, new Set(Object.keys(apply)))) {
      const row = this.#log.entry(entry.seq)
      if (row !== undefined) yield cachedEntry(entry, row.bytes, this.#log)
    }
  }

  /** Ends every call that is open: after a crash before the first call, and at a stop after the last. */
  async abortOpenCalls(): Promise<readonly number[]> {
    return this.#options.database.commit(
      () => {
        const calls = [...this.#openCalls]
        for (const call of calls) this.appendIn({ kind: CALL_ABORTED, call })
        return calls
      },
      { tables: false },
    )
  }

  /** Ends with the event as the last entry under a signature: whatever is appended later is refused. */
  async stop(event: LedgerEvent): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    await this.#options.database.commit(
      () => {
        for (const call of this.#openCalls) this.appendIn({ kind: CALL_ABORTED, call })
        this.appendIn(event)
        this.#isStopped = true
      },
      { tables: false },
    )
    return this.#settle(await this.#signing.sign())
  }

  /** Entries so far; inside a work it counts those not yet durable. */
  size(): number {
    return this.#log.pendingSize
  }

  /** Throws `TreeDamaged` where the state says so. */
  root(): Uint8Array {
    return this.#tree.root()
  }

  /** `undefined` when there is none, or its bytes are not an entry any more. */
  entry(seq: number): StoredEntry | undefined {
    const [found] = this.entries(seq, 1)
    return found?.entry.seq === seq ? found : undefined
  }

  /** In order, from `from` on; unreadable ones are left to `verify`. */
  entries(from: number, limit: number): readonly StoredEntry[] {
    return readableEntries(this.#log.entries(from, limit))
  }

  /**
   * What is on record under a trace id: the newest entries that bear it, and what ended the calls among them. Who calls
   * may choose the id (W3C), so it says nothing about when, nor that all of it is one call, nor that one caller made
   * it.
   */
  entriesOfTrace(traceId: string): readonly LedgerEntry[] {
    return this.#readAll(this.#lookup.ofTrace(traceId))
  }

  /** What is on record for a task or a session: what bears its id, and what ended the calls among it. */
  entriesOfWork(work: WorkReference): readonly LedgerEntry[] {
    return this.#readAll(this.#lookup.ofWork(work))
  }

  /** What is on record about an approval or a grant, or about the content of an entry that was erased. */
  entriesAbout(subject: string | number): readonly LedgerEntry[] {
    return this.#readAll(this.#lookup.about(typeof subject === 'number' ? erasureKey(subject) : subject))
  }

  #readAll(calls: readonly EndedCall[]): readonly LedgerEntry[] {
    const seqs = new Set(calls.flatMap(({ seq, ended, late }) => [seq, ended ?? seq, late ?? seq]))
    return [...seqs].toSorted((one, other) => one - other).flatMap((seq) => this.entry(seq)?.entry ?? [])
  }

  /** What changed something or was to: calls with what ended them, and what people did; newest first by the clock. */
  changes(query: ChangeQuery): readonly RecordedChange[] {
    return this.#lookup.changes(query).map(({ at, ...call }) => ({ at, ...this.#readCall(call) }))
  }

  /** Calls, and what was prepared and decided, before an entry, newest first; of one trace, if it is given. */
  listed(before: number, limit: number, traceId?: string): readonly RecordedCall[] {
    return this.#lookup.listed(before, limit, traceId).map((call) => this.#readCall(call))
  }

  #readCall({ seq, ended, late: lateSeq }: EndedCall): RecordedCall {
    const entryAt = (place: number | undefined): LedgerEntry | undefined =>
      place === undefined ? undefined : this.entry(place)?.entry
    const [entry, end, late] = [entryAt(seq), entryAt(ended), entryAt(lateSeq)]
    return { seq, ...(entry && { entry }), ...(end && { end }), ...(late && { late }) }
  }

  body(seq: number): BodyState {
    const committed = this.entry(seq)?.entry['body_hash']
    if (committed === undefined) return { kind: 'none' }
    const stored = this.#log.body(seq)
    if (stored === undefined) return { kind: 'erased' }
    const body = commitmentHash(stored.salt, stored.body) === committed ? decodeBody(stored.body) : undefined
    return body === undefined ? { kind: 'altered' } : { kind: 'kept', body }
  }

  /** What the entry's `body_hash` commits to, for whoever may read it: salt and content. */
  opening(seq: number): SaltedBody | undefined {
    return this.#log.body(seq)
  }

  /** Forgets a body, with the rows that show it, and records that it did. */
  async eraseBody(seq: number, told: ErasureNote = {}): Promise<Result<ErasureResult, EraseFault | LedgerFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    const stored = this.entry(seq)
    if (stored === undefined) return fail({ kind: 'no-such-entry', seq, size: this.size() })
    const { database, clock, caches = [] } = this.#options
    const appendIn = (event: LedgerEvent): AppendReceipt => this.appendIn(event)
    const holds = (): string | undefined => this.projections.holds(stored.entry, clock.now())
    const showing = caches.flatMap((cache) => cache.showing(stored.entry))
    return eraseBody(stored, told, { database, log: this.#log, showing, holds, appendIn })
  }

  /** Signs the tree as it is; the last checkpoint again when nothing came since. */
  async checkpoint(): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    return this.#settle(await this.#signing.sign())
  }

  latestCheckpoint(): SignedCheckpoint | undefined {
    return this.#signing.latest()
  }

  /** How many entries the newest checkpoint covers that a witness has signed as well. */
  cosignedSize(): number | undefined {
    return this.#signing.cosignedSize()
  }

  /** Keeps what witnesses said about one of this ledger's checkpoints. */
  addCosignatures(signed: SignedCheckpoint, more: readonly VerifiedSignature[]): Promise<SignedCheckpoint> {
    return this.#signing.addCosignatures(signed, more)
  }

  /**
   * Holds the ledger against a checkpoint that somebody else kept. If it bears this node's signature and the tree does
   * not extend it, the ledger refuses from then on, also when it is opened again.
   */
  async confront(kept: SignedCheckpoint): Promise<LedgerFault | undefined> {
    if (!verifyNote(kept.note, [this.verifierKey]).ok) return undefined
    const fault = this.#signing.confront(kept)
    if (fault === undefined) return undefined
    this.#state = { kind: 'refusing', fault }
    if (fault.kind !== 'damaged') await this.#signing.keepEvidence(kept)
    return fault
  }

  /**
   * For a person who knows that this database is the newest though the file beside it is gone or unreadable. The ledger
   * records that this was done, and what it is `told` beside, and signs anew.
   */
  async adopt(told: JsonObject = {}): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (this.#state.kind !== 'refusing') return this.checkpoint()
    const { fault } = this.#state
    const forgivable = fault.kind === 'last-signed-missing' || fault.kind === 'last-signed-invalid'
    const remaining = forgivable ? (this.#judgeLog() ?? this.#signing.judgeDatabase()) : fault
    if (remaining !== undefined) return fail(remaining)
    const refusing = this.#state
    this.#state = SOUND_LEDGER
    try {
      await this.append({ kind: 'ledger.adopted', fault: fault.kind, ...told })
    } catch (error) {
      this.#state = refusing
      throw error
    }
    return this.#settle(await this.#signing.signAnew())
  }

  inclusion(seq: number, size?: number): Result<InclusionProof, ProofFault> {
    const proof = proveInclusion(this.#tree, seq, size)
    if (proof.ok || proof.fault.kind !== 'damaged') return proof
    // Nodes that were kept for speed may be what is wrong: once more, from the tiles themselves.
    this.#tree.reread()
    return proveInclusion(this.#tree, seq, size)
  }

  consistency(from: number, to?: number): Result<ConsistencyProof, ProofFault> {
    return proveConsistency(this.#tree, from, to)
  }

  /**
   * A C2SP tlog-proof of one entry, under a cosigned checkpoint where there is one, else under a fresh one; `existing`:
   * for a caller that may have nothing signed, so that only what a checkpoint covers already can be proved.
   */
  async proofText(
    seq: number,
    options: { readonly withBody?: boolean; readonly under?: 'existing' | undefined } = {},
  ): Promise<Result<string, ProofFault | SigningFault>> {
    const known = this.#signing.covering(seq)
    if (known === undefined && options.under === 'existing')
      return fail({ kind: 'no-such-entry', seq, size: this.latestCheckpoint()?.checkpoint.size ?? 0 })
    const signed = known === undefined ? await this.checkpoint() : ok(known)
    if (!signed.ok) return signed
    const { checkpoint } = signed.value
    const inclusion = this.inclusion(seq, checkpoint.size)
    if (!inclusion.ok) return inclusion
    // While the ledger refuses, what was signed may be about other entries than those that are stored.
    if (!equalBytes(inclusion.value.root, checkpoint.root))
      return fail({ kind: 'diverged', size: this.size(), signedSize: checkpoint.size, source: 'database' })
    const proof = createTlogProof(seq, inclusion.value.path, signed.value)
    const body = options.withBody === true ? this.#log.body(seq) : undefined
    return ok(formatTlogProof(body === undefined ? proof : { ...proof, extra: encodeOpening(body) }))
  }

  /**
   * Writes the ledger, up to a fresh checkpoint, as files that anybody can verify; goes on where the last export ended.
   */
  async exportTo(
    directory: string,
    options: { readonly withBodies?: boolean } = {},
  ): Promise<Result<ExportResult, ExportFault | SigningFault>> {
    const signed = await this.checkpoint()
    if (!signed.ok) return signed
    const source = {
      directory: this.#directory,
      key: this.verifierKey,
      signed: signed.value,
      rootAt: (size: number) => this.#tree.rootAt(size),
      bodies: options.withBodies === true ? (seq: number) => this.#log.body(seq) : undefined,
    }
    return writeExport(source, directory)
  }

  /** Re-derives the whole ledger from its bytes, or what came since the last time, and says what is wrong with it. */
  async verify(options: LedgerVerifyOptions = {}): Promise<VerifyReport> {
    const { database, signer, lastSignedPath: path, caches = [], projections = [], contents = [] } = this.#options
    const since = options.since ?? (options.incremental === true ? this.#verified : undefined)
    // Before the first entry is read, so that what is signed meanwhile lies beyond it.
    const reached = this.#signing.latest()
    const stored = {
      log: this.#log,
      tail: () => readTail(join(this.#directory, 'tail'), this.#tailKey, Infinity),
      checkpoints: new CheckpointStore(database.sql),
      newestRow: reached?.checkpoint.size ?? 0,
      key: signer.key,
      // A file that cannot be read is not a checkpoint either.
      lastSigned: { path, text: await readIfThere(path).catch(() => new Uint8Array(0)) },
      cacheAudits: () => caches.map((cache) => new CacheAudit(cache, database.sql)),
      projections,
      contents,
      schema: () => findAlteredSchema(database.sql, database.migrations),
      lookup: this.#lookup,
      view: <Value>(read: () => Value): Promise<Value> => database.view(read),
    }
    const report = await verifyStored(stored, { ...options, since })
    const found = report.findings.length + report.more
    if (report.compared) this.#lastRun = { atMs: this.#options.clock.now(), size: report.size, findings: found }
    if (found > 0) {
      // Nothing that was clean before counts any more: the next one reads everything.
      this.#verified = undefined
      if (this.#state.kind !== 'refusing') this.#state = { kind: 'damaged', findings: found }
    } else if (since === undefined || this.#state.kind !== 'damaged') {
      this.#verified = reached
      if (this.#state.kind === 'damaged') this.#state = SOUND_LEDGER
    }
    return report
  }

  async #judge(): Promise<LedgerFault | undefined> {
    const fault = await this.#signing.judge()
    // A wrong key explains everything else that would be found.
    if (fault?.kind === 'last-signed-invalid' || fault?.kind === 'last-signed-missing') return fault
    return this.#judgeLog() ?? fault ?? findTailFault(this.#log, this.#signing.latest()?.checkpoint.size ?? 0)
  }

  /** Whether the log is whole, and the tables are its own. */
  #judgeLog(): LedgerFault | undefined {
    const { damage, size, tablesNeed } = this.#log
    if (damage !== undefined) return { kind: 'damaged', reason: damage }
    const applied = readTablesSize(this.#options.database.sql)
    if (applied > size) return { kind: 'truncated', size, signedSize: applied, source: 'tables' }
    return applied < tablesNeed ? { kind: 'tables-behind', size: applied, needed: tablesNeed } : undefined
  }

  /** Brings up to date what follows the log, and finishes what a crash interrupted. */
  #recover(isSound: boolean): void {
    const { size } = this.#log
    this.#unsigned = isSound ? describeUnsignedTail(this.#log, this.#signing.latest()?.checkpoint.size ?? 0) : undefined
    if (this.#lookup.size > size) this.#lookup.cut(size)
    for (let from = this.#lookup.size; from < size; from = this.#lookup.size) {
      for (const { seq, bytes } of this.#log.entries(from, RECOVERED_AT_ONCE)) {
        const decoded = decodeEntry(bytes)
        // What cannot be read is nobody's to look up; `verify` names it.
        this.#lookup.add(seq, decoded.ok ? decoded.value.at : '', decoded.ok ? decoded.value : { kind: 'unreadable' })
      }
      if (this.#lookup.size === from) break
    }
    for (const call of this.#lookup.openCalls()) this.#openCalls.add(call)
    if (isSound) finishErasures(this.#log)
  }

  readonly #journal: CommitJournal = {
    workBegins: () => {
      this.#inWork = true
      this.#stepsAtWork = this.#callSteps.length
      this.#log.workBegins()
    },
    workUndone: () => {
      this.#putBackCalls(this.#stepsAtWork)
      this.#log.workUndone()
      this.#events.length = this.#log.pendingSize - this.#log.size
    },
    writeGroup: (changedRows) => {
      this.#inWork = false
      const { database } = this.#options
      if (changedRows && this.#log.pendingSize > this.#log.size) setTablesSize(database.sql, this.#log.pendingSize)
      return this.#log.writeGroup(changedRows)
    },
    groupEnds: (committed) => {
      this.#inWork = false
      if (!committed) this.#putBackCalls(0)
      this.#callSteps = []
      const events = this.#events
      this.#events = []
      const first = this.#log.size
      const entries = this.#log.groupEnds(committed)
      if (entries.length === 0) return
      this.#tree.append(entries)
      for (const [index, { at, event }] of events.entries()) this.#lookup.add(first + index, at, event)
      // Segments of the tail go when a checkpoint covers them: a busy node does not wait for the next regular one.
      if (this.#log.awaitsCheckpoint(this.#signing.latest()?.checkpoint.size ?? 0)) this.#signSoon()
    },
    close: () => {
      this.#lookup.close()
      this.#log.close()
    },
  }

  /** Spelling a time costs as much as hashing an entry, and many entries have the same. */
  #timeText(nowMs: number): string {
    if (this.#time?.ms !== nowMs) this.#time = { ms: nowMs, text: new Date(nowMs).toISOString() }
    return this.#time.text
  }

  #putBackCalls(from: number): void {
    for (const { call, opened } of this.#callSteps.splice(from).toReversed())
      if (opened) this.#openCalls.delete(call)
      else this.#openCalls.add(call)
  }

  #signSoon(): void {
    if (this.#isSigningSoon || this.#state.kind === 'refusing') return
    this.#isSigningSoon = true
    void this.checkpoint()
      // A checkpoint that cannot be signed now is tried again with the next group; the regular one reports it.
      .catch(() => undefined)
      .finally(() => {
        this.#isSigningSoon = false
      })
  }

  async #prepare(size: number): Promise<void> {
    this.#log.writeBundles()
    this.#tree.writePartials(size)
    await this.#log.tiles.sync()
  }

  #settle(signed: Result<SignedCheckpoint, SigningFault>): Result<SignedCheckpoint, SigningFault> {
    if (signed.ok) this.#log.release(signed.value.checkpoint.size)
    else if (signed.fault.kind !== 'last-signed-unwritable') this.#state = { kind: 'refusing', fault: signed.fault }
    return signed
  }
}

/** Entries read at once for whoever makes tables from them. */
const CACHED_PIECE = 1_000
/** Ends with a turn for everybody else in mind: a cache that was lost is made again from the whole log. */
const RECOVERED_AT_ONCE = 4_096

/** Entries that are known to be signed before anything is checked; all, where that cannot be read: nothing is cut then. */
async function knownSigned({ database, lastSignedPath, signer }: LedgerOptions): Promise<number> {
  const inDatabase = new CheckpointStore(database.sql).latest()?.size ?? 0
  try {
    const text = await readIfThere(lastSignedPath)
    if (text === undefined) return inDatabase
    const opened = openCheckpoint(text, signer.key)
    return opened.ok ? Math.max(inDatabase, opened.value.checkpoint.size) : Infinity
  } catch {
    return Infinity
  }
}

function withKind(row: LeafRow | undefined): LeafOfKind | undefined {
  return row && { ...row, kind: kindIn(row.bytes) }
}

function kindIn(bytes: Uint8Array): string {
  const decoded = decodeEntry(bytes)
  return decoded.ok ? decoded.value.kind : ''
}
