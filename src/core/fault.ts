/**
 * Fault: the one form of an expected failure inside Hearthbus. Each family's envelope spells it in its own words,
 * once, at its edge; nothing inside matches on text.
 */
import type { JsonObject } from './json.ts'

export type FaultKind =
  /** The arguments do not fit the schema; `issues` in details. Nothing was tried. */
  | 'invalid-arguments'
  /** No such tool, resource, device, task …; nothing was tried. */
  | 'not-found'
  /** Policy says no; `reasons` says why, all of it at once. Nothing was tried. */
  | 'not-permitted'
  /** A person has to approve this exact call first; details say how. Nothing was tried. */
  | 'approval-required'
  /** The state of the thing does not allow it (wrong transition, key reused for another call, …). Nothing was tried. */
  | 'conflict'
  /** Too many calls, a full queue, a rate limit: later will do; see `retryAfterMs`. Nothing was tried. */
  | 'busy'
  /** The far end is not reachable. Nothing was tried. */
  | 'offline'
  /** No answer within the deadline; a write may have happened only if the kind is `unknown-outcome` instead. */
  | 'timed-out'
  /** The caller went away or withdrew. */
  | 'cancelled'
  /** The far end understood and said no, or answered nonsense. */
  | 'failed'
  /** A change was sent and nobody can tell whether it took effect. Never retried by us. */
  | 'unknown-outcome'
  /** Not offered by this far end or this configuration. Nothing was tried. */
  | 'unsupported'
  /** Our own mistake. The message says nothing about the inside; the log does. */
  | 'internal'

export interface Fault {
  readonly kind: FaultKind
  /** The family's own stable word for it, e.g. `ERR_NOT_FOUND`, `schema_mismatch`. */
  readonly code?: string
  /** A sentence for a person or a model: what is wrong and, where it helps, what would be right. */
  readonly message: string
  readonly retryAfterMs?: number
  readonly reasons?: readonly Reason[]
  readonly details?: JsonObject
  /** What an earlier call with the same idempotency key was told: nothing was done for this one. */
  readonly replayed?: true
  /**
   * Whether a handler was entered for this call: a fact that the bus of the providing node sets, and that travels.
   * Absent where nobody knows, such as after a line that broke: then it may have been.
   */
  readonly begun?: boolean
  /** A handler says so of a call that it has done nothing for. The bus makes `begun: false` of it. */
  readonly untouched?: true
  /** This node itself is not connected: that says nothing about the far end. Never travels. */
  readonly ownSide?: true
  /** Set by the audit. Never travels: another node has records of its own. */
  readonly record?: RecordReference
}

/** Where this node's ledger has a call. */
export interface RecordReference {
  readonly traceId: string
  /** Of its `call.enter`. */
  readonly logIndex: number
  /** Of its `call.exit`. */
  readonly endLogIndex: number
  readonly approval?: string
  readonly grant?: string
  /** The caller's own work that it is recorded under, if the caller named any. */
  readonly work?: WorkReference | undefined
}

/** Which work a call belongs to, such as a task and an audit session of the runtime: its caller's word. */
export interface WorkReference {
  readonly taskId?: string
  readonly sessionId?: string
}

/** Why a policy refused: the rule that spoke, and a sentence. */
export interface Reason {
  readonly rule: string
  readonly message: string
}

const RETRIABLE: ReadonlySet<FaultKind> = new Set(['busy', 'offline', 'timed-out'])

/** Whether the very same call may succeed later without anybody changing anything. */
export function isRetriable(fault: Fault): boolean {
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

/** Whether fault or kind promise that nothing was tried: the same call may be made again without happening twice. */
export function isUntried(fault: Fault): boolean {
  return fault.begun === false || UNTRIED.has(fault.kind)
}
