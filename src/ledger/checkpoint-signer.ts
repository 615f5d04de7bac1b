/**
 * Checkpoint signer: signs the checkpoints that this node publishes, and never two trees that contradict each other.
 *
 * The order of writes, each durable before the next:
 *
 *   1. entries, in the log's tail, which their callers wait for
 *   2. the tiles of the tree, the partial ones among them
 *   3. the new checkpoint in the file beside the log (last signed)
 *   4. the new checkpoint beside the tiles, and in the database
 *   5. only now is it published
 *
 * and what therefore holds at whatever moment the process stops:
 *
 *   a. A checkpoint that was published is in the file, or a newer one is. (3 before 5)
 *   b. The tree of the checkpoint in the file is in the log. (1 before 3)
 *   c. So a log that does not extend the file's checkpoint is not the one this node last wrote: it was restored
 *      from a copy, cut off or changed. It is noticed at start; the file is read again before each signature, because
 *      another process may have signed meanwhile.
 *   d. A stop between 3 and 4 leaves a checkpoint in the file that the database lacks. It is as good as any.
 *   e. A reader of the tiles finds every tile of the tree of the checkpoint beside them. (2 before 4)
 *
 * The file can be restored together with the log; then the pin outside of the data directory shows it, which also
 * follows the trees whose checkpoint could not be stored, or else a witness. What a witness shows then takes the file's
 * place.
 *
 * Reads and writes through its stores.
 */
import type { Database } from '../core/database-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import { readFileIfPresent, writeFileAtomically } from './atomic-file-store.ts'
import {
  formatCheckpointFault,
  formatSignedCheckpoint,
  formatCheckpoint,
  verifyAndParseCheckpoint,
} from './checkpoint.ts'
import type { Checkpoint, SignedCheckpoint } from './checkpoint.ts'
import { CheckpointStore } from './checkpoint-store.ts'
import type { StoredCheckpointRow } from './checkpoint-store.ts'
import { findLedgerFork } from './ledger-state.ts'
import type { LedgerFault, SigningFault, TreeHead } from './ledger-state.ts'
import { formatNewestSizePrefix, leastLogSize } from './ledger-pin-store.ts'
import type { LedgerPinFile } from './ledger-pin-store.ts'
import { signNote, verifyNote, addSignaturesToNote } from './signed-note.ts'
import type { VerifiedSignature } from './signed-note.ts'
import { formatVerifierKey } from './note-key.ts'
import type { NoteSigner, NoteVerifier } from './note-key.ts'
import type { StoredTree } from './stored-tree.ts'
import { writeInPlace } from './tail-store.ts'

export interface CheckpointSigningOptions {
  readonly database: Database
  readonly tree: StoredTree
  readonly signer: NoteSigner
  readonly lastSignedPath: string
  /** The pin outside of the data directory; absent where none is kept. */
  readonly pin?: LedgerPinFile | undefined
  /** Makes the tiles of a tree durable, partial ones included. */
  readonly prepare: (size: number) => Promise<void>
  /** Writes the checkpoint beside its tiles. */
  readonly publish: (signed: SignedCheckpoint) => Promise<void>
}

/** More than any policy requires. A community may have more nodes than a note may have signatures. */
const MAX_COSIGNATURES = 64
const SIZE_DIGITS = 16

export class CheckpointSigner {
  readonly #options: CheckpointSigningOptions
  readonly #store: CheckpointStore
  #latest: SignedCheckpoint | undefined
  /** The last checkpoint was not stored in all of its places. */
  #isIncomplete = false
  #turn: Promise<unknown> = Promise.resolve()
  readonly #newestSizePrefix: string

  constructor(options: CheckpointSigningOptions) {
    this.#options = options
    this.#newestSizePrefix = formatNewestSizePrefix(formatVerifierKey(options.signer.key))
    this.#store = new CheckpointStore(options.database.sql)
  }

  latest(): SignedCheckpoint | undefined {
    return this.#latest
  }

  /** How many entries the newest checkpoint with a witness's cosignature covers. */
  cosignedSize(): number | undefined {
    return this.#store.cosignedCovering(-1)?.size
  }

  /** The newest checkpoint that covers an entry and that this witness has cosigned. */
  cosignedBy(witness: NoteVerifier, seq: number): SignedCheckpoint | undefined {
    for (const row of this.#store.newestCosigned(seq)) {
      const signed = this.#open(row)
      if (signed !== undefined && verifyNote(signed.note, [witness]).ok) return signed
    }
    return undefined
  }

  /** The strongest stored statement about an entry: the newest cosigned checkpoint, else the newest. */
  covering(seq: number): SignedCheckpoint | undefined {
    const cosigned = this.#open(this.#store.cosignedCovering(seq))
    if (cosigned !== undefined) return cosigned
    return this.#latest !== undefined && this.#latest.checkpoint.size > seq ? this.#latest : undefined
  }

