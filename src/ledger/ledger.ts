/**
 * Ledger: the node's one append-only log of events, and the proofs of what it says.
 *
 *   append ▸ canonical bytes ▸ entry row ▸ leaf in the tree ▸ (every 256 leaves) tile row ▸ COMMIT ▸ the caller hears
 *
 * It stores events and knows nothing of tools, principals or policy. Three kinds mean something to it: `call.enter`
 * opens a call, `call.exit` and `call.aborted` (field `call`, the enter's sequence number) end it, once.
 *
 * Reads and writes through its stores.
 */
import { equalBytes, hex } from '../core/bytes.ts'
import { chanceBytes } from '../core/chance.ts'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readIfThere } from './atomic-file-store.ts'
import { CALL_ABORTED, CALL_ENTER, closedCall, endsCall } from './audit.ts'
import { BODY_ERASED, bodyHash, commitTo, decodeBody, SALT_BYTES } from './body.ts'
import { cachedEntry } from './cached-entry.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { CheckpointStore } from './checkpoint-store.ts'
import { appliedEntry, decodeEntry, encodeEntry, readableEntries } from './entry.ts'
import type { Appended, LedgerEntry, LedgerEvent, StoredEntry } from './entry.ts'
import { CacheAudit, rebuildCache } from './entry-cache-store.ts'
import type { CachedEntry, EntryCache } from './entry-cache-store.ts'
import { eraseBody } from './erase.ts'
import type { Erased, ErasureNote } from './erase.ts'
import { writeExport } from './export-store.ts'
import type { Exported, ExportFault } from './export-store.ts'
import { LedgerRefuses, SOUND } from './fork.ts'
import type { LedgerFault, LedgerState, SigningFault } from './fork.ts'
import { entriesOfKinds } from './kind-reader.ts'
import { LedgerStore } from './ledger-store.ts'
import type { ChangeQuery } from './ledger-store.ts'
import { verifyNote } from './note.ts'
import type { VerifiedSignature } from './note.ts'
import type { NoteSigner, VerifierKey } from './note-key.ts'
import { consistencyOf, inclusionOf } from './proof.ts'
import type { Consistency, Inclusion, ProofFault } from './proof.ts'
import { Projections } from './projection.ts'
import type { AnyProjection, ContentAudit } from './projection.ts'
import type { EraseFault } from './refusal.ts'
import { Signing } from './signing.ts'
import { StoredTree } from './stored-tree.ts'
import { formatTlogProof, tlogProof } from './tlog-proof.ts'
import { leafHash } from './tree.ts'
import { verifyStored } from './verify.ts'
import type { VerifyOptions, VerifyReport } from './verify.ts'

export interface LedgerOptions {
  readonly database: Database
  /** Named after the origin. */
  readonly signer: NoteSigner
  /** The log's name in its checkpoints, such as `hearthbus.local/attic`. */
  readonly origin: string
  /** Where the last signed checkpoint is kept a second time, outside the database. */
  readonly lastSignedPath: string
  readonly clock: Clock
  /** The states that other modules decide from: read from the log when it is opened, and kept with every entry. */
  readonly projections?: readonly AnyProjection[]
  /** Names of the tables, indexes, views and triggers of the whole database that are not as this program made them. */
  readonly schema?: () => readonly string[]
  /** What is stored beside the log under hashes that the log has. */
  readonly contents?: readonly ContentAudit[]
  /** Tables of the same database that repeat what entries say, and are written with them. */
  readonly caches?: readonly EntryCache[]
}

export type BodyState =
  | { readonly kind: 'kept'; readonly body: Json }
  | { readonly kind: 'erased' }
  | { readonly kind: 'none' }
  /** Not the one that the entry commits to: somebody changed it. */
  | { readonly kind: 'altered' }

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
}

/** Entries read at once for whoever makes tables from them. */
const CACHED_PIECE = 1_000

export class Ledger {
  readonly #options: LedgerOptions
  readonly #store: LedgerStore
  readonly #tree: StoredTree
  readonly #signing: Signing
  readonly projections: Projections
  #state: LedgerState = SOUND
  #verified: SignedCheckpoint | undefined

