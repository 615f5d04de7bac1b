/**
 * Expected roots: the checkpoints that a tree must agree with as it grows past their sizes.
 */
import { equalBytes } from '../core/bytes.ts'
import { checkpointFaultReason, openCheckpoint } from './checkpoint.ts'
import type { Checkpoint, SignedCheckpoint } from './checkpoint.ts'
import type { CheckpointRow } from './checkpoint-store.ts'
import type { CheckpointPlace, LedgerFindings } from './finding.ts'
import { isSignatureBy, verifyNote } from './note.ts'
import type { SignedNote } from './note.ts'
import type { VerifierKey } from './note-key.ts'

export class ExpectedRoots {
  readonly #findings: LedgerFindings
  readonly #log: VerifierKey
  readonly #bySize = new Map<number, { readonly place: CheckpointPlace; readonly root: Uint8Array }[]>()

  constructor(findings: LedgerFindings, log: VerifierKey) {
    this.#findings = findings
    this.#log = log
  }

  expect(place: CheckpointPlace, { size, root }: Checkpoint): void {
    const known = this.#bySize.get(size)
    if (known === undefined) this.#bySize.set(size, [{ place, root }])
    else known.push({ place, root })
  }

  /** A note that only the log has to have signed: what others say about it is not ours to judge. */
  expectNote(place: CheckpointPlace, text: string | Uint8Array): Checkpoint | undefined {
    const opened = openCheckpoint(text, this.#log)
    if (!opened.ok) {
      this.#findings.add({ kind: 'checkpoint-untrusted', where: place, reason: checkpointFaultReason(opened.fault) })
      return undefined
    }
    this.expect(place, opened.value.checkpoint)
    return opened.value.checkpoint
  }

  /** A note of our own table: every signature in it is one that we made or checked before we stored it. */
  expectStored(row: CheckpointRow, witnesses: readonly VerifierKey[]): void {
    const place: CheckpointPlace = `database ${row.size}`
    const opened = openCheckpoint(row.note, this.#log)
    const reason = opened.ok
      ? (rowFault(row, opened.value) ?? signatureFault(opened.value.note, [this.#log, ...witnesses]))
      : checkpointFaultReason(opened.fault)
    if (reason !== undefined) this.#findings.add({ kind: 'checkpoint-untrusted', where: place, reason })
    else if (opened.ok) this.expect(place, opened.value.checkpoint)
  }

  /** The tree has just become `size` entries large. */
  reached(size: number, root: () => Uint8Array): void {
    const expected = this.#bySize.get(size)
    if (expected === undefined) return
    this.#bySize.delete(size)
    const actual = root()
    for (const { place, root: signed } of expected)
      if (!equalBytes(actual, signed)) this.#findings.add({ kind: 'root-differs', where: place, signed: size })
  }

  /** The tree ends at `size`; whatever speaks of a larger one knew entries that are gone. */
  ended(size: number): void {
    for (const [signed, expected] of this.#bySize)
      if (signed > size)
        for (const { place } of expected) this.#findings.add({ kind: 'tail-missing', where: place, size, signed })
  }
}

function rowFault(row: CheckpointRow, { checkpoint, note }: SignedCheckpoint): string | undefined {
  if (checkpoint.size !== row.size) return `it speaks of ${checkpoint.size} entries`
  return note.signatures.length === 1 + row.cosignatures
    ? undefined
    : `it does not carry ${row.cosignatures} cosignatures`
}

function signatureFault(note: SignedNote, keys: readonly VerifierKey[]): string | undefined {
  const stranger = note.signatures.find((signature) => !keys.some((key) => isSignatureBy(signature, key)))
  if (stranger !== undefined) return `no witness called ${stranger.name} is known`
  const verified = verifyNote(note, keys)
  return verified.ok ? undefined : checkpointFaultReason(verified.fault)
}
