/**
 * Faults: the runtime's own stable codes, those of spec 5 § 6.3 and the ones its weak points made necessary.
 */
import type { Fault, FaultKind } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'

/** Each code is of one kind: what the rest of the house makes of it. */
const KINDS = {
  // Spec 5 § 6.3.
  ERR_NOT_FOUND: 'not-found',
  ERR_INVALID_TRANSITION: 'conflict',
  ERR_WRITEBACK_REQUIRED: 'conflict',
  ERR_SESSION_EXISTS: 'conflict',
  ERR_SESSION_NOT_FOUND: 'not-found',
  ERR_ALREADY_FINALIZED: 'conflict',
  ERR_NO_RECORDS: 'conflict',
  ERR_NOT_FINALIZED: 'conflict',
  /** A key that nobody has, or that is none (§ 6.3, in the message). */
  INVALID_KEY: 'invalid-arguments',
  // Of rounds (§ 6.3, in the message).
  ROUND_NOT_FOUND: 'not-found',
  ALREADY_VOTED: 'conflict',
  ROUND_CLOSED: 'conflict',
  NOT_A_VOTER: 'not-permitted',
  /** A voter said yes and no; both are kept. */
  EQUIVOCATION: 'conflict',
  /** The caller's epoch is not the ledger's. */
  EPOCH_MISMATCH: 'conflict',
  // Ours.
  /** Somebody changed the task since the caller read it. */
  ERR_VERSION_CONFLICT: 'conflict',
  /** The task is DONE or CANCELLED, and says for ever what it said then. */
  ERR_TASK_CLOSED: 'conflict',
  /** `depends_on` names a task that nobody created. */
  ERR_DEPENDENCY_NOT_FOUND: 'not-found',
  /** Along its dependencies the task would come to wait for itself. */
  ERR_DEPENDENCY_CYCLE: 'conflict',
  /** What the task depends on is not done, so it cannot be applied. */
  ERR_DEPENDENCY_UNFINISHED: 'conflict',
  /** Session ids are minted here, never chosen by a caller. */
  ERR_SESSION_ID_REFUSED: 'conflict',
  /** The session was finalized; it takes no more records. */
  ERR_SESSION_CLOSED: 'conflict',
  /** Several open sessions of the task: the record would be in one of them by chance. */
  ERR_SESSION_AMBIGUOUS: 'conflict',
  /** The records do not agree with themselves or with the ledger; what they say is not sealed. */
  ERR_CHAIN_BROKEN: 'conflict',
  /** The signature does not belong to the record, or the agent's records must carry one. */
  ERR_SIGNATURE_INVALID: 'not-permitted',
  /** That signed statement is already on record. */
  ERR_SIGNATURE_REPLAYED: 'conflict',
  /** Nobody put a skill of that name in place. */
  ERR_SKILL_NOT_FOUND: 'not-found',
  /** The skill on disk is not the one that the ledger recorded, or not the one that was asked for. */
  ERR_SKILL_CHANGED: 'conflict',
  /** No provider of a model answered (spec 5 § 6.3). */
  FallbackChainExhaustedError: 'failed',
  /** The ledger does not extend what this node signed, or is damaged: nothing is signed or proved. */
  ERR_LEDGER_UNSOUND: 'failed',
  /** The ledger has no entry, or no tree, of that number. */
  ERR_OUT_OF_RANGE: 'not-found',
} as const satisfies Record<string, FaultKind>

export type RuntimeCode = keyof typeof KINDS

export function runtimeFault(code: RuntimeCode, message: string, details?: JsonObject): Fault {
  return { kind: KINDS[code], code, message, ...(details === undefined ? {} : { details }) }
}

/** Whether a handler of this room said it: what else carries a code came from the guard or the bus. */
export function isRuntimeCode(code: string | undefined): code is RuntimeCode {
  return code !== undefined && Object.hasOwn(KINDS, code)
}

/** For arguments that only the handler can judge; looks like what the schema would have said. */
export function runtimeArgumentFault(argument: string, message: string): Fault {
  return {
    kind: 'invalid-arguments',
    message: `${argument}: ${message}`,
    details: { issues: [{ path: [argument], message, code: 'custom' }] },
  }
}
