/**
 * Refusal: a decision as the fault that a caller hears. Families put it into their own words.
 */
import type { Call, Outcome } from '../bus/call.ts'
import type { Fault, Reason } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Approval } from './approval.ts'
import type { IdempotencyKeyStatus } from './idempotency-key-store.ts'
import type { PolicyDecision } from './policy.ts'

export function deniedFault({ reasons, retryAfterMs }: PolicyDecision & { readonly verdict: 'deny' }): Fault {
  const message = reasons.map((reason) => reason.message).join(' ')
  if (retryAfterMs !== undefined) return { kind: 'busy', message, reasons, retryAfterMs }
  return { kind: 'not-permitted', message, reasons }
}

export function approvalRequiredFault(approval: Approval, reasons: readonly Reason[]): Fault {
  const { id, binding, shown, expiresAtMs } = approval
  const expiresAt = new Date(expiresAtMs).toISOString()
  const why = reasons.map((reason) => reason.message).join(' ')
  return {
    kind: 'approval-required',
    message: `${why} They can do so until ${expiresAt}; then make the very same call again, with the same arguments.`,
    reasons,
    details: {
      approval_id: id,
      expires_at: expiresAt,
      how: `hearthbus approvals approve ${id}`,
      tool: binding.tool,
      target: binding.target ?? null,
      label: shown.label ?? null,
    },
  }
}

/** For a call whose caller left, or whose time was over, before anything was tried. */
export function withdrawnCallFault({ deadlineMs }: Pick<Call, 'deadlineMs'>, nowMs: number): Fault {
  return nowMs >= deadlineMs
    ? { kind: 'timed-out', message: 'The time was over before anything was tried.' }
    : { kind: 'cancelled', message: 'The call was withdrawn before anything was tried.' }
}

/** What a repeated key gets instead of a second act. */
export function repeatedKeyFault(standing: Exclude<IdempotencyKeyStatus, { readonly state: 'fresh' }>): Outcome {
  switch (standing.state) {
    case 'replay':
      return standing.outcome === undefined ? fail(answerNotKept()) : asReplay(standing.outcome)
    case 'in-flight':
      return fail(keyFault('busy', 'key-in-flight', 'The call with this idempotency key is still under way.'))
    case 'mismatch':
      return fail(
        keyFault(
          'conflict',
          'key-mismatch',
          'This idempotency key was used for another call. Take a new key; nothing was done.',
        ),
      )
    case 'full':
      return fail(keyFault('busy', 'key-store', 'No more idempotency keys can be kept now.'))
    default:
      return fail(
        keyFault(
          'unknown-outcome',
          'key-unknown',
          'The call with this idempotency key was begun, and nobody knows whether it took effect. Look before using another key.',
        ),
      )
  }
}

/** A caller that asked twice must not take one act for two. */
function asReplay(outcome: Outcome): Outcome {
  return outcome.ok ? ok({ ...outcome.value, replayed: true }) : fail({ ...outcome.fault, replayed: true })
}

function answerNotKept(): Fault {
  return keyFault('conflict', 'key-done', 'This call was carried out before; its answer was too long to keep.')
}

function keyFault(kind: Fault['kind'], rule: string, message: string): Fault {
  const fault: Fault = { kind, message, reasons: [{ rule, message }] }
  return kind === 'busy' ? { ...fault, retryAfterMs: 1_000 } : fault
}
