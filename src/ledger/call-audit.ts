/**
 * Call audit: checks the entries of a ledger from the first to the last: each must be at its own position, and an entry
 * that ends a call must end an open one.
 */
import { decodeEntry, isSequenceNumber } from './entry.ts'
import type { LedgerEntry, LedgerEvent } from './entry.ts'
import type { LedgerFindings } from './ledger-finding.ts'

export const CALL_ENTER_KIND = 'call.enter'
const CALL_EXIT = 'call.exit'
export const CALL_ABORTED_KIND = 'call.aborted'
/** What became known about a call after it had ended. */
const CALL_OUTCOME = 'call.outcome'

/** The effects of calls that change something, as in the field `effect`. */
export const CHANGING_EFFECTS: ReadonlySet<unknown> = new Set(['writes', 'sensitive', 'admin'])

/** Whether the entry at that position began a call. */
export type CallEntryPredicate = (seq: number) => boolean

export class CallAudit {
  readonly #findings: LedgerFindings
  readonly #from: number
  readonly #isCall: CallEntryPredicate
  /** Calls that were entered and have not ended, within what was audited. */
  readonly open = new Set<number>()

  constructor(findings: LedgerFindings, from = 0, isCall: CallEntryPredicate = () => false) {
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

/** Whether a late outcome belongs to an earlier call that has ended. */
export function isLateOutcome(
  event: LedgerEvent | LedgerEntry,
  seq: number,
  hasEnded: (call: number) => boolean,
): boolean {
  const call = readLateOutcomeCall(event)
  return call !== undefined && call < seq && hasEnded(call)
}

/** The call that a late outcome is about; `undefined` for any other event, and for one that names no call. */
export function readLateOutcomeCall(event: LedgerEvent | LedgerEntry): number | undefined {
  return event.kind === CALL_OUTCOME && isSequenceNumber(event['call']) ? event['call'] : undefined
}

export function isLateOutcomeKind({ kind }: { readonly kind: string }): boolean {
  return kind === CALL_OUTCOME
}

export function isCallEnd({ kind }: { readonly kind: string }): boolean {
  return kind === CALL_EXIT || kind === CALL_ABORTED_KIND
}

/** The call that an event ends; `undefined` for one that ends none, or names no call. */
export function readClosedCall(event: LedgerEvent | LedgerEntry): number | undefined {
  return isCallEnd(event) && isSequenceNumber(event['call']) ? event['call'] : undefined
}
