/**
 * Faults: the runtime's own stable codes, those of spec 5 § 6.3 and further ones that it lacks.
 */
import type { Fault, FaultKind } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { FAULT_KIND_BY_VOTE_CODE } from '../guard/vote-fault.ts'

/** The fault kind of each code. */
const KINDS = {
  // Of rounds, as the guard has them (§ 6.3, in the message).
  ...FAULT_KIND_BY_VOTE_CODE,
  // Spec 5 § 6.3.
  ERR_NOT_FOUND: 'not-found',
  ERR_INVALID_TRANSITION: 'conflict',
  ERR_WRITEBACK_REQUIRED: 'conflict',
  ERR_SESSION_EXISTS: 'conflict',
  ERR_SESSION_NOT_FOUND: 'not-found',
  ERR_ALREADY_FINALIZED: 'conflict',
  ERR_NO_RECORDS: 'conflict',
  ERR_NOT_FINALIZED: 'conflict',
  /** The key is unknown or invalid (§ 6.3, in the message). */
  INVALID_KEY: 'invalid-arguments',
  /** The caller's epoch is not the ledger's. */
  EPOCH_MISMATCH: 'conflict',
  // Our own codes.
  /** Somebody changed the task since the caller read it. */
  ERR_VERSION_CONFLICT: 'conflict',
  /** The task is DONE or CANCELLED and can no longer be changed. */
  ERR_TASK_CLOSED: 'conflict',
  /** `depends_on` names a task that does not exist. */
  ERR_DEPENDENCY_NOT_FOUND: 'not-found',
  /** Through its dependencies the task would wait for itself. */
  ERR_DEPENDENCY_CYCLE: 'conflict',
  /** A task that it depends on is not done, so it cannot be applied. */
  ERR_DEPENDENCY_UNFINISHED: 'conflict',
  /** Session ids are generated here, never chosen by a caller. */
  ERR_SESSION_ID_REFUSED: 'conflict',
  /** The session was finalized; it takes no more records. */
  ERR_SESSION_CLOSED: 'conflict',
  /** The task has several open sessions, so it is not clear which one the record belongs to. */
  ERR_SESSION_AMBIGUOUS: 'conflict',
  /** The records contradict each other or the ledger, so they are not sealed. */
  ERR_CHAIN_BROKEN: 'conflict',
  /** The signature does not belong to the record, or the agent's records must carry one. */
  ERR_SIGNATURE_INVALID: 'not-permitted',
  /** That signed statement is already on record. */
  ERR_SIGNATURE_REPLAYED: 'conflict',
  /** There is no skill of that name. */
  ERR_SKILL_NOT_FOUND: 'not-found',
  /** The skill on disk is not the one that the ledger recorded, or not the requested one. */
  ERR_SKILL_CHANGED: 'conflict',
  /** No provider of a model answered (spec 5 § 6.3). */
  FallbackChainExhaustedError: 'failed',
  /** The ledger does not extend what this node signed, or is damaged: nothing is signed or proved. */
  ERR_LEDGER_UNSOUND: 'failed',
  /** The ledger has no entry, or no tree, of that number. */
  ERR_OUT_OF_RANGE: 'not-found',
} as const satisfies Record<string, FaultKind>

export type RuntimeErrorCode = keyof typeof KINDS

export function createRuntimeFault(code: RuntimeErrorCode, message: string, details?: JsonObject): Fault {
  return { kind: KINDS[code], code, message, ...(details === undefined ? {} : { details }) }
}

/** Whether a handler of this module returned it: other codes come from the guard or the bus. */
export function isRuntimeErrorCode(code: string | undefined): code is RuntimeErrorCode {
  return code !== undefined && Object.hasOwn(KINDS, code)
}

/** A fault for arguments that only the handler can check; it looks like one of schema validation. */
export function createRuntimeArgumentFault(argument: string, message: string): Fault {
  return {
    kind: 'invalid-arguments',
    message: `${argument}: ${message}`,
    details: { issues: [{ path: [argument], message, code: 'custom' }] },
  }
}
