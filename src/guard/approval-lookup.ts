/**
 * Approval lookup: which answers people have given about a call so far, from the requests on record.
 *
 * Pure, given the state and the log.
 */
import { toAccountKeyFromCallerKey } from '../bus/caller.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import { findCallApprovalStatus } from './approval.ts'
import type { Approval, ApprovalStatusWithNotes } from './approval.ts'
import type { ApprovalRecord } from './approval-state.ts'
import { addApprovalTexts, isApprovalTextTampered, readArgumentLeafHashes } from './approval-texts.ts'
import type { ArgumentLeafHashes, CallBinding } from './call-binding.ts'
import { differOnlyInAlwaysFreeArguments } from './grant.ts'
import type { GuardState } from './guard-state.ts'
import { areTermsAtLeastAsStrict } from './quorum-round-terms.ts'
import type { ProposedVotingTerms } from './quorum-round-terms.ts'

/** How many earlier requests about one exact call are looked at. */
const MAX_PAST = 20
/** How many requests of one caller and tool are searched for the same call in other words. */
const MAX_REWORDED = 200

interface ApprovalRecords {
  readonly state: GuardState
  readonly log: Pick<ProjectionLogWriter, 'body'>
}

/** Newest first: ids sort by time. */
export function listNewestApprovals(
  { state, log }: ApprovalRecords,
  isWanted: (record: ApprovalRecord) => boolean,
  limit: number,
): readonly Approval[] {
  return [...state.approvals.values()]
    .filter(isWanted)
    .toSorted((left, right) => (left.id < right.id ? 1 : -1))
    .slice(0, limit)
    .map((record) => addApprovalTexts(record, state, log))
}

/** A call that is to be made, with the terms of the vote about it, if there has to be one. */
interface CallToLookUp {
  readonly binding: CallBinding
  readonly leaves: ArgumentLeafHashes | undefined
  readonly terms: ProposedVotingTerms | undefined
}

export function resolveCallApprovalStatus(
  records: ApprovalRecords,
  { binding, leaves, terms }: CallToLookUp,
  nowMs: number,
): ApprovalStatusWithNotes {
  const { principal, tool, argsHash } = binding
  const { state, log } = records
  const past = listNewestApprovals(
    records,
    ({ id, binding: requested }) =>
      requested.principal === principal &&
      requested.tool === tool &&
      requested.argsHash === argsHash &&
      (terms === undefined || areTermsAtLeastAsStrict(state.rounds.get(id), terms)),
    MAX_PAST,
  )
  const exact = findCallApprovalStatus(past, binding, nowMs)
  if (exact.standing.state !== 'none' || leaves === undefined) return exact
  // The same call with other free text counts as the same request: a person is asked once, the approval counts, and the
  // denial holds. A denial of a node's call holds for every caller that the node speaks for.
  const account = toAccountKeyFromCallerKey(principal)
  const reworded = listNewestApprovals(
    records,
    ({ binding: requested, state: reached, expiresAtMs }) =>
      expiresAtMs > nowMs &&
      requested.tool === tool &&
      (reached === 'denied'
        ? requested.principal === principal || requested.principal === account
        : (reached === 'requested' || reached === 'approved') && requested.principal === principal),
    MAX_REWORDED,
  ).filter(({ id, state: reached }) => {
    const storedLeaves = readArgumentLeafHashes(state, id, log)
    if (storedLeaves !== undefined) return differOnlyInAlwaysFreeArguments(storedLeaves, leaves)
    // The body of this denial was erased or removed, so the denial may have been about this call, and counts.
    const record = state.approvals.get(id)
    return reached === 'denied' && record !== undefined && isApprovalTextTampered(record, log)
  })
  const { standing } = findCallApprovalStatus(reworded, binding, nowMs)
  return { standing, notes: exact.notes }
}