  /** Whether the tree extends everything that this node is known to have signed; `undefined` when it does. */
  async check(): Promise<LedgerFault | undefined> {
    const { lastSignedPath: path } = this.#options
    try {
      const text = await readFileIfPresent(path)
      return readingTree(() => this.#checkFile(text) ?? this.#checkRows() ?? this.#checkPin())
    } catch (error) {
      return { kind: 'last-signed-invalid', path, reason: readErrorMessage(error) }
    }
  }

  /** Compares the tree with the database's checkpoints only, not with the file beside the log. */
  checkDatabase(): LedgerFault | undefined {
    return readingTree(() => this.#checkRows() ?? this.#checkPin())
  }

  /** Writes the present tree to the pin. Call only for a tree that is on the disk. */
  pinTree({ size, root }: TreeHead): void {
    this.#options.pin?.update({ vkey: formatVerifierKey(this.#options.signer.key), size, root })
  }

  /** How many entries the pin vouches for, as it was read. */
  pinnedSize(): number {
    const pin = this.#options.pin?.pin
    return pin === undefined ? 0 : leastLogSize(pin)
  }

  /** Writes the log's size beside the pin, before the group's callers are answered. The group is on the disk. */
  pinNewestSize(size: number): void {
    const { pin } = this.#options
    if (pin === undefined) return
    // The form of the line is described, and read, in ledger-pin-store.ts.
    const line = `${this.#newestSizePrefix} ${String(size).padStart(SIZE_DIGITS, '0')}\n`
    try {
      writeInPlace(pin.newestSizeFiles, line)
    } catch (error) {
      pin.stopNewestSizes(readErrorMessage(error))
    }
  }

  /** Whether the tree extends a checkpoint of this node that another party has saved. */
  compareWithCheckpoint(saved: SignedCheckpoint): LedgerFault | undefined {
    return readingTree(() => findLedgerFork(this.#options.tree, saved.checkpoint, 'witness'))
  }

  /**
   * Stores the checkpoint that proved this tree to be outdated in the file. It has this node's signature, so the next
   * start detects the fork by itself.
   */
  storeEvidence(saved: SignedCheckpoint): Promise<void> {
    // If the file cannot be written, the next start has to be given the checkpoint again.
    return this.#inTurn(() =>
      writeFileAtomically(this.#options.lastSignedPath, formatSignedCheckpoint(saved)).catch(() => undefined),
    )
  }

  /**
   * Signs the present tree, or returns the last checkpoint when nothing was appended since. One at a time, in order.
   */
  sign(): Promise<Result<SignedCheckpoint, SigningFault>> {
    return this.#inTurn(async () => {
      if (!this.#isIncomplete && this.#latest?.checkpoint.size === this.#options.tree.size) return ok(this.#latest)
      const fault = await this.#checkBeforeSigning()
      if (fault === undefined) return this.#signNow()
      if (fault.kind === 'last-signed-unwritable') this.pinTree(await this.#readDurableTree())
      return fail(fault)
    })
  }

  /**
   * Signs without comparing with the file, if the tree extends the database's own checkpoints. For a person who knows
   * why the file differs.
   */
  signAnew(): Promise<Result<SignedCheckpoint, SigningFault>> {
    return this.#inTurn(async () => {
      const fault = this.checkDatabase()
      return fault === undefined ? this.#signNow() : fail(fault)
    })
  }

  /** Stores witnesses' cosignatures of one of our checkpoints. Only signatures that verify are stored. */
  async addCosignatures(
    signed: SignedCheckpoint,
    cosignatures: readonly VerifiedSignature[],
  ): Promise<SignedCheckpoint> {
    for (const { key, signature } of cosignatures)
      if (!verifyNote({ text: signed.note.text, signatures: [signature] }, [key]).ok)
        throw new TypeError(`${key.name} did not cosign this checkpoint`)
    const more = cosignatures.map(({ signature }) => signature)
    const merged = await this.#options.database.commit(() => {
      const { checkpoint, note } = this.#open(this.#store.at(signed.checkpoint.size)) ?? signed
      const { text, signatures } = addSignaturesToNote(note, more)
      const cosigned = { checkpoint, note: { text, signatures: signatures.slice(0, 1 + MAX_COSIGNATURES) } }
      for (const { key } of cosignatures) this.#store.addWitness(formatVerifierKey(key))
      this.#store.put(rowOf(cosigned))
      return cosigned
    })
    if (this.#latest?.checkpoint.size === merged.checkpoint.size) this.#latest = merged
    return merged
  }

  /**
   * Like `check`, for a process that knows what it signed last. A file that has been removed since, perhaps with its
   * folder, is written again, and a file that cannot be read at the moment is no reason to refuse entries for good.
   */
  async #checkBeforeSigning(): Promise<SigningFault | undefined> {
    const { lastSignedPath: path, tree } = this.#options
    const known = this.#latest
    let text: Uint8Array | undefined
    try {
      text = await readFileIfPresent(path)
    } catch (error) {
      return { kind: 'last-signed-unwritable', path, reason: readErrorMessage(error) }
    }
    if (text === undefined && known !== undefined)
      return readingTree(() => findLedgerFork(tree, known.checkpoint, 'database') ?? this.#checkRows())
    return readingTree(() => this.#checkFile(text) ?? this.#checkRows())
  }

  async #signNow(): Promise<Result<SignedCheckpoint, SigningFault>> {
    const { database, signer, lastSignedPath, prepare, publish } = this.#options
    const { size, root } = await this.#readDurableTree()
    const checkpoint: Checkpoint = { origin: signer.key.name, size, root, extensions: [] }
    const signed: SignedCheckpoint = { checkpoint, note: signNote(formatCheckpoint(checkpoint), [signer]) }
    this.#isIncomplete = true
    try {
      await prepare(size)
      await writeFileAtomically(lastSignedPath, formatSignedCheckpoint(signed))
      await publish(signed)
    } catch (error) {
      return fail({ kind: 'last-signed-unwritable', path: lastSignedPath, reason: readErrorMessage(error) })
    } finally {
      // The tree is pinned even if its checkpoint could not be stored: it was signed, so it may not be cut off either.
      this.pinTree({ size, root })
    }
    await database.commit(() => this.#store.put(rowOf(signed)))
    this.#latest = signed
    this.#isIncomplete = false
    return ok(signed)
  }

  /** Reads the tree in a commit of its own: when that resolves, everything in this tree is on the disk. */
  #readDurableTree(): Promise<TreeHead> {
    const { database, tree } = this.#options
    return database.commit(() => ({ size: tree.size, root: tree.root() }), { tables: false })
  }

  /** The pin is checked last, because a contradiction with the file beside the log is easier to explain and to repair. */
  #checkPin(): LedgerFault | undefined {
    const { pin: file, signer, tree } = this.#options
    if (file === undefined) return undefined
    const { pin } = file
    const source = `pin ${file.path}` as const
    const cut = (): LedgerFault | undefined =>
      pin !== undefined && leastLogSize(pin) > tree.size
        ? { kind: 'truncated', size: tree.size, signedSize: leastLogSize(pin), source }
        : undefined
    return findPinKeyFault(file, signer.key) ?? cut() ?? (pin && findLedgerFork(tree, pin, source))
  }

