/**
 * Witness store: the last checkpoint cosigned for each log, checked and replaced in one transaction, durable before the
 * cosignature is returned. Who can write into its table must not make it forget a tree: what a memory elsewhere knows
 * counts, too, and has the tree before the cosignature goes out. A row without this witness's own signature is not
 * believed.
 */
import type { Database, ModuleMigrations } from '../core/database-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatSignedCheckpoint, verifyAndParseCheckpoint, parseCheckpoint } from './checkpoint.ts'
import type { Checkpoint } from './checkpoint.ts'
import { formatSignature, parseNote, signNote, addSignaturesToNote, verifyNote } from './signed-note.ts'
import type { NoteSigner } from './note-key.ts'
import { parseAddCheckpointRequest, checkAgainstKnownCheckpoint } from './witness.ts'
import type { LogKeysByOrigin, WitnessRefusal } from './witness.ts'

export const witnessMigrations: ModuleMigrations = {
  module: 'witness',
  steps: ['CREATE TABLE witness_checkpoint (origin TEXT PRIMARY KEY, note TEXT NOT NULL) STRICT, WITHOUT ROWID'],
}

export type CosignedTreeSizeAndRoot = Pick<Checkpoint, 'size' | 'root'>

/** The newest tree that was cosigned of each log, where nobody else can write. */
export interface CosignedTreeMemory {
  readonly newest: (log: string) => CosignedTreeSizeAndRoot | undefined
  /** Called before the tree is durable anywhere. */
  readonly remember: (log: string, tree: CosignedTreeSizeAndRoot) => void
  /** Called when the row of the tree is durable; the cosignature goes out when this has resolved. */
  readonly makeDurable: (log: string, tree: CosignedTreeSizeAndRoot) => Promise<void>
}

export interface WitnessOptions {
  /** The witness's own file, separate from any log's. */
  readonly database: Database
  /** Made with `cosigner`. */
  readonly signer: NoteSigner
  readonly logs: LogKeysByOrigin
  /** The owner of these logs, where logs of others may have the same names; without spaces. */
  readonly owner?: string
  readonly memory?: CosignedTreeMemory
  /** The stored row of a log has another, smaller tree than the memory, or there is none. */
  readonly onRollback?: (origin: string) => void
}

export class CosignedCheckpointStore {
  readonly #options: WitnessOptions

  constructor(options: WitnessOptions) {
    this.#options = options
  }

  /** Answers an add-checkpoint request with signature lines, or with the reason for a refusal. */
  async addCheckpoint(body: string): Promise<Result<string, WitnessRefusal>> {
    const { database, signer, logs } = this.#options
    const admitted = parseAddCheckpointRequest(body, logs)
    if (!admitted.ok) return admitted
    const { checkpoint, note } = admitted.value.signed
    const answer = await database.commit((sql) => {
      const refusal = checkAgainstKnownCheckpoint(admitted.value, this.#remembered(checkpoint.origin))
      if (refusal !== undefined) return fail(refusal)
      // Signed inside the transaction: at the signed time, this was the largest tree.
      const { signatures } = signNote(note.text, [signer])
      const cosigned = formatSignedCheckpoint({ checkpoint, note: addSignaturesToNote(note, signatures) })
      sql.prepare('INSERT OR REPLACE INTO witness_checkpoint VALUES (?, ?)').run(this.#row(checkpoint.origin), cosigned)
      this.#options.memory?.remember(this.#log(checkpoint.origin), { size: checkpoint.size, root: checkpoint.root })
      return ok(signatures.map(formatSignature).join(''))
    })
    const { size, root } = admitted.value.signed.checkpoint
    if (answer.ok)
      await this.#options.memory?.makeDurable(this.#log(admitted.value.signed.checkpoint.origin), { size, root })
    return answer
  }

  /** The logs whose stored rows are older than what the memory has of them, or are gone. */
  findRolledBack(): readonly string[] {
    return this.origins().filter((origin) => {
      try {
        return this.#isRolledBack(origin)
      } catch {
        // The row is there, and not this witness's.
        return true
      }
    })
  }

  #isRolledBack(origin: string): boolean {
    const known = this.#options.memory?.newest(this.#log(origin))
    return known !== undefined && known.size > (this.#stored(origin)?.size ?? 0)
  }

  /** The last checkpoint cosigned for a log, with this witness's signature. */
  latest(origin: string): string | undefined {
    return this.#note(this.#row(origin))
  }

  origins(): readonly string[] {
    return [...this.#options.logs.keys()]
  }

  /**
   * The name under which a log is stored. If that row belongs to a log of another owner, the first log of a name keeps
   * it.
   */
  #row(origin: string): string {
    const { owner } = this.#options
    const first = owner === undefined ? undefined : this.#note(origin)
    return first !== undefined && this.#isOthers(first, origin) ? `${origin} ${owner}` : origin
  }

  /** A row that cannot be read counts as this log's own: it may contain what was remembered of it. */
  #isOthers(note: string, origin: string): boolean {
    return (this.#options.logs.get(origin) ?? []).every((key) => {
      const opened = verifyAndParseCheckpoint(note, key)
      return !opened.ok && opened.fault.kind === 'no-known-signature'
    })
  }

  #note(row: string): string | undefined {
    const found = this.#options.database.sql.prepare('SELECT note FROM witness_checkpoint WHERE origin = ?').get(row)
    return found === undefined ? undefined : String(found['note'])
  }

  /** The same log has the same name here whatever rows there are. */
  #log(origin: string): string {
    const { owner } = this.#options
    return owner === undefined ? origin : `${origin} ${owner}`
  }

  #remembered(origin: string): CosignedTreeSizeAndRoot | undefined {
    if (this.#isRolledBack(origin)) this.#options.onRollback?.(origin)
    const known = this.#options.memory?.newest(this.#log(origin))
    const stored = this.#stored(origin)
    return known !== undefined && known.size >= (stored?.size ?? 0) ? known : stored
  }

  #stored(origin: string): CosignedTreeSizeAndRoot | undefined {
    const text = this.latest(origin)
    if (text === undefined) return undefined
    const note = parseNote(text)
    const isOwn = note.ok && verifyNote(note.value, [this.#options.signer.key]).ok
    const checkpoint = note.ok ? parseCheckpoint(note.value.text) : note
    // If the witness forgot what it cosigned, it could cosign a fork, so it stops instead.
    if (!isOwn || !checkpoint.ok) throw new Error(`what this witness remembers of ${origin} cannot be read`)
    return checkpoint.value
  }
}
