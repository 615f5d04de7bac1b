/**
 * Ledger: the node's one append-only log of events. What proves an entry to others is in provable-ledger.ts, what a start
 * checks and recovers in ledger-opening.ts.
 *
 *   appendIn ▸ canonical bytes ▸ one write and one fdatasync for the group ▸ COMMIT of the tables ▸ leaves in the tree
 *            ▸ the caller hears ▸ (every 256 entries) bundle and tile files
 *
 * It stores events and knows nothing of tools, principals or policy. Five kinds of entries have a meaning to it:
 * `call.enter` opens a call, `call.exit` and `call.aborted` (field `call`, the enter's sequence number) end it, once;
 * `call.outcome` tells what became known about a call that has ended; nothing may follow a signed `node.stop` except
 * what a later start appended, and signed or pinned.
 *
 * Reads and writes through its stores.
 */
import { toHex } from '../core/bytes.ts'
import { randomBytes } from '../core/ids.ts'
import type { PreCommitJournal } from '../core/database-store.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { createCachingIsoTimeFormatter } from '../toolbox/iso-time.ts'
import {
  CALL_ABORTED_KIND,
  CALL_ENTER_KIND,
  readEndedCallSeq,
  isCallEnd,
  isLateOutcomeOfEndedCall,
  isLateCallOutcome,
  OpenCalls,
} from './call-entry.ts'
import { BODY_ERASED_KIND, createBodyCommitment, BODY_SALT_BYTES } from './entry-group.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { createLedgerEntry, encodeEntry } from './entry.ts'
import type { AppendReceipt, LedgerEvent } from './entry.ts'
import { rebuildEntryCache } from './entry-cache-store.ts'
import type { EntryCacheInput } from './entry-cache-store.ts'
import { erasureProjection, eraseEntryBody } from './erasure.ts'
import type { ErasureResult, ErasureState, ErasureStatement } from './erasure.ts'
import { LedgerRefusalError, doesSigningOutageBlockChanges, SOUND_LEDGER_STATE } from './ledger-state.ts'
import type { LedgerFault, LedgerSoundness, SigningFault, SigningOutage } from './ledger-state.ts'
import { readEntriesOfKinds } from './entries-by-kind.ts'
import { writeAppliedEntryCount } from './ledger-tables-store.ts'
import {
  findFaultBeyondLastSigned,
  findOpeningFault,
  findUnauthenticBundle,
  readKnownSignedSize,
  recoverOpenedLedger,
} from './ledger-opening.ts'
import type { LedgerOptions } from './ledger-options.ts'
import type { BodyState } from './ledger-reader.ts'
import type { UnsignedTailSummary } from './unsigned-tail.ts'
import { verifyNote } from './signed-note.ts'
import { reportSigningOutage, verifyOpenLedger } from './open-ledger-verification.ts'
import { VerificationHistory } from './verification-history.ts'
import type { CompleteVerification, OpenLedgerVerificationOptions } from './verification-history.ts'
import { ProjectionSet } from './projection.ts'
import { ProvableLedger } from './provable-ledger.ts'
import type { EraseFault } from './ledger-operation-fault.ts'
import { computeLeafHash } from './tree.ts'
import type { LogVerificationReport } from './log-verification.ts'

export class Ledger extends ProvableLedger {
  readonly #options: LedgerOptions
  readonly projections: ProjectionSet
  readonly #openCalls = new OpenCalls()
  readonly #verifications = new VerificationHistory()
  #inWork = false
  #erasures: ErasureState | undefined
  #isStopped = false
  #isSigningSoon = false
  /** The size that was written beside the pin, or will be before the callers of its group are answered. */
  #pinnedSize = 0
  readonly #formatTime = createCachingIsoTimeFormatter()
  #events: { readonly at: string; readonly event: LedgerEvent }[] = []
  #state: LedgerSoundness = SOUND_LEDGER_STATE
  #unsigned: UnsignedTailSummary | undefined
  #outage: { readonly fault: SigningFault; readonly sinceMs: number } | undefined

