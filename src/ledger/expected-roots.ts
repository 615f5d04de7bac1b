/**
 * Expected roots: the checkpoints that a tree must agree with as it grows past their sizes.
 */
import { areBytesEqual } from '../core/bytes.ts'
import { formatCheckpointFault, verifyAndParseCheckpoint } from './checkpoint.ts'
import type { Checkpoint, SignedCheckpoint } from './checkpoint.ts'
import type { StoredCheckpointRow } from './checkpoint-store.ts'
import type { CheckpointLocation, LedgerFindings } from './ledger-finding.ts'
import { isSignatureAttributedToKey, verifyNote } from './signed-note.ts'
import type { SignedNote } from './signed-note.ts'
import type { NoteVerifier } from './note-key.ts'

export class ExpectedCheckpointRoots {
  readonly #findings: LedgerFindings
  readonly #log: NoteVerifier
  readonly #bySize = new Map<number, { readonly place: CheckpointLocation; readonly root: Uint8Array | undefined }[]>()

  constructor(findings: LedgerFindings, log: NoteVerifier) {
    this.#findings = findings
    this.#log = log
  }

  expect(place: CheckpointLocation, { size, root }: Pick<Checkpoint, 'size' | 'root'>): void {
    this.#expect(place, size, root)
  }

  /** Expects so many entries, whatever they are. */
  expectSize(place: CheckpointLocation, size: number): void {
    this.#expect(place, size, undefined)
  }

  #expect(place: CheckpointLocation, size: number, root: Uint8Array | undefined): void {
    const known = this.#bySize.get(size)
    if (known === undefined) this.#bySize.set(size, [{ place, root }])
    else known.push({ place, root })
  }

  /**
   * Expects the root of a note. Only the log's own signature is checked: it is not this node's task to verify the
   * others.
   */
  expectNote(place: CheckpointLocation, text: string | Uint8Array): Checkpoint | undefined {
    const opened = verifyAndParseCheckpoint(text, this.#log)
    if (!opened.ok) {
      this.#findings.add({ kind: 'checkpoint-untrusted', where: place, reason: formatCheckpointFault(opened.fault) })
      return undefined
    }
    this.expect(place, opened.value.checkpoint)
    return opened.value.checkpoint
  }

  /** A note of our own table: every signature in it was made or verified by us before it was stored. */
  expectStored(row: StoredCheckpointRow, witnesses: readonly NoteVerifier[]): void {
    const place: CheckpointLocation = `database ${row.size}`
    const opened = verifyAndParseCheckpoint(row.note, this.#log)
    const reason = opened.ok
      ? (rowFault(row, opened.value) ?? signatureFault(opened.value.note, [this.#log, ...witnesses]))
      : formatCheckpointFault(opened.fault)
    if (reason !== undefined) this.#findings.add({ kind: 'checkpoint-untrusted', where: place, reason })
    else if (opened.ok) this.expect(place, opened.value.checkpoint)
  }

  /** Whether a checkpoint of that size is expected. */
  has(size: number): boolean {
    return this.#bySize.has(size)
  }

  /** Notes that the tree has reached `size` entries, and compares its root. */
  reached(size: number, tree: { readonly root: () => Uint8Array }): void {
    const expected = this.#bySize.get(size)
    if (expected === undefined) return
    this.#bySize.delete(size)
    const actual = tree.root()
    for (const { place, root: signed } of expected)
      if (signed !== undefined && !areBytesEqual(actual, signed))
        this.#findings.add({ kind: 'root-differs', where: place, signed: size })
  }

  /** Notes that the tree ends at `size`: a checkpoint of a larger tree covered entries that are missing. */
  ended(size: number): void {
    for (const [signed, expected] of this.#bySize)
      if (signed > size)
        for (const { place } of expected) this.#findings.add({ kind: 'tail-missing', where: place, size, signed })
  }
}

function rowFault(row: StoredCheckpointRow, { checkpoint, note }: SignedCheckpoint): string | undefined {
  if (checkpoint.size !== row.size) return `it is for ${checkpoint.size} entries`
  return note.signatures.length === 1 + row.cosignatures
    ? undefined
    : `it does not carry ${row.cosignatures} cosignatures`
}

function signatureFault(note: SignedNote, keys: readonly NoteVerifier[]): string | undefined {
  const unknownSignature = note.signatures.find(
    (signature) => !keys.some((key) => isSignatureAttributedToKey(signature, key)),
  )
  if (unknownSignature !== undefined) return `no witness called ${unknownSignature.name} is known`
  const verified = verifyNote(note, keys)
  return verified.ok ? undefined : formatCheckpointFault(verified.fault)
}
