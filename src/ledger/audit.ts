/**
 * Audit: what the entries of a ledger must say of each other, read from the first to the last: each is an entry in its
 * own place, and what ends a call ends one that is open.
 */
import { decodeEntry, isSequence } from './entry.ts'
import type { LedgerEntry, LedgerEvent } from './entry.ts'
import type { LedgerFindings } from './finding.ts'

export const CALL_ENTER = 'call.enter'
const CALL_EXIT = 'call.exit'
export const CALL_ABORTED = 'call.aborted'
/** What became known about a call after it had ended. */
const CALL_OUTCOME = 'call.outcome'

/** Of calls that change something, as `effect` names them. */
export const CHANGING_EFFECTS: ReadonlySet<unknown> = new Set(['writes', 'sensitive', 'admin'])

/** Whether the entry at that place began a call. */
export type CallEntryPredicate = (seq: number) => boolean

export class CallAudit {
  readonly #findings: LedgerFindings
  readonly #from: number
  readonly #isCall: CallEntryPredicate
  /** Entered, not ended, within what was audited. */
  readonly open = new Set<number>()

  constructor(findings: LedgerFindings, from = 0, isCall: CallEntryPredicate = () => false) {
    this.#findings = findings
    this.#from = from
    this.#isCall = isCall
  }

  /** The entry at `seq`, if its bytes are one. */
  read(seq: number, bytes: Uint8Array): LedgerEntry | undefined {
    const decoded = decodeEntry(bytes)
    if (!decoded.ok) {
      this.#findings.add({ kind: 'entry-unreadable', seq, fault: decoded.fault })
      return undefined
    }
    const entry = decoded.value
    if (entry.seq !== seq) this.#findings.add({ kind: 'entry-misplaced', seq, claims: entry.seq })
    if (entry.kind === CALL_ENTER) this.open.add(seq)
    if (isCallEnd(entry) && !this.#close(readClosedCall(entry)))
      this.#findings.add({ kind: 'call-not-open', seq, call: readClosedCall(entry) })
    if (entry.kind === CALL_OUTCOME && !isLateOutcome(entry, seq, (call) => this.#hasEnded(call)))
      this.#findings.add({ kind: 'call-not-ended', seq, call: readLateOutcomeCall(entry) })
    return entry
  }

  #close(call: number | undefined): boolean {
    if (call === undefined) return false
    return call < this.#from ? this.#isCall(call) : this.open.delete(call)
  }

  #hasEnded(call: number): boolean {
    return !this.open.has(call) && this.#isCall(call)
  }
}

/** Whether what is told later is told of a call before it that has ended. */
export function isLateOutcome(
  event: LedgerEvent | LedgerEntry,
  seq: number,
  hasEnded: (call: number) => boolean,
): boolean {
  const call = readLateOutcomeCall(event)
  return call !== undefined && call < seq && hasEnded(call)
}

/** The call that an event tells more about; `undefined` for any other event, and for one that does not say which. */
export function readLateOutcomeCall(event: LedgerEvent | LedgerEntry): number | undefined {
  return event.kind === CALL_OUTCOME && isSequence(event['call']) ? event['call'] : undefined
}

export function isLateOutcomeKind({ kind }: { readonly kind: string }): boolean {
  return kind === CALL_OUTCOME
}

export function isCallEnd({ kind }: { readonly kind: string }): boolean {
  return kind === CALL_EXIT || kind === CALL_ABORTED
}

/** The call that an event ends; `undefined` for one that ends none, or does not say which. */
export function readClosedCall(event: LedgerEvent | LedgerEntry): number | undefined {
  return isCallEnd(event) && isSequence(event['call']) ? event['call'] : undefined
}
