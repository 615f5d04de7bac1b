/**
 * Stage: one step of the way that every call takes. A stage takes the passage and the rest of the way.
 *
 * A call that is refused early (no place in the queue, arguments that do not fit) is not thrown off the way: it goes
 * on as a refusal, so that the audit sees it, and dispatch hands it back untried.
 *
 * Pure.
 */
import type { Proceed } from '../bus/admit.ts'
import type { Call, Outcome, Weighed } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'

export interface Passage {
  readonly call: Call
  /** `undefined`: nobody offers that name. */
  readonly offer: Offer | undefined
  /** Route to a provider and run it there. */
  readonly proceed: Proceed
  readonly refusal?: Fault
  /** Gives the lock back. Safe to call twice. */
  readonly release?: () => void
  readonly entered?: EnterRecord
  /** How the guard classified the call; absent for reads, and for calls that never reached the guard. */
  readonly weighed?: Weighed
  readonly outcome?: Outcome
}

/** What the enter record leaves for the exit record. */
export interface EnterRecord {
  /** Known once the enter's database work ran, which is always before the exit's. */
  readonly sequenceNo: () => number | undefined
  /** Hides short arguments and results from guessing; kept beside the log, erased with the arguments. */
  readonly salt: Uint8Array
}

export type Next = (passage: Passage) => Promise<Outcome>
export type Stage = (passage: Passage, next: Next) => Promise<Outcome>

/** For whoever runs the node: what went wrong where a caller hears only that something did. */
export type Report = (error: unknown, message: string) => void

/** What a caller hears of a mistake of ours. What went wrong is for the log. */
export function mistake({ capability, traceId }: Call): Fault {
  return {
    kind: 'internal',
    message: `${capability} failed because of a mistake inside, before anything was tried. The log has it under trace ${traceId}.`,
  }
}