  private constructor(options: LedgerOptions, signed: number) {
    super(options, signed)
    this.#options = options
    this.projections = new ProjectionSet((kinds) => readEntriesOfKinds(this.log, kinds))
    options.database.useJournal(this.#journal)
    options.database.follow(this.projections.follower)
  }

  /** Always opens; `state()` says whether the stored tree may still be appended to and signed. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const ledger = new Ledger(options, await readKnownSignedSize(options))
    const found = await findOpeningFault(ledger.opened)
    ledger.projections.openAll([erasureProjection, ...(options.projections ?? [])])
    const erasures = ledger.projections.state(erasureProjection)
    ledger.#erasures = erasures
    const fault = found ?? findUnauthenticBundle(ledger.log)
    const unlawful = ledger.projections.unlawful.length
    if (fault !== undefined) ledger.#state = { kind: 'refusing', fault }
    else if (unlawful > 0) ledger.#state = { kind: 'damaged', findings: unlawful }
    const { unsigned, openCalls } = recoverOpenedLedger(ledger.opened, erasures, fault === undefined)
    ledger.#unsigned = unsigned
    ledger.#openCalls.restore(openCalls)
    if (fault === undefined) options.pin?.resume()
    return ledger
  }

  /** Whether the ledger is sound, was found damaged, or refuses appends and signatures, with the reason. */
  state(): LedgerSoundness {
    return this.#state
  }

  /** The last complete verification by this process. */
  lastVerification(): CompleteVerification | undefined {
    return this.#verifications.last
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
    const commitment = body === undefined ? undefined : createBodyCommitment(body, randomBytes(BODY_SALT_BYTES))
    const bytes = encodeEntry(event, { seq, at, bodyHash: commitment?.hash })
    if (this.projections.handles(event.kind))
      this.projections.append(createLedgerEntry(event, { seq, at, bodyHash: commitment?.hash }))
    if (closes !== undefined) this.#openCalls.end(closes)
    if (event.kind === CALL_ENTER_KIND) this.#openCalls.enter(seq)
    const leaf = computeLeafHash(bytes)
    this.log.append({ bytes, leaf, body: commitment && { salt: commitment.salt, body: commitment.bytes } })
    this.#events.push({ at, event })
    if (this.#isCached(event.kind))
      this.#writeCaches({
        entry: createLedgerEntry(event, { seq, at, bodyHash: commitment?.hash }),
        leafHash: toHex(leaf),
        body,
        erased: event.kind === BODY_ERASED_KIND ? this.entry(Number(event['entry']))?.entry : undefined,
      })
    return { seq, at, leafHash: leaf }
  }

  protected override isErased(seq: number): boolean {
    return this.#erasures?.erased.has(String(seq)) === true
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

  /** Clears the tables that copy the log, and writes them again from the log. */
  async rebuild(): Promise<void> {
    const { caches = [], database } = this.#options
    await database.commit((sql) => {
      for (const cache of caches) rebuildEntryCache(cache, sql, this.log)
    })
  }

  /** Ends every open call as aborted. Runs before the first call after a crash, and after the last call at a stop. */
  async abortOpenCalls(): Promise<readonly number[]> {
    return this.#options.database.commit(() => this.#abortOpenCallsIn(), { tables: false })
  }

  #abortOpenCallsIn(): readonly number[] {
    const calls = this.#openCalls.list()
    for (const call of calls) this.appendIn({ kind: CALL_ABORTED_KIND, call })
    return calls
  }

