/**
 * Provable ledger: the tree over the entries and its signed checkpoints, and the proofs and copies with which others
 * verify an entry without trusting this node.
 *
 *   entries ▸ tree ▸ signed checkpoint ▸ pin and cosignatures ▸ inclusion, consistency, tlog-proof, export
 *
 * Reads and writes through its stores.
 */
import { dirname, join } from 'node:path'
import { areBytesEqual } from '../core/bytes.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { writeFileAtomically } from './atomic-file-store.ts'
import { encodeCommitmentOpening } from './body-opening.ts'
import { deriveEntryBundleMacKey, isEntryBundleInTree } from './bundle-authenticator.ts'
import { formatSignedCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { CheckpointSigner } from './checkpoint-signer.ts'
import { deriveTailMacKey } from './entry-group.ts'
import { writeLedgerExport } from './export-store.ts'
import type { LedgerExportFault, LedgerExportResult } from './export-store.ts'
import type { OpenedLedgerParts } from './ledger-opening.ts'
import type { LedgerOptions } from './ledger-options.ts'
import type { LedgerPinFile } from './ledger-pin-store.ts'
import { LedgerReader } from './ledger-reader.ts'
import { describeAlteredBody } from './ledger-state.ts'
import type { SigningFault } from './ledger-state.ts'
import { readAppliedEntryCount } from './ledger-tables-store.ts'
import { LogStore } from './log-store.ts'
import { LookupStore } from './lookup-store.ts'
import type { NoteVerifier } from './note-key.ts'
import { proveConsistency, proveInclusion, TreeDamagedError } from './proof.ts'
import type { ConsistencyProof, InclusionProof, ProofCreationFault } from './proof.ts'
import type { VerifiedSignature } from './signed-note.ts'
import { StoredTree } from './stored-tree.ts'
import type { TileCoordinates } from './tile.ts'
import { createTlogProof, formatTlogProof } from './tlog-proof.ts'

export abstract class ProvableLedger extends LedgerReader {
  readonly #options: LedgerOptions
  protected readonly directory: string
  protected readonly tree: StoredTree
  protected readonly signing: CheckpointSigner

  /** `signed`: the number of entries that are known to be signed. */
  protected constructor(options: LedgerOptions, signed: number) {
    const { database, signer, origin, lastSignedPath, pin } = options
    const directory = options.directory ?? join(dirname(lastSignedPath), 'ledger')
    if (signer.key.name !== origin) throw new TypeError(`the signer is named ${signer.key.name}, the log ${origin}`)
    createPrivateFolder(directory)
    const log = new LogStore({
      directory,
      key: deriveTailMacKey(signer),
      bundleKey: deriveEntryBundleMacKey(signer),
      tables: { size: readAppliedEntryCount(database.sql), signed },
      segmentEntries: options.segmentEntries,
    })
    super(log, new LookupStore(join(directory, 'lookup.db')))
    this.#options = options
    this.directory = directory
    const tree = new StoredTree(log)
    this.tree = tree
    this.signing = new CheckpointSigner({
      database,
      tree,
      signer,
      lastSignedPath,
      pin,
      prepare: async (size) => {
        await log.writeBundles()
        await tree.writeTiles(size)
        await log.tiles.sync()
      },
      publish: (checkpoint) => writeFileAtomically(join(directory, 'checkpoint'), formatSignedCheckpoint(checkpoint)),
    })
    log.bundles.checkWith((index, entries) =>
      isEntryBundleInTree(index, entries, this.signing.latest()?.checkpoint, (seq, size) => this.inclusion(seq, size)),
    )
  }

  protected get opened(): OpenedLedgerParts {
    const { log, lookup, signing } = this
    return { log, lookup, signing, database: this.#options.database }
  }

  /** Signs the present tree; returns the last checkpoint when nothing was appended since. */
  abstract checkpoint(): Promise<Result<SignedCheckpoint, SigningFault>>

  /** The path of the pin, its content, and why it cannot be written. */
  pin(): Pick<LedgerPinFile, 'path' | 'pin' | 'trouble'> | undefined {
    return this.#options.pin
  }

  /** Writes the present tree to the pin, signed or not. */
  async pinTree(): Promise<void> {
    const { database } = this.#options
    this.signing.pinTree(await database.commit(() => ({ size: this.size(), root: this.root() }), { tables: false }))
  }

  /** Resolves when the last signed tree is written to the pin, or could not be written. */
  async flushPin(): Promise<void> {
    await this.#options.pin?.flush()
  }

  /** The key with which others can verify what the ledger signs. */
  get verifierKey(): NoteVerifier {
    return this.#options.signer.key
  }

  latestCheckpoint(): SignedCheckpoint | undefined {
    return this.signing.latest()
  }

  /** How many entries the newest checkpoint with a witness's cosignature covers. */
  cosignedSize(): number | undefined {
    return this.signing.cosignedSize()
  }

  /** The newest checkpoint that covers an entry and that this witness has cosigned. */
  cosignedBy(witness: NoteVerifier, seq: number): SignedCheckpoint | undefined {
    return this.signing.cosignedBy(witness, seq)
  }

  /** Stores witnesses' cosignatures of one of this ledger's checkpoints. */
  addCosignatures(signed: SignedCheckpoint, more: readonly VerifiedSignature[]): Promise<SignedCheckpoint> {
    return this.signing.addCosignatures(signed, more)
  }

  /** Throws `TreeDamagedError` where the state says so. */
  root(): Uint8Array {
    return this.tree.root()
  }

  inclusion(seq: number, size?: number): Result<InclusionProof, ProofCreationFault> {
    return proveInclusion(this.tree, seq, size)
  }

  consistency(from: number, to?: number): Result<ConsistencyProof, ProofCreationFault> {
    return proveConsistency(this.tree, from, to)
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
    if (options.withBody === true && this.body(seq).kind === 'altered') return fail(describeAlteredBody(seq))
    const known = this.signing.covering(seq)
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
    const body = options.withBody === true ? this.opening(seq) : undefined
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
      content: (name: TileCoordinates) => this.tree.content(name),
      key: this.verifierKey,
      signed: signed.value,
      rootAt: (size: number) => this.tree.rootAt(size),
      bodies: options.withBodies === true ? (seq: number) => this.opening(seq) : undefined,
    }
    try {
      return await writeLedgerExport(source, directory)
    } catch (error) {
      if (!(error instanceof TreeDamagedError)) throw error
      return fail({ kind: 'damaged', reason: error.message })
    }
  }
}
