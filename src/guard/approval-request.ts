/**
 * Approval request: one exact call as it is presented to a person: earlier answers to it, what the person is shown, and
 * what the answer will be bound to.
 *
 *   a yes or no to this very call ─▶ counts
 *     │ none
 *     └─▶ a grant that covers it ─▶ counts as a yes
 *           │ none
 *           └─▶ asked, once: a caller that calls again finds the request still open
 */
import { toCallerKey } from '../bus/caller.ts'
import type { Fault, PolicyReason } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { sanitizeLine } from '../core/untrusted-text.ts'
import type { Approval, ApproverOnlyCallView, StoredCallView } from './approval.ts'
import type { ApprovalStore } from './approvals-store.ts'
import type { ProposedVotingTerms } from './quorum-round-terms.ts'
import type { GuardConfig } from './config.ts'
import { findRequiredQuorum } from './call-decision.ts'
import type { AssessedCall } from './call-decision.ts'
import type { QuorumRoundStore } from './quorum-round-store.ts'
import {
  computeOfferDefinitionHash,
  hashArgumentLeaves,
  computePreviewHash,
  computeJsonSha256,
} from './call-binding.ts'
import type { CallBinding, ArgumentLeafHashes } from './call-binding.ts'
import type { GrantStore } from './grants-store.ts'
import type { CallApprovalStatus } from './policy.ts'
import { hideSecretsInJson, redactArguments, redactJson } from './redaction.ts'
import { truncateAndRedactText } from './secret-detection.ts'
import type { GuardTransaction } from './guard-transaction-store.ts'

export interface CallApprovalLookupResult {
  readonly binding: CallBinding
  readonly leaves: ArgumentLeafHashes | undefined
  readonly standing: CallApprovalStatus
  /** The voting terms, where a rule asks several people. */
  readonly terms: ProposedVotingTerms | undefined
  /** Why an earlier yes does not count. */
  readonly notes: readonly PolicyReason[]
}

export interface ApprovalRequestDependencies {
  readonly policyVersion: string
  readonly hashKey: Uint8Array
  readonly approvals: ApprovalStore
  readonly grants: GrantStore
  readonly rounds: QuorumRoundStore
  readonly config: GuardConfig
}

/** A call, and the hash of its arguments that an approval of it is bound to. */
export interface HashedCall {
  readonly assessed: AssessedCall
  readonly argsHash: string
}

const MAX_LABEL = 300
const MAX_SEARCHED = 8 * MAX_LABEL

export function lookUpCallApproval(
  transaction: GuardTransaction,
  { assessed, argsHash }: HashedCall,
  parts: ApprovalRequestDependencies,
): Result<CallApprovalLookupResult, Fault> {
  const { body } = assessed.call
  const binding = createCallBinding(assessed, argsHash, parts)
  const leaves = hashArgumentLeaves(parts.hashKey, body)
  const quorum = findRequiredQuorum(assessed, parts)
  const effect = assessed.effect ?? assessed.offer.effect
  const terms = quorum && parts.rounds.terms(quorum, { ...binding, effect, isRule: true, nowMs: transaction.nowMs })
  if (terms?.ok === false) return terms
  const { standing, notes } = parts.approvals.standingIn(transaction, binding, leaves, terms?.value)
  // A grant replaces a person's answer only where nobody has answered this very call; it never overrides an answer.
  const spoken = standing.state === 'approved' || standing.state === 'denied'
  // A grant does not replace a vote of several people either.
  const isRound = terms !== undefined || (standing.state === 'requested' && parts.approvals.get(standing.id)?.round)
  const grant = spoken || isRound ? undefined : parts.grants.findIn(transaction, { binding, body, leaves })
  return ok({
    binding,
    leaves,
    notes,
    terms: terms?.value,
    standing: grant === undefined ? standing : { state: 'granted', id: grant },
  })
}

/**
 * A call that is repeated while its request is open creates no second request; it only restores the details that are
 * held in memory.
 */
export function recordApprovalRequest(
  transaction: GuardTransaction,
  { assessed, request }: { readonly assessed: AssessedCall; readonly request: CallApprovalLookupResult },
  { approvals }: ApprovalRequestDependencies,
): Result<Approval, Fault> {
  const { binding, leaves, standing, terms } = request
  const known = standing.state === 'requested' ? approvals.get(standing.id) : undefined
  const open = toApproverOnlyCallView(assessed)
  if (known === undefined)
    return approvals.requestIn(transaction, { binding, leaves, shown: toStoredCallView(assessed), open, terms })
  approvals.remindIn(transaction, known.id, open)
  return ok(known)
}

export function createCallBinding(
  { call, offer, assessment }: AssessedCall,
  argsHash: string,
  parts: ApprovalRequestDependencies,
): CallBinding {
  return {
    principal: toCallerKey(call.caller),
    tool: offer.name,
    argsHash,
    definitionHash: computeOfferDefinitionHash(offer),
    target: assessment.target,
    policyVersion: parts.policyVersion,
    // The hash covers what the approver sees, including what is hidden from records.
    promiseHash: computePreviewHash(
      parts.hashKey,
      hideSecretsInJson(assessment.preview ?? {}, [], 'approver') as JsonObject,
    ),
  }
}

export function toStoredCallView({ call, offer, assessment, effect }: AssessedCall): StoredCallView {
  const { caller } = call
  const preview =
    assessment.preview === undefined ? undefined : (redactJson(assessment.preview, offer.secrets) as JsonObject)
  const client = caller.kind === 'principal' ? caller.client : undefined
  return {
    title: offer.title,
    effect: effect ?? offer.effect,
    arguments: redactArguments(call.body, offer),
    channel: call.channel,
    traceId: call.traceId,
    ...(assessment.label === undefined ? {} : { label: shortText(assessment.label) }),
    ...(preview === undefined ? {} : { preview, previewHash: computeJsonSha256(preview) }),
    ...(client === undefined ? {} : { client: shortText(client) }),
  }
}

export function toApproverOnlyCallView({ call, offer, assessment: { preview } }: AssessedCall): ApproverOnlyCallView {
  return {
    arguments: redactArguments(call.body, offer, 'approver'),
    ...(preview === undefined ? {} : { preview: redactJson(preview, [], 'approver') as JsonObject }),
  }
}

function shortText(text: string): string {
  // Cleaned before it is searched, so that nothing invisible splits a credential; cut after that.
  return sanitizeLine(truncateAndRedactText(sanitizeLine(text, MAX_SEARCHED), 2 * MAX_LABEL), MAX_LABEL)
}
