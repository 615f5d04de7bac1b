/**
 * Checkpoint verification: every checkpoint that is stored, beside the tiles, in its file and in the database, is
 * signed, and none is older than the ones that were written after it. Their roots are compared as the tree grows.
 *
 * Reads through the stores it is given.
 */
import { formatCheckpointFault, verifyAndParseCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import type { LedgerEntry } from './entry.ts'
import type { ExpectedCheckpointRoots } from './expected-roots.ts'
import type { LedgerFindings } from './ledger-finding.ts'
import type { LogToVerify } from './log-verification.ts'
import { parseVerifierKey } from './note-key.ts'
import type { NoteVerifier } from './note-key.ts'

export class CheckpointVerification {
  readonly #stored: LogToVerify
  readonly #findings: LedgerFindings
  readonly #roots: ExpectedCheckpointRoots
  readonly #witnesses = new Map<string, NoteVerifier | undefined>()
  /** The largest tree that witnesses had cosigned, as starts say. */
  #cosigned = 0
  /** The checkpoint beside the tiles. */
  readonly published: SignedCheckpoint | undefined

  constructor(stored: LogToVerify, findings: LedgerFindings, roots: ExpectedCheckpointRoots) {
    this.#stored = stored
    this.#findings = findings
    this.#roots = roots
    this.published = this.#readPublished()
  }

  begin(known: readonly SignedCheckpoint[]): void {
    const { checkpoints, lastSigned, pinned } = this.#stored
    this.#readWitnesses()
    for (const { checkpoint } of known) this.#roots.expect('given', checkpoint)
    if (this.published !== undefined) this.#roots.expect('export', this.published.checkpoint)
    if (pinned?.pin !== undefined) {
      this.#roots.expect(`pin ${pinned.path}`, pinned.pin)
      if (pinned.pin.newestSize !== undefined) this.#roots.expectSize(`pin ${pinned.path}`, pinned.pin.newestSize)
    }
    const newest = checkpoints?.latest()
    this.#checkOrder()
    if (lastSigned?.text !== undefined) this.#roots.expectNote('file', lastSigned.text)
    else if (lastSigned !== undefined && newest !== undefined)
      this.#findings.add({ kind: 'last-signed-missing', path: lastSigned.path })
  }

  /** Adds the database's checkpoints of trees whose size is between these two to what is expected. */
  expect(above: number, upTo: number): void {
    const rows = this.#stored.checkpoints?.between(above, upTo) ?? []
    // A witness may have cosigned for the first time during this run.
    const witnesses = rows.some(({ cosignatures }) => cosignatures > 0) ? this.#readWitnesses() : []
    for (const row of rows) this.#roots.expectStored(row, witnesses)
  }

  /**
   * A start records which size witnesses had cosigned. A log that continues under another name has no cosignature at
   * first.
   */
  read(entry: LedgerEntry): void {
    if (entry.kind === 'ledger.adopted' && entry['successor_of'] !== undefined) this.#cosigned = 0
    if (entry.kind === 'node.start') this.#cosigned = Math.max(this.#cosigned, Number(entry['cosigned'] ?? 0))
  }

  ended(): void {
    const { checkpoints } = this.#stored
    if (this.#cosigned === 0 || checkpoints === undefined) return
    if (checkpoints.cosignedCovering(this.#cosigned - 1) === undefined)
      this.#findings.add({
        kind: 'checkpoint-untrusted',
        where: `database ${this.#cosigned}`,
        reason: 'its cosignatures were removed',
      })
  }

  #readPublished(): SignedCheckpoint | undefined {
    const { log, key, checkpoints } = this.#stored
    const text = log.checkpoint
    if (text === undefined) {
      const { reason } = log.tiles.examine(PATH)
      if (reason !== undefined) this.#findings.add({ kind: 'file-unreadable', path: PATH, reason })
      else if (checkpoints === undefined || checkpoints.latest() !== undefined)
        this.#findings.add({ kind: 'file-missing', path: PATH })
      return undefined
    }
    const opened = verifyAndParseCheckpoint(text, key)
    if (opened.ok) return opened.value
    this.#findings.add({ kind: 'checkpoint-untrusted', where: 'export', reason: formatCheckpointFault(opened.fault) })
    return undefined
  }

  /**
   * The file is written first, then the checkpoint beside the tiles, then the row. One that is older than its
   * successors was restored from a copy.
   */
  #checkOrder(): void {
    const { lastSigned, newestRow = 0, key } = this.#stored
    const reason = 'it is older than the newest one that the database has'
    if (this.published !== undefined && this.published.checkpoint.size < newestRow)
      this.#findings.add({ kind: 'checkpoint-untrusted', where: 'export', reason })
    const file = lastSigned?.text === undefined ? undefined : verifyAndParseCheckpoint(lastSigned.text, key)
    if (file?.ok === true && file.value.checkpoint.size < newestRow)
      this.#findings.add({ kind: 'checkpoint-untrusted', where: 'file', reason })
  }

  #readWitnesses(): NoteVerifier[] {
    for (const vkey of this.#stored.checkpoints?.witnesses() ?? []) {
      if (this.#witnesses.has(vkey)) continue
      const key = parseVerifierKey(vkey)
      this.#witnesses.set(vkey, key.ok ? key.value : undefined)
      if (!key.ok) this.#findings.add({ kind: 'witness-key-unreadable', vkey })
    }
    return [...this.#witnesses.values()].filter((key) => key !== undefined)
  }
}

const PATH = 'checkpoint'
