/**
 * Audit: what the entries of a ledger must say of each other, read from the first to the last: each is an entry in its
 * own place, and what ends a call ends one that is open.
 *
 * Pure.
 */
import { decodeEntry, isSequence } from './entry.ts'
import type { LedgerEntry, LedgerEvent } from './entry.ts'
import type { Findings } from './finding.ts'

export const CALL_ENTER = 'call.enter'
const CALL_EXIT = 'call.exit'
export const CALL_ABORTED = 'call.aborted'

/** Whether a call from before the first audited entry was open when entry `seq` ended it. */
export type EarlierCalls = (call: number, seq: number) => boolean

export class Audit {
  readonly #findings: Findings
  readonly #from: number
  readonly #earlier: EarlierCalls
  /** Entered, not ended, within what was audited. */
  readonly open = new Set<number>()

  constructor(findings: Findings, from = 0, earlier: EarlierCalls = () => false) {
    this.#findings = findings
    this.#from = from
    this.#earlier = earlier
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
    if (endsCall(entry) && !this.#close(closedCall(entry), seq))
      this.#findings.add({ kind: 'call-not-open', seq, call: closedCall(entry) })
    return entry
  }

  #close(call: number | undefined, seq: number): boolean {
    if (call === undefined) return false
    return call < this.#from ? this.#earlier(call, seq) : this.open.delete(call)
  }
}

export function endsCall({ kind }: { readonly kind: string }): boolean {
  return kind === CALL_EXIT || kind === CALL_ABORTED
}

/** The call that an event ends; `undefined` for one that ends none, or does not say which. */
export function closedCall(event: LedgerEvent | LedgerEntry): number | undefined {
  return endsCall(event) && isSequence(event['call']) ? event['call'] : undefined
}
