/**
 * Approval request: one exact call as it is put to a person. What was said about it before, what the person is shown of it, and
 * what the answer will be bound to.
 *
 *   a yes or no to this very call ─▶ counts
 *     │ none
 *     └─▶ a grant that covers it ─▶ counts as a yes
 *           │ none
 *           └─▶ asked, once: a caller that calls again finds the request still open
 *
 * Pure: the stores do the work.
 */
import { callerKey } from '../bus/caller.ts'
import type { Fault, Reason } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Approval, ApproverCallView, ShownCall } from './approval.ts'
import type { ApprovalStore, VotingTerms } from './approvals-store.ts'
import type { GuardConfig } from './config.ts'
import { findRequiredQuorum } from './decision.ts'
import type { AssessedCall } from './decision.ts'
import type { RoundsStore } from './rounds-store.ts'
import { offerDefinitionHash, hashLeaves, computePreviewHash, sha256OfJson } from './binding.ts'
import type { CallBinding, LeafHashes } from './binding.ts'
import type { GrantStore } from './grants-store.ts'
import type { ApprovalStanding } from './policy.ts'
import { hideSecrets, redactArguments, redactData } from './redact.ts'
import { redactText } from './secrets.ts'
import type { Transaction } from './transaction-store.ts'

export interface ApprovalRequest {
  readonly binding: CallBinding
  readonly leaves: LeafHashes | undefined
  readonly standing: ApprovalStanding
  /** Where a rule asks several. */
  readonly terms: VotingTerms | undefined
  /** Why an earlier yes does not help. */
  readonly notes: readonly Reason[]
}

export interface ApprovalRequestParts {
  readonly policyVersion: string
  readonly hashKey: Uint8Array
  readonly approvals: ApprovalStore
  readonly grants: GrantStore
  readonly rounds: RoundsStore
  readonly config: GuardConfig
}

const MAX_LABEL = 300

export function createApprovalRequest(
  transaction: Transaction,
  { assessed, argsHash }: { readonly assessed: AssessedCall; readonly argsHash: string },
  parts: ApprovalRequestParts,
): Result<ApprovalRequest, Fault> {
  const { body } = assessed.call
  const binding = createBinding(assessed, argsHash, parts)
  const leaves = hashLeaves(parts.hashKey, body)
  const quorum = findRequiredQuorum(assessed, parts)
  const terms = quorum && parts.rounds.terms(quorum, { ...binding, isRule: true, nowMs: transaction.nowMs })
  if (terms?.ok === false) return terms
  const { standing, notes } = parts.approvals.standingIn(transaction, binding, leaves, terms?.value)
  // A grant speaks for a person who has not spoken about this very call, and never against one who has.
  const spoken = standing.state === 'approved' || standing.state === 'denied'
  // Nor does it speak for several.
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

/** A call that is made again while its request is open files no second one; what only memory holds of it is renewed. */
export function fileApprovalRequest(
  transaction: Transaction,
  { assessed, request }: { readonly assessed: AssessedCall; readonly request: ApprovalRequest },
  { approvals }: ApprovalRequestParts,
): Result<Approval, Fault> {
  const { binding, leaves, standing, terms } = request
  const known = standing.state === 'requested' ? approvals.get(standing.id) : undefined
  const open = toApproverCallView(assessed)
  if (known === undefined)
    return approvals.requestIn(transaction, { binding, leaves, shown: toShownCall(assessed), open, terms })
  approvals.remindIn(transaction, known.id, open)
  return ok(known)
}

export function createBinding(
  { call, offer, assessment }: AssessedCall,
  argsHash: string,
  parts: ApprovalRequestParts,
): CallBinding {
  return {
    principal: callerKey(call.caller),
    tool: offer.name,
    argsHash,
    definitionHash: offerDefinitionHash(offer),
    target: assessment.target,
    policyVersion: parts.policyVersion,
    // Of what the approver sees: what is hidden from records alone was promised as well.
    promiseHash: computePreviewHash(parts.hashKey, hideSecrets(assessment.preview ?? {}, [], 'approver') as JsonObject),
  }
}

export function toShownCall({ call, offer, assessment, effect }: AssessedCall): ShownCall {
  const { caller } = call
  const preview =
    assessment.preview === undefined ? undefined : (redactData(assessment.preview, offer.secrets) as JsonObject)
  const client = caller.kind === 'principal' ? caller.client : undefined
  return {
    title: offer.title,
    effect: effect ?? offer.effect,
    arguments: redactArguments(call.body, offer),
    channel: call.channel,
    traceId: call.traceId,
    ...(assessment.label === undefined ? {} : { label: shortText(assessment.label) }),
    ...(preview === undefined ? {} : { preview, previewHash: sha256OfJson(preview) }),
    ...(client === undefined ? {} : { client: shortText(client) }),
  }
}

export function toApproverCallView({ call, offer, assessment: { preview } }: AssessedCall): ApproverCallView {
  return {
    arguments: redactArguments(call.body, offer, 'approver'),
    ...(preview === undefined ? {} : { preview: redactData(preview, [], 'approver') as JsonObject }),
  }
}

function shortText(text: string): string {
  return redactText(text.slice(0, MAX_LABEL)).toWellFormed()
}