  #checkFile(text: Uint8Array | undefined): LedgerFault | undefined {
    const { lastSignedPath: path, signer } = this.#options
    const row = this.#store.latest()
    if (text === undefined) return row && { kind: 'last-signed-missing', path, signedSize: row.size }
    const inFile = verifyAndParseCheckpoint(text, signer.key)
    if (!inFile.ok) return { kind: 'last-signed-invalid', path, reason: formatCheckpointFault(inFile.fault) }
    return this.#extends(inFile.value, 'file')
  }

  #checkRows(): LedgerFault | undefined {
    const row = this.#store.latest()
    if (row === undefined) {
      // Nothing was signed yet, but entries must not be appended to a tree that cannot be read either.
      this.#options.tree.root()
      return undefined
    }
    const stored = this.#open(row)
    if (stored === undefined)
      return { kind: 'damaged', reason: `the stored checkpoint of size ${row.size} is not this node's` }
    return this.#extends(stored, 'database')
  }

  #extends(signed: SignedCheckpoint, source: 'file' | 'database'): LedgerFault | undefined {
    const fault = findLedgerFork(this.#options.tree, signed.checkpoint, source)
    const newest = signed.checkpoint.size >= (this.#latest?.checkpoint.size ?? 0)
    if (fault === undefined && newest) this.#latest = signed
    return fault
  }

  #open(row: StoredCheckpointRow | undefined): SignedCheckpoint | undefined {
    const opened = row && verifyAndParseCheckpoint(row.note, this.#options.signer.key)
    return opened?.ok === true && opened.value.checkpoint.size === row?.size ? opened.value : undefined
  }

  #inTurn<Value>(job: () => Promise<Value>): Promise<Value> {
    const result = this.#turn.then(job)
    this.#turn = result.catch(() => undefined)
    return result
  }
}

/** Whether the pin is about this node's key and log. */
export function findPinKeyFault(
  { path, pin, unreadable }: Pick<LedgerPinFile, 'path' | 'pin' | 'unreadable'>,
  key: NoteVerifier,
): LedgerFault | undefined {
  if (unreadable !== undefined) return { kind: 'pin-unreadable', path, reason: unreadable }
  const own = formatVerifierKey(key)
  return pin === undefined || pin.vkey === own ? undefined : { kind: 'pin-key-differs', path, pinned: pin.vkey, own }
}

/** An error while reading the tree or the database means damage, not a bug. */
function readingTree(check: () => LedgerFault | undefined): LedgerFault | undefined {
  try {
    return check()
  } catch (error) {
    return { kind: 'damaged', reason: readErrorMessage(error) }
  }
}

function rowOf({ checkpoint, note }: SignedCheckpoint): StoredCheckpointRow {
  return {
    size: checkpoint.size,
    cosignatures: note.signatures.length - 1,
    note: formatSignedCheckpoint({ checkpoint, note }),
  }
}
