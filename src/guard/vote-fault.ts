/**
 * Vote faults: why a vote is refused, with the error codes of the contract.
 *
 * Pure.
 */
import type { Fault, FaultKind } from '../core/fault.ts'

/** Error codes of the contract (spec 5 § 6.3), which are part of the message. */
export const FAULT_KIND_BY_VOTE_CODE = {
  ROUND_NOT_FOUND: 'not-found',
  ALREADY_VOTED: 'conflict',
  INVALID_KEY: 'not-permitted',
  ROUND_CLOSED: 'conflict',
  NOT_A_VOTER: 'not-permitted',
  EQUIVOCATION: 'conflict',
} as const satisfies Record<string, FaultKind>

export function createVoteRefusal(code: keyof typeof FAULT_KIND_BY_VOTE_CODE, message: string): Fault {
  return { kind: FAULT_KIND_BY_VOTE_CODE[code], code, message }
}

export function createUnknownRoundFault(id: string): Fault {
  return createVoteRefusal('ROUND_NOT_FOUND', `There is no round ${id}.`)
}