  /** Appends the event as the last entry and signs; entries that are appended later without a start are refused. */
  async stop(event: LedgerEvent): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    await this.#options.database.commit(
      () => {
        this.#abortOpenCallsIn()
        this.appendIn(event)
        this.#isStopped = true
      },
      { tables: false },
    )
    const signed = await this.#settle(await this.signing.sign())
    await this.flushPin()
    return signed
  }

  /** Erases a body, with the rows that show it, and records the erasure. */
  async eraseBody(
    seq: number,
    statement: ErasureStatement = {},
  ): Promise<Result<ErasureResult, EraseFault | LedgerFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    const stored = this.entry(seq)
    if (stored === undefined) return fail({ kind: 'no-such-entry', seq, size: this.size() })
    const { log, projections } = this
    const appendIn = (event: LedgerEvent): AppendReceipt => this.appendIn(event)
    const body = (of: number): BodyState => this.body(of)
    return eraseEntryBody(stored, statement, { ...this.#options, log, body, projections, appendIn })
  }

  async checkpoint(): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    return this.#settle(await this.signing.sign())
  }

  /**
   * Compares the ledger with a checkpoint that another party has saved. If it has this node's signature and the tree
   * does not extend it, the ledger refuses from then on, also after it is opened again.
   */
  async compareWithCheckpoint(saved: SignedCheckpoint): Promise<LedgerFault | undefined> {
    if (!verifyNote(saved.note, [this.verifierKey]).ok) return undefined
    const fault = this.signing.compareWithCheckpoint(saved)
    if (fault === undefined) return undefined
    this.#state = { kind: 'refusing', fault }
    if (fault.kind !== 'damaged') await this.signing.storeEvidence(saved)
    return fault
  }

  /**
   * For a person who knows that this database is the newest although the file beside it is missing or unreadable.
   * Records the adoption, together with `details`, and signs anew.
   */
  async adopt(details?: JsonObject): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (this.#state.kind !== 'refusing') {
      // A log that continues under another name records this, even if no checkpoint of the old one is left here.
      if (details !== undefined) await this.append({ kind: 'ledger.adopted', ...details })
      return this.checkpoint()
    }
    const { fault } = this.#state
    const remaining = findFaultBeyondLastSigned(fault, this.opened)
    if (remaining !== undefined) return fail(remaining)
    const refusing = this.#state
    this.#state = SOUND_LEDGER_STATE
    try {
      await this.append({ kind: 'ledger.adopted', fault: fault.kind, ...details })
    } catch (error) {
      this.#state = refusing
      throw error
    }
    return this.#settle(await this.signing.signAnew())
  }

  /**
   * Derives the whole ledger again from its bytes, or what was appended since the last time, and reports every defect.
   */
  async verify(options: OpenLedgerVerificationOptions = {}): Promise<LogVerificationReport> {
    const since = this.#verifications.startOf(options)
    // Read before the first entry, so that a checkpoint that is signed meanwhile covers more than it.
    const latest = this.latestCheckpoint()
    const { directory, log, lookup } = this
    const report = await verifyOpenLedger({ ...this.#options, directory, log, lookup, latest }, { ...options, since })
    const run = { report, since, latest, atMs: this.#options.clock.now() }
    this.#state = this.#verifications.record(run, this.#state)
    return reportSigningOutage(report, this.signingOutage(), this.size())
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
      this.tree.append(entries)
      for (const [index, { at, event }] of events.entries()) this.lookup.add(first + index, at, event)
      // A checkpoint lets segments of the tail be removed, so a busy node signs at once instead of waiting for the
      // periodic checkpoint.
      if (this.log.awaitsCheckpoint(this.signing.latest()?.checkpoint.size ?? 0)) this.#signSoon()
    },
    prepareAnswer: () => {
      if (this.#options.pin === undefined || this.log.size === this.#pinnedSize) return undefined
      const { size } = this.log
      this.#pinnedSize = size
      return () => this.signing.pinNewestSize(size)
    },
    close: () => {
      this.#options.pin?.close()
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

  async #settle(signed: Result<SignedCheckpoint, SigningFault>): Promise<Result<SignedCheckpoint, SigningFault>> {
    if (signed.ok) {
      this.#outage = undefined
      this.signing.pinTree(signed.value.checkpoint)
      await this.log.release(signed.value.checkpoint.size)
    } else if (signed.fault.kind === 'last-signed-unwritable')
      this.#outage = { fault: signed.fault, sinceMs: this.#outage?.sinceMs ?? this.#options.clock.monotonic() }
    else this.#state = { kind: 'refusing', fault: signed.fault }
    return signed
  }
}
