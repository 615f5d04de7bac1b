/**
 * Fault: the one form of an expected failure inside Hearthbus. Each family's envelope formats it once, at its edge; no
 * code matches on its text.
 */
import type { JsonObject } from './json.ts'

export type FaultKind =
  /** The arguments do not fit the schema; `issues` in details. Nothing was tried. */
  | 'invalid-arguments'
  /** No such tool, resource, device, task …; nothing was tried. */
  | 'not-found'
  /** Refused by policy; `reasons` lists every reason. Nothing was tried. */
  | 'not-permitted'
  /** A person has to approve this exact call first; details say how. Nothing was tried. */
  | 'approval-required'
  /** The present state does not allow it (wrong transition, key reused for another call, …). Nothing was tried. */
  | 'conflict'
  /** Too many calls, a full queue, a rate limit: a later call may succeed; see `retryAfterMs`. Nothing was tried. */
  | 'busy'
  /** The far end is not reachable. Nothing was tried. */
  | 'offline'
  /** The far end did not answer within the deadline. A change that may have happened is `unknown-outcome` instead. */
  | 'timed-out'
  /** The caller disconnected or cancelled. */
  | 'cancelled'
  /** The far end understood and refused, or its answer made no sense. */
  | 'failed'
  /** A change was sent and it is not known whether it took effect. Never retried by us. */
  | 'unknown-outcome'
  /** Not offered by this far end or this configuration. Nothing was tried. */
  | 'unsupported'
  /** A bug. The message reveals nothing about the inside; the log has the details. */
  | 'internal'

export interface Fault {
  readonly kind: FaultKind
  /** The family's own stable error code, e.g. `ERR_NOT_FOUND`, `schema_mismatch`. */
  readonly code?: string
  /** A sentence for a person or a model: what is wrong and, where it helps, what would be right. */
  readonly message: string
  readonly retryAfterMs?: number
  readonly reasons?: readonly PolicyReason[]
  readonly details?: JsonObject
  /** The answer to an earlier call with the same idempotency key: nothing was done for this one. */
  readonly replayed?: true
  /**
   * Whether a handler was entered for this call. The bus of the providing node sets it and sends it to the caller. It
   * is absent where this is not known, such as after a broken connection: a handler may have been entered then.
   */
  readonly begun?: boolean
  /** Set by a handler that has done nothing for the call. The bus turns it into `begun: false`. */
  readonly untouched?: true
  /** This node itself is not connected: that says nothing about the far end. Not sent to other nodes. */
  readonly ownSide?: true
  /** Set by the audit. Not sent to other nodes, which have records of their own. */
  readonly record?: CallRecordReference
}

/** By id: the approval that a call asked for or used, or the grant that it used. */
export interface ApprovalOrGrantReference {
  readonly approval?: string
  readonly grant?: string
}

/** Where a call is in this node's ledger. */
export interface CallRecordReference extends ApprovalOrGrantReference {
  readonly traceId: string
  /** The index of its `call.enter`. */
  readonly logIndex: number
  /** The index of its `call.exit`. */
  readonly endLogIndex: number
  /** The caller's own work that the call is recorded under, if the caller named any. */
  readonly work?: TaskOrSessionReference | undefined
}

/** Which work a call belongs to, such as a task and an audit session of the runtime, as its caller claims. */
export interface TaskOrSessionReference {
  readonly taskId?: string
  readonly sessionId?: string
}

/** Why a policy refused: the rule, and a sentence. */
export interface PolicyReason {
  readonly rule: string
  readonly message: string
  /** The argument that the caller left out: supplying it removes this reason. */
  readonly argument?: string
}

const RETRIABLE: ReadonlySet<FaultKind> = new Set(['busy', 'offline', 'timed-out'])

/** Whether the same call may succeed later without anybody changing anything. */
export function isRetriableFault(fault: Fault): boolean {
  return RETRIABLE.has(fault.kind)
}

const UNTRIED: ReadonlySet<FaultKind> = new Set([
  'invalid-arguments',
  'not-found',
  'not-permitted',
  'approval-required',
  'conflict',
  'busy',
  'offline',
  'unsupported',
])

/** Whether the fault guarantees that nothing was tried, so that the same call may be repeated without acting twice. */
export function isFaultBeforeAttempt(fault: Fault): boolean {
  return fault.begun === false || UNTRIED.has(fault.kind)
}

/**
 * The fault's message without commands, for a reader without a terminal: what is the matter, and that the owner has to
 * see to it. A model that is told of a command it does not have looks for a way to run it.
 */
export function omitCliInstructions(text: string): string {
  if (!TERMINAL_COMMAND.test(text)) return text
  const sentences = text.split(/(?<=[.!?])\s+/).flatMap((sentence) => {
    const at = sentence.search(TERMINAL_COMMAND)
    if (at === -1) return [sentence]
    const head = sentence.slice(0, Math.max(0, ...[':', ';', '('].map((mark) => sentence.lastIndexOf(mark, at))))
    return head.trim().split(' ').length > 3 ? [`${head.trim()}.`] : []
  })
  return [...sentences, 'The owner has to fix this.'].join(' ')
}

const TERMINAL_COMMAND = /\bhearthbus [a-z]/
