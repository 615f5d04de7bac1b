/** Approval service: what a person, or a face on a person's behalf, can do about calls that wait for approval. */
import type { Caller } from '../bus/call.ts'
import type { Fault } from '../core/fault.ts'
import type { Result } from '../core/result.ts'
import type { Approval, ApprovalState } from './approval.ts'
import type { GrantRequest } from './grant.ts'

export interface ApprovalsConfig {
  /** How long a request stays open. */
  readonly openMs: number
  /** How long an approval waits for its call. */
  readonly useMs: number
  /** How long a decision of several can be disputed after it was cosigned. */
  readonly disputeMs: number
  readonly maxOpen: number
  /** Limit for one caller, or for a node together with every caller that it speaks for. */
  readonly maxOpenPerPrincipal: number
}

export interface ApprovalEvent {
  readonly kind: `approval.${ApprovalState}`
  readonly approval: Approval
}

interface ApprovalQuery {
  readonly state?: ApprovalState
  readonly principal?: string
  /** Only approvals that are older than this id. */
  readonly before?: string
  readonly limit?: number
}

/** What faces and the CLI use. */
export interface ApprovalService {
  /** Newest first. */
  readonly list: (query?: ApprovalQuery) => readonly Approval[]
  readonly get: (id: string) => Approval | undefined
  /**
   * The approval as this caller may see it: a caller who may decide about an open request also sees what is only held
   * in memory.
   */
  readonly shownTo: (approval: Approval, by: Caller) => Approval
  readonly approve: (
    id: string,
    by: Caller,
    options?: { readonly grant?: GrantRequest },
  ) => Promise<Result<Approval, Fault>>
  readonly deny: (id: string, by: Caller, reason: string) => Promise<Result<Approval, Fault>>
  /** Withdraws an open request, or an approval that was not used. Only the caller that asked may. */
  readonly withdraw: (id: string, by: Caller) => Promise<Result<Approval, Fault>>
  /** Called once the event is durable. Returns a function that unsubscribes. */
  readonly subscribe: (listener: (event: ApprovalEvent) => void) => () => void
}
