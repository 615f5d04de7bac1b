/**
 * Call entry: the kinds of entries that begin a call, end it and tell more about it later, and which calls are open.
 */
import type { TransactionListener } from '../core/database-store.ts'
import { isSequenceNumber } from './entry.ts'
import type { LedgerEntry, LedgerEvent } from './entry.ts'

export const CALL_ENTER_KIND = 'call.enter'
const CALL_EXIT = 'call.exit'
export const CALL_ABORTED_KIND = 'call.aborted'
/** What became known about a call after it had ended. */
export const LATE_CALL_OUTCOME_KIND = 'call.outcome'

/** The effects of calls that change something, as in the field `effect`. */
export const CHANGING_EFFECTS: ReadonlySet<unknown> = new Set(['writes', 'sensitive', 'admin'])

/** Whether a late outcome belongs to an earlier call that has ended. */
export function isLateOutcomeOfEndedCall(
  event: LedgerEvent | LedgerEntry,
  seq: number,
  hasEnded: (call: number) => boolean,
): boolean {
  const call = readLateOutcomeCallSeq(event)
  return call !== undefined && call < seq && hasEnded(call)
}

/** The call that a late outcome is about; `undefined` for any other event, and for one that names no call. */
export function readLateOutcomeCallSeq(event: LedgerEvent | LedgerEntry): number | undefined {
  return event.kind === LATE_CALL_OUTCOME_KIND && isSequenceNumber(event['call']) ? event['call'] : undefined
}

export function isLateCallOutcome({ kind }: { readonly kind: string }): boolean {
  return kind === LATE_CALL_OUTCOME_KIND
}

export function isCallEnd({ kind }: { readonly kind: string }): boolean {
  return kind === CALL_EXIT || kind === CALL_ABORTED_KIND
}

/** The call that an event ends; `undefined` for one that ends none, or names no call. */
export function readEndedCallSeq(event: LedgerEvent | LedgerEntry): number | undefined {
  return isCallEnd(event) && isSequenceNumber(event['call']) ? event['call'] : undefined
}

/**
 * Calls that have entered and not ended. The set follows the transaction: when a work is undone, its changes to the set
 * are undone, too.
 */
export class OpenCalls implements TransactionListener {
  readonly #open = new Set<number>()
  /** What the works of this group opened and ended, in order. */
  #steps: { readonly call: number; readonly hasEntered: boolean }[] = []
  #stepsBeforeWork = 0

  has(call: number): boolean {
    return this.#open.has(call)
  }

  list(): readonly number[] {
    return [...this.#open]
  }

  /** Restores the open calls that a start found in the log. */
  restore(calls: readonly number[]): void {
    for (const call of calls) this.#open.add(call)
  }

  enter(call: number): void {
    this.#open.add(call)
    this.#steps.push({ call, hasEntered: true })
  }

  end(call: number): void {
    if (!this.#open.delete(call)) throw new RangeError(`call ${call} is not open`)
    this.#steps.push({ call, hasEntered: false })
  }

  workBegins(): void {
    this.#stepsBeforeWork = this.#steps.length
  }

  workUndone(): void {
    this.#undoSteps(this.#stepsBeforeWork)
  }

  groupEnds(isCommitted: boolean): void {
    if (!isCommitted) this.#undoSteps(0)
    this.#steps = []
  }

  #undoSteps(from: number): void {
    for (const { call, hasEntered } of this.#steps.splice(from).toReversed())
      if (hasEntered) this.#open.delete(call)
      else this.#open.add(call)
  }
}
