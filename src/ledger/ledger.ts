/**
 * Ledger: the node's one append-only log of events, and the proofs of what it says.
 *
 *   appendIn ▸ canonical bytes ▸ one write and one fdatasync for the group ▸ COMMIT of the tables ▸ leaves in the tree
 *            ▸ the caller hears ▸ (every 256 entries) bundle and tile files
 *
 * It stores events and knows nothing of tools, principals or policy. Five kinds of entries have a meaning to it:
 * `call.enter` opens a call, `call.exit` and `call.aborted` (field `call`, the enter's sequence number) end it, once;
 * `call.outcome` tells what became known about a call that has ended; nothing may follow a signed `node.stop` except
 * what a later start appended and signed.
 *
 * Reads and writes through its stores.
 */
import type { KeyObject } from 'node:crypto'
import { dirname, join } from 'node:path'
import { areBytesEqual, toHex } from '../core/bytes.ts'
import { randomBytes } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import { findAlteredSchema } from '../core/database-schema-check-store.ts'
import type { Database, PreCommitJournal } from '../core/database-store.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createCachingIsoTimeFormatter } from '../toolbox/iso-time.ts'
import { readFileIfPresent, writeFileAtomically } from './atomic-file-store.ts'
import {
  CALL_ABORTED_KIND,
  CALL_ENTER_KIND,
  readEndedCallSeq,
  isCallEnd,
  isLateOutcomeOfEndedCall,
  isLateCallOutcome,
  OpenCalls,
} from './call-entry.ts'
import { deriveEntryBundleMacKey, isEntryBundleInTree } from './bundle-authenticator.ts'
import { BODY_ERASED_KIND, createBodyCommitment, deriveTailMacKey, BODY_SALT_BYTES } from './entry-group.ts'
import { formatSignedCheckpoint, verifyAndParseCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { CheckpointStore } from './checkpoint-store.ts'
import { createEntryCacheInput } from './entry-cache-input.ts'
import { createLedgerEntry, decodeEntry, encodeEntry } from './entry.ts'
import type { AppendReceipt, LedgerEvent } from './entry.ts'
import { EntryCacheVerification, rebuildEntryCache } from './entry-cache-store.ts'
import type { EntryCacheInput, EntryCacheDefinition } from './entry-cache-store.ts'
import { eraseEntryBody, finishInterruptedErasures } from './erasure.ts'
import type { ErasureResult, ErasureStatement } from './erasure.ts'
import { writeLedgerExport } from './export-store.ts'
import type { LedgerExportResult, LedgerExportFault } from './export-store.ts'
import {
  formatLedgerFault,
  LedgerRefusalError,
  doesSigningOutageBlockChanges,
  SOUND_LEDGER_STATE,
} from './ledger-state.ts'
import type { LedgerFault, LedgerSoundness, SigningFault, SigningOutage } from './ledger-state.ts'
import type { LedgerPinFile } from './ledger-pin-store.ts'
import { readEntriesOfKinds } from './entries-by-kind.ts'
import { writeAppliedEntryCount, readAppliedEntryCount } from './ledger-tables-store.ts'
import { LedgerReader } from './ledger-reader.ts'
import { LogStore } from './log-store.ts'
import { recoverLookupAndListOpenCalls } from './lookup-recovery.ts'
import { LookupStore } from './lookup-store.ts'
import { findUnsignedTailFault, summarizeUnsignedTail } from './unsigned-tail.ts'
import type { UnsignedTailSummary } from './unsigned-tail.ts'
import { verifyNote } from './signed-note.ts'
import type { VerifiedSignature } from './signed-note.ts'
import type { LogSigner, NoteVerifier } from './note-key.ts'
import { proveConsistency, proveInclusion } from './proof.ts'
import type { ConsistencyProof, InclusionProof, ProofCreationFault } from './proof.ts'
import { ProjectionSet } from './projection.ts'
import type { UntypedProjection, StoredContentCheck } from './projection.ts'
import type { EraseFault } from './ledger-operation-fault.ts'
import { encodeCommitmentOpening } from './body-opening.ts'
import { CheckpointSigner } from './checkpoint-signer.ts'
import { StoredTree } from './stored-tree.ts'
import { readTailSegments } from './tail-reader-store.ts'
import { formatTlogProof, createTlogProof } from './tlog-proof.ts'
import { computeLeafHash } from './tree.ts'
import { verifyStoredLog } from './log-verification.ts'
import type { LogVerificationOptions, LogVerificationReport } from './log-verification.ts'

export interface LedgerOptions {
  readonly database: Database
  /**
   * The signer's name is the origin. Entries that are not signed yet are authenticated with a secret derived from its
   * key.
   */
  readonly signer: LogSigner
  /** The log's name in its checkpoints, such as `hearthbus.local/attic`. */
  readonly origin: string
  /** Where the last signed checkpoint is stored a second time, outside the log. */
  readonly lastSignedPath: string
  /** The pin outside of the data directory, with what this node signed last; absent where none is kept. */
  readonly pin?: LedgerPinFile | undefined
  /** The directory of the log; by default `ledger` beside that file. */
  readonly directory?: string
  readonly clock: Clock
  /** How many entries a segment of the tail takes. */
  readonly segmentEntries?: number | undefined
  /**
   * The states that other modules decide from: computed from the log when it is opened, and updated with every entry.
   */
  readonly projections?: readonly UntypedProjection[]
  /** Audits of content that is stored beside the log, and whose hashes are in the log. */
  readonly contents?: readonly StoredContentCheck[]
  /** Tables of the same database that copy what entries say, and are written with them. */
  readonly caches?: readonly EntryCacheDefinition[]
}

/** The log's folder, beside the file of the last signed checkpoint. */
export const LOG_FOLDER_NAME = 'ledger'

export interface LedgerVerifyOptions extends LogVerificationOptions {
  /**
   * Verify only from the checkpoint up to which this process last found no defect; everything, if it has not verified
   * yet.
   */
  readonly incremental?: boolean
}

export class Ledger extends LedgerReader {
  readonly #options: LedgerOptions
  readonly #directory: string
  readonly #tailKey: KeyObject
  readonly #tree: StoredTree
  readonly #signing: CheckpointSigner
  readonly projections: ProjectionSet
  readonly #openCalls = new OpenCalls()
  #inWork = false
  #isStopped = false
  #isSigningSoon = false
  readonly #formatTime = createCachingIsoTimeFormatter()
  #events: { readonly at: string; readonly event: LedgerEvent }[] = []
  #state: LedgerSoundness = SOUND_LEDGER_STATE
  #verified: SignedCheckpoint | undefined
  #unsigned: UnsignedTailSummary | undefined
  #outage: { readonly fault: SigningFault; readonly sinceMs: number } | undefined
  #lastRun: ReturnType<Ledger['lastVerification']>

  private constructor(options: LedgerOptions, signed: number) {
    const { database, signer, origin, lastSignedPath, pin } = options
    const directory = options.directory ?? join(dirname(lastSignedPath), LOG_FOLDER_NAME)
    if (signer.key.name !== origin) throw new TypeError(`the signer is named ${signer.key.name}, the log ${origin}`)
    createPrivateFolder(directory)
    const tailKey = deriveTailMacKey(signer)
    const log = new LogStore({
      directory,
      key: tailKey,
      bundleKey: deriveEntryBundleMacKey(signer),
      tables: { size: readAppliedEntryCount(database.sql), signed },
      segmentEntries: options.segmentEntries,
    })
    super(log, new LookupStore(join(directory, 'lookup.db')))
    this.#options = options
    this.#directory = directory
    this.#tailKey = tailKey
    this.#tree = new StoredTree(log)
    this.#signing = new CheckpointSigner({
      database,
      tree: this.#tree,
      signer,
      lastSignedPath,
      pin,
      prepare: (size) => this.#prepare(size),
      publish: (signed) => writeFileAtomically(join(directory, 'checkpoint'), formatSignedCheckpoint(signed)),
    })
    this.log.checkBundlesWith((index, entries) =>
      isEntryBundleInTree(index, entries, this.#signing.latest()?.checkpoint, (seq, size) => this.inclusion(seq, size)),
    )
    this.projections = new ProjectionSet((kinds) => readEntriesOfKinds(this.log, kinds))
    database.useJournal(this.#journal)
    database.follow(this.projections.follower)
  }

  /** Always opens; `state()` says whether the stored tree may still be appended to and signed. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const ledger = new Ledger(options, await knownSigned(options))
    const judged = await ledger.#judge()
    ledger.projections.openAll(options.projections ?? [])
    const fault = judged ?? ledger.#findUnauthenticBundle()
    const unlawful = ledger.projections.unlawful.length
    if (fault !== undefined) ledger.#state = { kind: 'refusing', fault }
    else if (unlawful > 0) ledger.#state = { kind: 'damaged', findings: unlawful }
    ledger.#recover(fault === undefined)
    return ledger
  }

  /** Whether the ledger is sound, was found damaged, or refuses appends and signatures, with the reason. */
  state(): LedgerSoundness {
    return this.#state
  }

  /** The last complete verification by this process. */
  lastVerification(): { readonly atMs: number; readonly size: number; readonly findings: number } | undefined {
    return this.#lastRun
  }

  /** What a crash left after the last signature; `undefined` when everything was signed. */
  unsignedTail(): UnsignedTailSummary | undefined {
    return this.#unsigned
  }

  /** Since when no checkpoint could be stored, and why; `undefined` while checkpoints can be stored. */
  signingOutage(): SigningOutage | undefined {
    if (this.#outage === undefined) return undefined
    const { fault, sinceMs } = this.#outage
    const entries = this.size() - (this.latestCheckpoint()?.checkpoint.size ?? 0)
    return { fault, forMs: this.#options.clock.monotonic() - sinceMs, entries }
  }

  /** Whether so many entries are unsigned that changes are refused. Entries are still recorded. */
  refusesChanges(): boolean {
    const outage = this.signingOutage()
    return outage !== undefined && doesSigningOutageBlockChanges(outage)
  }

  /** The path of the pin, its content, and why it cannot be written. */
  pin(): Pick<LedgerPinFile, 'path' | 'pin' | 'trouble'> | undefined {
    return this.#options.pin
  }

  /** Writes the present tree to the pin, signed or not. */
  async pinTree(): Promise<void> {
    const { database } = this.#options
    this.#signing.pinTree(await database.commit(() => ({ size: this.size(), root: this.root() }), { tables: false }))
  }

  /** Resolves when the last signed tree is written to the pin, or could not be written. */
  async flushPin(): Promise<void> {
    await this.#options.pin?.flush()
  }

  /** The key with which others can verify what the ledger signs. */
  get verifierKey(): NoteVerifier {
    return this.#options.signer.key
  }

  /** Refuses appends and signatures from now on, until the ledger is opened again. */
  refuse(fault: LedgerFault): void {
    if (this.#state.kind !== 'refusing') this.#state = { kind: 'refusing', fault }
  }

  /** Resolves when the event is durable; shares the fsync with all other writes of this turn of the event loop. */
  append(event: LedgerEvent, body?: Json): Promise<AppendReceipt> {
    return this.#options.database.commit(() => this.appendIn(event, body), { tables: this.#isCached(event.kind) })
  }

  /**
   * Appends inside a work given to `Database.commit`, so that a module's write and its event are one transaction. The
   * event is durable when that commit resolves. The work must not catch what this throws, so that all of it is undone.
   */
  appendIn(event: LedgerEvent, body?: Json): AppendReceipt {
    if (this.#state.kind === 'refusing') throw new LedgerRefusalError(this.#state.fault)
    if (this.#isStopped) throw new Error('the node has stopped: nothing is recorded any more')
    if (!this.#inWork) throw new Error('appendIn belongs inside Database.commit')
    const closes = readEndedCallSeq(event)
    if (isCallEnd(event) && closes === undefined) throw new TypeError(`${event.kind} names no call`)
    const seq = this.log.pendingSize
    if (isLateCallOutcome(event) && !isLateOutcomeOfEndedCall(event, seq, (call) => this.#hasEnded(call)))
      throw new RangeError(`${event.kind} is about no call that has ended`)
    const at = this.#formatTime(this.#options.clock.now())
    const kept = body === undefined ? undefined : createBodyCommitment(body, randomBytes(BODY_SALT_BYTES))
    const bytes = encodeEntry(event, { seq, at, bodyHash: kept?.hash })
    if (this.projections.handles(event.kind))
      this.projections.append(createLedgerEntry(event, { seq, at, bodyHash: kept?.hash }))
    if (closes !== undefined) this.#openCalls.end(closes)
    if (event.kind === CALL_ENTER_KIND) this.#openCalls.enter(seq)
    const leaf = computeLeafHash(bytes)
    this.log.append({ bytes, leaf, body: kept && { salt: kept.salt, body: kept.bytes } })
    this.#events.push({ at, event })
    if (this.#isCached(event.kind))
      this.#writeCaches({
        entry: createLedgerEntry(event, { seq, at, bodyHash: kept?.hash }),
        leafHash: toHex(leaf),
        body,
        erased: event.kind === BODY_ERASED_KIND ? this.entry(Number(event['entry']))?.entry : undefined,
      })
    return { seq, at, leafHash: leaf }
  }

  #hasEnded(call: number): boolean {
    return !this.#openCalls.has(call) && this.entry(call)?.entry.kind === CALL_ENTER_KIND
  }

  #isCached(kind: string): boolean {
    return this.#options.caches?.some(({ apply }) => Object.hasOwn(apply, kind)) === true
  }

  #writeCaches(cached: EntryCacheInput): void {
    const { caches = [], database } = this.#options
    if (!database.sql.isTransaction) throw new Error(`${cached.entry.kind} is shown in tables: its work must say so`)
    for (const { apply } of caches) apply[cached.entry.kind]?.(database.sql, cached)
  }

  /** The next thousand entries from `from` on, as input for the tables that copy them. */
  cached(from: number): readonly { readonly seq: number; readonly cached: EntryCacheInput | undefined }[] {
    return this.log.entries(from, CACHED_PIECE).map(({ seq, bytes }) => {
      const decoded = decodeEntry(bytes)
      return { seq, cached: decoded.ok ? createEntryCacheInput(decoded.value, bytes, this.log) : undefined }
    })
  }

  /** Clears the tables that copy the log, and writes them again from the log. */
  async rebuild(): Promise<void> {
    const { caches = [], database } = this.#options
    await database.commit((sql) => {
      for (const cache of caches) rebuildEntryCache(cache, sql, this.#allCached(cache))
    })
  }

  *#allCached({ apply }: EntryCacheDefinition): Generator<EntryCacheInput, void, void> {
    for (const entry of readEntriesOfKinds(this.log, new Set(Object.keys(apply)))) {
      const row = this.log.entry(entry.seq)
      if (row !== undefined) yield createEntryCacheInput(entry, row.bytes, this.log)
    }
  }

  /** Ends every open call as aborted. Runs before the first call after a crash, and after the last call at a stop. */
  async abortOpenCalls(): Promise<readonly number[]> {
    return this.#options.database.commit(
      () => {
        const calls = this.#openCalls.list()
        for (const call of calls) this.appendIn({ kind: CALL_ABORTED_KIND, call })
        return calls
      },
      { tables: false },
    )
  }

  /** Appends the event as the last entry and signs; entries that are appended later without a start are refused. */
  async stop(event: LedgerEvent): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    await this.#options.database.commit(
      () => {
        for (const call of this.#openCalls.list()) this.appendIn({ kind: CALL_ABORTED_KIND, call })
        this.appendIn(event)
        this.#isStopped = true
      },
      { tables: false },
    )
    const signed = await this.#settle(await this.#signing.sign())
    await this.flushPin()
    return signed
  }

  /** Throws `TreeDamagedError` where the state says so. */
  root(): Uint8Array {
    return this.#tree.root()
  }

  /** Erases a body, with the rows that show it, and records the erasure. */
  async eraseBody(seq: number, told: ErasureStatement = {}): Promise<Result<ErasureResult, EraseFault | LedgerFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    const stored = this.entry(seq)
    if (stored === undefined) return fail({ kind: 'no-such-entry', seq, size: this.size() })
    const { database, clock, caches = [] } = this.#options
    const appendIn = (event: LedgerEvent): AppendReceipt => this.appendIn(event)
    const holds = (): string | undefined => this.projections.holds(stored.entry, clock.now())
    const showing = caches.flatMap((cache) => cache.showing(stored.entry))
    return eraseEntryBody(stored, told, { database, log: this.log, showing, holds, appendIn })
  }

  /** Signs the present tree; returns the last checkpoint when nothing was appended since. */
  async checkpoint(): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    return this.#settle(await this.#signing.sign())
  }

  latestCheckpoint(): SignedCheckpoint | undefined {
    return this.#signing.latest()
  }

  /** How many entries the newest checkpoint with a witness's cosignature covers. */
  cosignedSize(): number | undefined {
    return this.#signing.cosignedSize()
  }

  /** The newest checkpoint that covers an entry and that this witness has cosigned. */
  cosignedBy(witness: NoteVerifier, seq: number): SignedCheckpoint | undefined {
    return this.#signing.cosignedBy(witness, seq)
  }

  /** Stores witnesses' cosignatures of one of this ledger's checkpoints. */
  addCosignatures(signed: SignedCheckpoint, more: readonly VerifiedSignature[]): Promise<SignedCheckpoint> {
    return this.#signing.addCosignatures(signed, more)
  }

  /**
   * Compares the ledger with a checkpoint that somebody else has saved. If it has this node's signature and the tree
   * does not extend it, the ledger refuses from then on, also after it is opened again.
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
   * For a person who knows that this database is the newest although the file beside it is missing or unreadable.
   * Records the adoption, together with `told`, and signs anew.
   */
  async adopt(told?: JsonObject): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (this.#state.kind !== 'refusing') {
      // A log that continues under another name records this, even if no checkpoint of the old one is left here.
      if (told !== undefined) await this.append({ kind: 'ledger.adopted', ...told })
      return this.checkpoint()
    }
    const { fault } = this.#state
    const forgivable = fault.kind === 'last-signed-missing' || fault.kind === 'last-signed-invalid'
    const remaining = forgivable ? (this.#judgeLog() ?? this.#signing.judgeDatabase()) : fault
    if (remaining !== undefined) return fail(remaining)
    const refusing = this.#state
    this.#state = SOUND_LEDGER_STATE
    try {
      await this.append({ kind: 'ledger.adopted', fault: fault.kind, ...told })
    } catch (error) {
      this.#state = refusing
      throw error
    }
    return this.#settle(await this.#signing.signAnew())
  }

  inclusion(seq: number, size?: number): Result<InclusionProof, ProofCreationFault> {
    return proveInclusion(this.#tree, seq, size)
  }

  consistency(from: number, to?: number): Result<ConsistencyProof, ProofCreationFault> {
    return proveConsistency(this.#tree, from, to)
  }

  /**
   * Returns a C2SP tlog-proof of one entry, under a cosigned checkpoint if there is one, else under a new one.
   * `existing` is for a caller that may not cause a signature: then only an entry that a checkpoint already covers can
   * be proved.
   */
  async proofText(
    seq: number,
    options: { readonly withBody?: boolean; readonly under?: 'existing' | undefined } = {},
  ): Promise<Result<string, ProofCreationFault | SigningFault>> {
    const known = this.#signing.covering(seq)
    if (known === undefined && options.under === 'existing')
      return fail({ kind: 'no-such-entry', seq, size: this.latestCheckpoint()?.checkpoint.size ?? 0 })
    const signed = known === undefined ? await this.checkpoint() : ok(known)
    if (!signed.ok) return signed
    const { checkpoint } = signed.value
    const inclusion = this.inclusion(seq, checkpoint.size)
    if (!inclusion.ok) return inclusion
    // While the ledger refuses, the signed checkpoints may be about other entries than the stored ones.
    if (!areBytesEqual(inclusion.value.root, checkpoint.root))
      return fail({ kind: 'diverged', size: this.size(), signedSize: checkpoint.size, source: 'database' })
    const proof = createTlogProof(seq, inclusion.value.path, signed.value)
    const body = options.withBody === true ? this.log.body(seq) : undefined
    return ok(formatTlogProof(body === undefined ? proof : { ...proof, extra: encodeCommitmentOpening(body) }))
  }

  /**
   * Writes the ledger, up to a new checkpoint, as files that anybody can verify. Continues where the last export ended.
   */
  async exportTo(
    directory: string,
    options: { readonly withBodies?: boolean } = {},
  ): Promise<Result<LedgerExportResult, LedgerExportFault | SigningFault>> {
    const signed = await this.checkpoint()
    if (!signed.ok) return signed
    const source = {
      directory: this.#directory,
      key: this.verifierKey,
      signed: signed.value,
      rootAt: (size: number) => this.#tree.rootAt(size),
      bodies: options.withBodies === true ? (seq: number) => this.log.body(seq) : undefined,
    }
    return writeLedgerExport(source, directory)
  }

  /**
   * Derives the whole ledger again from its bytes, or what was appended since the last time, and reports every defect.
   */
  async verify(options: LedgerVerifyOptions = {}): Promise<LogVerificationReport> {
    const { database, signer, lastSignedPath: path, caches = [], projections = [], contents = [] } = this.#options
    const since = options.since ?? (options.incremental === true ? this.#verified : undefined)
    // Read before the first entry, so that a checkpoint that is signed meanwhile covers more than it.
    const reached = this.#signing.latest()
    const stored = {
      log: this.log,
      tail: () => readTailSegments(join(this.#directory, 'tail'), this.#tailKey, Infinity),
      checkpoints: new CheckpointStore(database.sql),
      newestRow: reached?.checkpoint.size ?? 0,
      tablesSize: () => readAppliedEntryCount(database.sql),
      key: signer.key,
      pinned: this.#options.pin,
      // A file that cannot be read counts as one that is not a checkpoint.
      lastSigned: { path, text: await readFileIfPresent(path).catch(() => new Uint8Array(0)) },
      cacheVerifications: () => caches.map((cache) => new EntryCacheVerification(cache, database.sql)),
      projections,
      contents,
      schema: () => findAlteredSchema(database.sql, database.migrations),
      databases: [database.path, this.lookup.path].filter((each) => each !== ':memory:'),
      lookup: this.lookup,
      view: <Value>(read: () => Value): Promise<Value> => database.view(read),
    }
    const report = await verifyStoredLog(stored, { ...options, since })
    const outage = this.signingOutage()
    const found = report.findings.length + report.more
    if (report.compared) this.#lastRun = { atMs: this.#options.clock.now(), size: report.size, findings: found }
    if (found > 0) {
      // Earlier clean results no longer count: the next run reads everything.
      this.#verified = undefined
      if (this.#state.kind !== 'refusing') this.#state = { kind: 'damaged', findings: found }
    } else if (since === undefined || this.#state.kind !== 'damaged') {
      this.#verified = reached
      if (this.#state.kind === 'damaged') this.#state = SOUND_LEDGER_STATE
    }
    if (outage === undefined || outage.entries <= 0) return report
    // This is not a defect of what is stored, and ends with the next signature, so the state does not depend on it.
    const reason = `signing fails (${formatLedgerFault(outage.fault)})`
    const to = this.size() - 1
    return {
      ...report,
      findings: [...report.findings, { kind: 'unsigned', from: to + 1 - outage.entries, to, reason }],
    }
  }

  async #judge(): Promise<LedgerFault | undefined> {
    const fault = await this.#signing.judge()
    // A wrong key explains all other findings.
    if (fault?.kind === 'last-signed-invalid' || fault?.kind === 'last-signed-missing') return fault
    return this.#judgeLog() ?? fault ?? findUnsignedTailFault(this.log, this.#signing.latest()?.checkpoint.size ?? 0)
  }

  /** Whether the log is complete, and the tables belong to it. */
  #judgeLog(): LedgerFault | undefined {
    const { damage, size, tablesNeed } = this.log
    if (damage !== undefined) return { kind: 'damaged', reason: damage }
    const applied = readAppliedEntryCount(this.#options.database.sql)
    if (applied > size) return { kind: 'truncated', size, signedSize: applied, source: 'tables' }
    return applied < tablesNeed ? { kind: 'tables-behind', size: applied, needed: tablesNeed } : undefined
  }

  /** Looks among the bundles that were read so far; if there are projections, these are all bundles. */
  #findUnauthenticBundle(): LedgerFault | undefined {
    const [index] = this.log.unauthentic
    if (index === undefined) return undefined
    return { kind: 'damaged', reason: `entry bundle ${index} does not hold the entries that were signed` }
  }

  /** Brings the tables up to the log, and finishes what a crash interrupted. */
  #recover(isSound: boolean): void {
    this.#unsigned = isSound ? summarizeUnsignedTail(this.log, this.#signing.latest()?.checkpoint.size ?? 0) : undefined
    this.#openCalls.restore(recoverLookupAndListOpenCalls(this.lookup, this.log))
    if (isSound) finishInterruptedErasures(this.log)
  }

  readonly #journal: PreCommitJournal = {
    workBegins: () => {
      this.#inWork = true
      this.#openCalls.workBegins()
      this.log.workBegins()
    },
    workUndone: () => {
      this.#openCalls.workUndone()
      this.log.workUndone()
      this.#events.length = this.log.pendingSize - this.log.size
    },
    writeGroup: (changedRows) => {
      this.#inWork = false
      const { database } = this.#options
      if (changedRows && this.log.pendingSize > this.log.size)
        writeAppliedEntryCount(database.sql, this.log.pendingSize)
      return this.log.writeGroup(changedRows)
    },
    groupEnds: (committed) => {
      this.#inWork = false
      this.#openCalls.groupEnds(committed)
      const events = this.#events
      this.#events = []
      const first = this.log.size
      const entries = this.log.groupEnds(committed)
      if (entries.length === 0) return
      this.#tree.append(entries)
      for (const [index, { at, event }] of events.entries()) this.lookup.add(first + index, at, event)
      // A checkpoint lets segments of the tail be removed, so a busy node signs at once instead of waiting for the
      // periodic checkpoint.
      if (this.log.awaitsCheckpoint(this.#signing.latest()?.checkpoint.size ?? 0)) this.#signSoon()
    },
    close: () => {
      this.lookup.close()
      this.log.close()
    },
  }

  #signSoon(): void {
    if (this.#isSigningSoon || this.#state.kind === 'refusing') return
    this.#isSigningSoon = true
    void this.checkpoint()
      // A checkpoint that cannot be signed now is tried again after the next group; the periodic one reports the error.
      .catch(() => undefined)
      .finally(() => {
        this.#isSigningSoon = false
      })
  }

  async #prepare(size: number): Promise<void> {
    await this.log.writeBundles()
    await this.#tree.writeTiles(size)
    await this.log.tiles.sync()
  }

  async #settle(signed: Result<SignedCheckpoint, SigningFault>): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (signed.ok) {
      this.#outage = undefined
      this.#signing.pinTree(signed.value.checkpoint)
      await this.log.release(signed.value.checkpoint.size)
    } else if (signed.fault.kind === 'last-signed-unwritable')
      this.#outage = { fault: signed.fault, sinceMs: this.#outage?.sinceMs ?? this.#options.clock.monotonic() }
    else this.#state = { kind: 'refusing', fault: signed.fault }
    return signed
  }
}

/** How many entries are read at once for the tables that copy the log. */
const CACHED_PIECE = 1_000
/**
 * The number of entries known to be signed, before anything is checked; all entries, where it cannot be read, so that
 * nothing is cut off.
 */
async function knownSigned({ database, lastSignedPath, signer, pin }: LedgerOptions): Promise<number> {
  const known = Math.max(new CheckpointStore(database.sql).latest()?.size ?? 0, pin?.pin?.size ?? 0)
  try {
    const text = await readFileIfPresent(lastSignedPath)
    if (text === undefined) return known
    const opened = verifyAndParseCheckpoint(text, signer.key)
    return opened.ok ? Math.max(known, opened.value.checkpoint.size) : Infinity
  } catch {
    return Infinity
  }
}
