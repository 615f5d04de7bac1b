/**
 * Entry body verification: stored bodies against the commitments in the entries, and the entries' other hashes against
 * the bodies. A body may be missing only if a later entry says that it was erased, and an erasure is true only if the
 * body is missing.
 */
import type { Json } from '../core/json.ts'
import type { EntryContentVerification } from './entry-content-verification.ts'
import { BODY_ERASED_KIND, computeCommitmentHash, decodeEntryBody, BODY_SALT_BYTES } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'
import { isSequenceNumber } from './entry.ts'
import type { LedgerEntry } from './entry.ts'
import type { LedgerFindings } from './ledger-finding.ts'

export class EntryBodyVerification {
  readonly #findings: LedgerFindings
  readonly #isGone: (seq: number) => boolean
  readonly #contents: EntryContentVerification
  /** Entries whose bodies are missing, and for which no record of an erasure was read yet. */
  readonly #awaited = new Set<number>()
  readonly #erased = new Set<number>()
  readonly #lost = new Set<number>()

  /** `isGone`: the entry commits to a body, and no copy of it is stored. */
  constructor(findings: LedgerFindings, contents: EntryContentVerification, isGone: (seq: number) => boolean) {
    this.#findings = findings
    this.#contents = contents
    this.#isGone = isGone
  }

  /** Checks the body of an entry. `copies` are the bodies found in each place that should have one. */
  read(entry: LedgerEntry, seq: number, copies: readonly (SaltedBody | undefined)[]): void {
    const committed = entry['body_hash']
    let content: Json | undefined
    for (const stored of copies) {
      if (committed === undefined && stored !== undefined) this.#findings.add({ kind: 'body-without-entry', seq })
      if (committed !== undefined && stored === undefined) this.#awaited.add(seq)
      if (committed === undefined || stored === undefined) continue
      const opened = openCommitted(stored, committed)
      if (opened === undefined) this.#findings.add({ kind: 'body-differs', seq })
      content ??= opened
    }
    const why = this.#contents.explainContradiction(entry, content)
    if (why !== undefined) this.#findings.add({ kind: 'body-contradicts', seq, of: entry.kind, why })
    if (entry.kind === BODY_ERASED_KIND) this.#readErasure(entry['entry'], seq)
  }

  /** Notes that the entry cannot be read, so it is not known whether it committed to a body. */
  lose(seq: number): void {
    this.#lost.add(seq)
  }

  /** How many were erased, according to the entries. */
  get erased(): number {
    return this.#erased.size
  }

  ended(): void {
    for (const seq of this.#awaited) this.#findings.add({ kind: 'body-missing', seq })
  }

  #readErasure(target: unknown, seq: number): void {
    const entry = isSequenceNumber(target) && target < seq ? target : undefined
    // Looked up now rather than remembered: the body may have been there when its entry was read, and have been erased
    // since.
    if (entry !== undefined && this.#lost.has(entry)) return
    if (entry === undefined || this.#erased.has(entry) || !this.#isGone(entry))
      return this.#findings.add({ kind: 'erasure-unfounded', seq, entry })
    this.#erased.add(entry)
    this.#awaited.delete(entry)
  }
}

/** The body, if it is the one that the entry commits to. */
function openCommitted({ salt, body }: SaltedBody, committed: unknown): Json | undefined {
  const isSame = salt.length === BODY_SALT_BYTES && computeCommitmentHash(salt, body) === committed
  return isSame ? decodeEntryBody(body) : undefined
}
