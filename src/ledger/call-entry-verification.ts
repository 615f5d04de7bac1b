/**
 * Call entry verification: checks the entries of a ledger from the first to the last: each must be at its own
 * position, and an entry that ends a call must end an open one.
 */
import {
  CALL_ENTER_KIND,
  LATE_CALL_OUTCOME_KIND,
  isCallEnd,
  isLateOutcomeOfEndedCall,
  readEndedCallSeq,
  readLateOutcomeCallSeq,
} from './call-entry.ts'
import { decodeEntry } from './entry.ts'
import type { LedgerEntry } from './entry.ts'
import type { LedgerFindings } from './ledger-finding.ts'

/** Whether the entry at that position began a call. */
export type CallStartEntryPredicate = (seq: number) => boolean

export class CallEntryVerification {
  readonly #findings: LedgerFindings
  readonly #from: number
  readonly #isCall: CallStartEntryPredicate
  readonly #lost = new Set<number>()
  /** Calls that were entered and have not ended, within what was audited. */
  readonly open = new Set<number>()

  constructor(findings: LedgerFindings, from = 0, isCall: CallStartEntryPredicate = () => false) {
    this.#findings = findings
    this.#from = from
    this.#isCall = isCall
  }

  /** The entry at `seq`, if its bytes are a valid entry. */
  read(seq: number, bytes: Uint8Array): LedgerEntry | undefined {
    const decoded = decodeEntry(bytes)
    if (!decoded.ok) {
      this.#findings.add({ kind: 'entry-unreadable', seq, fault: decoded.fault })
      return undefined
    }
    const entry = decoded.value
    if (entry.seq !== seq) this.#findings.add({ kind: 'entry-misplaced', seq, claims: entry.seq })
    if (entry.kind === CALL_ENTER_KIND) this.open.add(seq)
    if (isCallEnd(entry) && !this.#close(readEndedCallSeq(entry)))
      this.#findings.add({ kind: 'call-not-open', seq, call: readEndedCallSeq(entry) })
    if (entry.kind === LATE_CALL_OUTCOME_KIND && !isLateOutcomeOfEndedCall(entry, seq, (call) => this.#hasEnded(call)))
      this.#findings.add({ kind: 'call-not-ended', seq, call: readLateOutcomeCallSeq(entry) })
    return entry
  }

  /** Notes that the entry cannot be read, so it is not known which call it began or ended. */
  lose(seq: number): void {
    this.#lost.add(seq)
  }

  #close(call: number | undefined): boolean {
    if (call === undefined) return false
    if (this.#lost.has(call)) return true
    return call < this.#from ? this.#isCall(call) : this.open.delete(call)
  }

  #hasEnded(call: number): boolean {
    return this.#lost.size > 0 || (!this.open.has(call) && this.#isCall(call))
  }
}
