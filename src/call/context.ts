/**
 * Context: one call on its way through the stages, and what each of them has learned about it.
 *
 *   stage          adds                          read by
 *   lock           release, call.heldLocks       audit exit, handlers that call on
 *   validate       call.body (parsed), refusal   everything behind it
 *   audit enter    entered                       audit exit
 *   dispatch
 *     plan         assessed                      authorise, reserve, audit exit
 *     authorise    authorization                 reserve
 *     reserve      authorization                 execute, settle, audit exit
 *     execute      outcome, isBegun              settle
 *     settle       outcome                       audit exit
 *
 * A call that is refused early (no place in the queue, arguments that do not fit) still passes through the remaining
 * stages with its refusal, so that the audit records it; dispatch returns the refusal without trying anything.
 */
import type { NextHandler } from '../bus/call-pipeline.ts'
import type { Call, Outcome } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { Authorization, AssessedCall } from '../guard/call-decision.ts'

export interface CallContext {
  readonly call: Call
  /** `undefined` for a name that nobody offers. */
  readonly offer: Offer | undefined
  /** Routes the call to a provider and runs it there. */
  readonly execute: NextHandler
  readonly refusal?: Fault
  /** Releases the lock. Safe to call twice. */
  readonly release?: () => void
  readonly entered?: CallAuditState
  readonly assessed?: AssessedCall
  readonly authorization?: Authorization
  /** Whether a provider was asked to act. */
  readonly isBegun?: boolean
  readonly outcome?: Outcome
}

/** What the enter record leaves for the exit record. */
export interface CallAuditState {
  /**
   * A random value that is hashed with arguments and results, so that short ones cannot be guessed. It is kept beside
   * the log and erased with the arguments.
   */
  readonly salt: Uint8Array
  /** Set when the database work of the enter has run, which is always before that of the exit. */
  sequenceNo?: number
  /** Set when the exit is durable; `null` if it could not be recorded. */
  endSequenceNo?: number | null
  /** Called when `endSequenceNo` is known. */
  onEnd?: () => void
}

export type NextStage = (context: CallContext) => Promise<Outcome>
export type CallStage = (context: CallContext, next: NextStage) => Promise<Outcome>

/** Reports internal errors to whoever runs the node; the caller is only told that there was one. */
export type InternalErrorReporter = (error: unknown, message: string) => void

/** The fault that a caller gets for a bug. The details are in the log. */
export function createStageInternalFault({ capability, traceId }: Call): Fault {
  return {
    kind: 'internal',
    message: `${capability} failed because of an internal error, before anything was tried. The log has it under trace ${traceId}.`,
  }
}