  private constructor(options: LedgerOptions) {
    const { database, signer, origin, lastSignedPath } = options
    if (signer.key.name !== origin) throw new TypeError(`the signer is named ${signer.key.name}, the log ${origin}`)
    this.#options = options
    this.#store = new LedgerStore(database.sql)
    this.#tree = new StoredTree(this.#store)
    this.#signing = new Signing({ database, tree: this.#tree, signer, lastSignedPath })
    this.projections = new Projections((kinds) => entriesOfKinds(this.#store, kinds))
    database.follow(this.#tree.follower)
    database.follow(this.projections.follower)
  }

  /** Opens in any case; `state()` says whether the stored tree may still be written and signed. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const ledger = new Ledger(options)
    const fault = await ledger.#signing.judge()
    ledger.projections.openAll(options.projections ?? [])
    const unlawful = ledger.projections.unlawful.length
    if (fault !== undefined) ledger.#state = { kind: 'refusing', fault }
    else if (unlawful > 0) ledger.#state = { kind: 'damaged', findings: unlawful }
    return ledger
  }

  /** Sound, found damaged, or refusing appends and signatures, with the reason. */
  state(): LedgerState {
    return this.#state
  }

  /** Whoever has this can check what the ledger signs. */
  get verifierKey(): VerifierKey {
    return this.#options.signer.key
  }

  /** Resolves when the event is durable; shares the fsync with everything else that this turn wants to write. */
  append(event: LedgerEvent, body?: Json): Promise<Appended> {
    return this.#options.database.commit(() => this.appendIn(event, body))
  }

  /**
   * Appends inside a work given to `Database.commit`, so that a domain write and its event are one transaction. It is
   * durable when that commit resolves. What it throws must leave the work too, so that all of it is undone.
   */
  appendIn(event: LedgerEvent, body?: Json): Appended {
    if (this.#state.kind === 'refusing') throw new LedgerRefuses(this.#state.fault)
    if (!this.#store.inTransaction()) throw new Error('appendIn belongs inside Database.commit')
    const closes = closedCall(event)
    if (endsCall(event) && closes === undefined) throw new TypeError(`${event.kind} names no call`)
    const seq = this.#tree.size
    const at = new Date(this.#options.clock.now()).toISOString()
    const kept = body === undefined ? undefined : commitTo(body, chanceBytes(SALT_BYTES))
    const bytes = encodeEntry(event, { seq, at, bodyHash: kept?.hash })
    if (this.projections.handles(event.kind))
      this.projections.append(appliedEntry(event, { seq, at, bodyHash: kept?.hash }))
    if (closes !== undefined && !this.#store.closeCall(closes)) throw new RangeError(`call ${closes} is not open`)
    this.#store.putEntry({ seq, kind: event.kind, closes: closes ?? null, bytes })
    if (event.kind === CALL_ENTER) this.#store.openCall(seq)
    if (kept !== undefined) this.#store.putBody({ seq, salt: kept.salt, body: kept.bytes })
    const leaf = leafHash(bytes)
    this.#tree.append(leaf)
    const { caches = [], database } = this.#options
    for (const { apply } of caches)
      apply[event.kind]?.(database.sql, {
        entry: appliedEntry(event, { seq, at, bodyHash: kept?.hash }),
        leafHash: hex(leaf),
        body,
        erased: this.#erasedBy(event),
      })
    return { seq, at, leafHash: leaf }
  }

  /** The next thousand entries from `from` on, as the tables that repeat them are made from them. */
  cached(from: number): readonly { readonly seq: number; readonly cached: CachedEntry | undefined }[] {
    return this.#store.entries(from, CACHED_PIECE).map(({ seq, bytes }) => {
      const entry = readable(bytes)
      return { seq, cached: entry && cachedEntry(entry, bytes, this.#store) }
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
    for (const entry of entriesOfKinds(this.#store, new Set(Object.keys(apply)))) {
      const row = this.#store.entry(entry.seq)
      if (row !== undefined) yield cachedEntry(entry, row.bytes, this.#store)
    }
  }

  #erasedBy(event: LedgerEvent): LedgerEntry | undefined {
    return event.kind === BODY_ERASED ? this.entry(Number(event['entry']))?.entry : undefined
  }

  /** Ends every call that a crash left open. For the start, before the first call. */
  async abortOpenCalls(): Promise<readonly number[]> {
    return this.#options.database.commit(() => {
      const calls = this.#store.openCalls()
      for (const call of calls) this.appendIn({ kind: CALL_ABORTED, call })
      return calls
    })
  }

  /** Entries so far; inside a work it counts those not yet durable. */
  size(): number {
    // A tree that cannot be read still has entries that can be counted.
    return this.#state.kind === 'refusing' ? this.#store.size() : this.#tree.size
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
    return readableEntries(this.#store.entries(from, limit))
  }

  /**
   * What is on record under a trace id: the newest entries that bear it, and what ended the calls among them. Who calls
   * may choose the id (W3C), so it says nothing about when, nor that all of it is one call, nor that one caller made
   * it.
   */
  entriesOfTrace(traceId: string): readonly LedgerEntry[] {
    return readableEntries(this.#store.entriesOfTrace(traceId)).map(({ entry }) => entry)
  }

  /** What changed something or was to: calls with what ended them, and what people did; newest first by the clock. */
  changes(query: ChangeQuery): readonly RecordedChange[] {
    return this.#store.changes(query).map(({ seq, at, bytes, end }) => {
      const [entry, ending] = [readable(bytes), end === null ? undefined : readable(end)]
      return { seq, at, ...(entry && { entry }), ...(ending && { end: ending }) }
    })
  }

  body(seq: number): BodyState {
    const [row, stored] = [this.#store.body(seq), this.#store.entry(seq)]
    const committed = stored && readable(stored.bytes)?.['body_hash']
    if (committed === undefined) return { kind: 'none' }
    if (row === undefined) return { kind: 'erased' }
    const body = bodyHash(row.salt, row.body) === committed ? decodeBody(row.body) : undefined
    return body === undefined ? { kind: 'altered' } : { kind: 'kept', body }
  }

  /** Forgets a body, with the rows that show it, and records that it did. */
  async eraseBody(seq: number, told: ErasureNote = {}): Promise<Result<Erased, EraseFault | LedgerFault>> {
    if (this.#state.kind === 'refusing') return fail(this.#state.fault)
    const stored = this.entry(seq)
    if (stored === undefined) return fail({ kind: 'no-such-entry', seq, size: this.size() })
    const { database, clock, caches = [] } = this.#options
    const appendIn = (event: LedgerEvent): Appended => this.appendIn(event)
    const holds = (): string | undefined => this.projections.holds(stored.entry, clock.now())
    const showing = caches.flatMap((cache) => cache.showing(stored.entry))
    return eraseBody(stored, told, { database, store: this.#store, showing, holds, appendIn })
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
    const remaining = forgivable ? this.#signing.judgeDatabase() : fault
    if (remaining !== undefined) return fail(remaining)
    const refusing = this.#state
    this.#state = SOUND
    try {
      await this.append({ kind: 'ledger.adopted', fault: fault.kind, ...told })
    } catch (error) {
      this.#state = refusing
      throw error
    }
    return this.#settle(await this.#signing.signAnew())
  }

  inclusion(seq: number, size?: number): Result<Inclusion, ProofFault> {
    return inclusionOf(this.#tree, seq, size)
  }

  consistency(from: number, to?: number): Result<Consistency, ProofFault> {
    return consistencyOf(this.#tree, from, to)
  }

  /** A C2SP tlog-proof of one entry, under a cosigned checkpoint where there is one, else under a fresh one. */
  async proofText(seq: number): Promise<Result<string, ProofFault | SigningFault>> {
    const known = this.#signing.covering(seq)
    const signed = known === undefined ? await this.checkpoint() : ok(known)
    if (!signed.ok) return signed
    const { checkpoint } = signed.value
    const inclusion = this.inclusion(seq, checkpoint.size)
    if (!inclusion.ok) return inclusion
    // While the ledger refuses, what was signed may be about other entries than those that are stored.
    if (!equalBytes(inclusion.value.root, checkpoint.root))
      return fail({ kind: 'diverged', size: this.size(), signedSize: checkpoint.size, source: 'database' })
    return ok(formatTlogProof(tlogProof(seq, inclusion.value.path, signed.value)))
  }

  /**
   * Writes the ledger, up to a fresh checkpoint, as files that anybody can verify; goes on where the last export ended.
   */
  async exportTo(directory: string): Promise<Result<Exported, ExportFault | SigningFault>> {
    const signed = await this.checkpoint()
    if (!signed.ok) return signed
    const [tree, store] = [this.#tree, this.#store]
    return writeExport(
      {
        key: this.verifierKey,
        signed: signed.value,
        rootAt: (size) => tree.rootAt(size),
        tile: (level, index, width) => tree.tile(level, index, width),
        entries: (from, count) => store.entries(from, count).map(({ bytes }) => bytes),
      },
      directory,
    )
  }

  /** Re-derives the whole ledger from its bytes, or what came since the last time, and says what is wrong with it. */
  async verify(options: LedgerVerifyOptions = {}): Promise<VerifyReport> {
    const {
      database,
      signer,
      lastSignedPath: path,
      caches = [],
      projections = [],
      contents = [],
      schema,
    } = this.#options
    const since = options.since ?? (options.incremental === true ? this.#verified : undefined)
    // Before the first entry is read, so that what is signed meanwhile lies beyond it.
    const reached = this.#signing.latest()
    const stored = {
      store: this.#store,
      checkpoints: new CheckpointStore(database.sql),
      key: signer.key,
      // A file that cannot be read is not a checkpoint either.
      lastSigned: { path, text: await readIfThere(path).catch(() => new Uint8Array(0)) },
      cacheAudits: () => caches.map((cache) => new CacheAudit(cache, database.sql)),
      projections,
      contents,
      schema,
    }
    const report = await verifyStored(stored, { ...options, since })
    const found = report.findings.length + report.more
    if (found > 0) {
      // Nothing that was clean before counts any more: the next one reads everything.
      this.#verified = undefined
      if (this.#state.kind !== 'refusing') this.#state = { kind: 'damaged', findings: found }
    } else if (since === undefined || this.#state.kind !== 'damaged') {
      this.#verified = reached
      if (this.#state.kind === 'damaged') this.#state = SOUND
    }
    return report
  }

  #settle(signed: Result<SignedCheckpoint, SigningFault>): Result<SignedCheckpoint, SigningFault> {
    if (!signed.ok && signed.fault.kind !== 'last-signed-unwritable')
      this.#state = { kind: 'refusing', fault: signed.fault }
    return signed
  }
}

function readable(bytes: Uint8Array): LedgerEntry | undefined {
  const decoded = decodeEntry(bytes)
  return decoded.ok ? decoded.value : undefined
}
