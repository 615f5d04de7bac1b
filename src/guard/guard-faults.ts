/** Guard faults: decisions as faults for the caller. Families format them in their own envelopes. */
import type { Call, Outcome } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { Fault, PolicyReason } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import type { Approval } from './approval.ts'
import type { IdempotencyKeyStatus } from './idempotency-key-store.ts'
import type { PolicyDecision } from './policy.ts'

export function createPolicyDenialFault({
  reasons,
  retryAfterMs,
}: PolicyDecision & { readonly verdict: 'deny' }): Fault {
  const message = reasons.map((reason) => reason.message).join(' ')
  if (retryAfterMs !== undefined) return { kind: 'busy', message, reasons, retryAfterMs }
  const issues = reasons.flatMap(({ argument, message: text }) =>
    argument === undefined ? [] : [{ path: [argument], message: text, code: 'missing' }],
  )
  if (issues.length === 0) return { kind: 'not-permitted', message, reasons }
  // Left-out claims alone are the caller's mistake. Beside a ban they are reported as well, so that the caller learns
  // everything at once.
  const kind = issues.length === reasons.length ? 'invalid-arguments' : 'not-permitted'
  return { kind, message, reasons, details: { issues } }
}

/** Text with half a surrogate pair has no canonical form that an approval could be bound to. */
export const NOT_UNICODE_FAULT: Fault = {
  kind: 'invalid-arguments',
  message: 'The arguments hold text that is not valid Unicode.',
}

/** Refused by one rule. */
export function createRuleRefusalFault(rule: string, message: string): Fault {
  return { kind: 'not-permitted', message, reasons: [{ rule, message }] }
}

/** Whether a call was refused only because its caller left out claims. */
export function isMissingOnlyConfirmationArguments({ kind, reasons = [] }: Fault): boolean {
  return kind === 'invalid-arguments' && reasons.length > 0 && reasons.every(({ argument }) => argument !== undefined)
}

/** The call with its missing claims filled in, where it lacks nothing else (see `ConfirmationArgumentCompleter`). */
export function fillInConfirmationArguments(
  { name, accept, completeClaims }: Offer,
  { body, traceId }: Pick<Call, 'body' | 'traceId'>,
): { readonly tool: string; readonly arguments: JsonObject } | undefined {
  if (completeClaims === undefined || accept === undefined) return undefined
  // A null argument counts as not given.
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
  const claims = completeClaims(given, { traceId })
  const completed = { ...given, ...claims }
  return Object.keys(claims).length > 0 && accept(completed).ok ? { tool: name, arguments: completed } : undefined
}

export function createApprovalRequiredFault(approval: Approval, reasons: readonly PolicyReason[]): Fault {
  const { id, binding, shown, expiresAtMs } = approval
  const expiresAt = formatIsoTime(expiresAtMs)
  const why = reasons.map((reason) => reason.message).join(' ')
  return {
    kind: 'approval-required',
    message: `${why} They can do so until ${expiresAt}; then make the very same call again, with the same arguments.`,
    reasons,
    details: {
      approval_id: id,
      approval: { id, state: 'requested', expires_at: expiresAt, resource: formatApprovalResourceUri(id) },
      expires_at: expiresAt,
      how: `hearthbus approvals approve ${id}`,
      tool: binding.tool,
      target: binding.target ?? null,
      label: shown.label ?? null,
    },
  }
}

/** The URI of the resource at which clients can watch a request. */
export function formatApprovalResourceUri(id: string): string {
  return `hearthbus://approvals/${id}`
}

/** The fault for a call whose caller had gone, or whose deadline had passed, before anything was tried. */
export function createCancelledCallFault({ deadlineMs }: Pick<Call, 'deadlineMs'>, nowMs: number): Fault {
  return nowMs >= deadlineMs
    ? { kind: 'timed-out', message: 'The deadline passed before anything was tried.' }
    : { kind: 'cancelled', message: 'The call was withdrawn before anything was tried.' }
}

/** Returns the outcome of the first call with the same key, instead of acting a second time. */
export function createRepeatedKeyOutcome(
  standing: Exclude<IdempotencyKeyStatus, { readonly state: 'fresh' }>,
): Outcome {
  switch (standing.state) {
    case 'replay':
      return standing.outcome === undefined ? fail(createAnswerTooLongFault()) : asReplay(standing.outcome)
    case 'answer-lost':
      // Not even whether the call succeeded is known: the answer may have been a fault.
      return fail(
        keyFault(
          'conflict',
          'key-answer-lost',
          'The call with this idempotency key was answered before, and its answer was erased or altered in the records. Nothing was done now. Check the state before using another key.',
        ),
      )
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
          'The call with this idempotency key was begun, and nobody knows whether it took effect. Check the state before using another key.',
        ),
      )
  }
}

/** Marks the outcome as a repetition, so that a caller that asked twice does not take one act for two. */
function asReplay(outcome: Outcome): Outcome {
  return outcome.ok ? ok({ ...outcome.value, replayed: true }) : fail({ ...outcome.fault, replayed: true })
}

function createAnswerTooLongFault(): Fault {
  return keyFault('conflict', 'key-done', 'This call was carried out before; its answer was too long to keep.')
}

function keyFault(kind: Fault['kind'], rule: string, message: string): Fault {
  const fault: Fault = { kind, message, reasons: [{ rule, message }] }
  return kind === 'busy' ? { ...fault, retryAfterMs: 1_000 } : fault
}
