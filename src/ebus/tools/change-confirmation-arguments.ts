/**
 * Change confirmation arguments: what the contract asks of a change beside what is changed (spec 1: MUTATE,
 * allow_dangerous, idempotency_key). Whoever leaves one of them out has made a mistake and is told the whole call
 * (docs/adr/0280).
 */
import type { PolicyReason } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { CallAssessment } from '../../bus/capability.ts'

export const MISSING_INTENT_REASON: PolicyReason = {
  rule: 'intent',
  message: 'A write needs intent: MUTATE.',
  argument: 'intent',
}

/** An explicit false is the caller's own refusal; a missing argument is a mistake. */
export const DANGEROUS_NOT_ALLOWED_REASON: PolicyReason = {
  rule: 'allow-dangerous',
  message: 'MUTATE needs allow_dangerous: true.',
}
export const MISSING_ALLOW_DANGEROUS_REASON: PolicyReason = {
  ...DANGEROUS_NOT_ALLOWED_REASON,
  argument: 'allow_dangerous',
}

export const MISSING_IDEMPOTENCY_KEY_REASON: PolicyReason = {
  rule: 'idempotency-key',
  message:
    'MUTATE needs an idempotency_key: a new one for each change, the same one only to repeat a call whose answer was lost.',
  argument: 'idempotency_key',
}

/** The gate's arguments, for the guard. */
export function toAssessmentConfirmation({
  dryRun,
  idempotency_key: key,
}: {
  readonly dryRun?: boolean
  readonly idempotency_key?: string
}): Pick<CallAssessment, 'dryRun' | 'idempotencyKey'> {
  return { ...(dryRun === undefined ? {} : { dryRun }), ...(key === undefined ? {} : { idempotencyKey: key }) }
}

interface GivenClaims {
  readonly intent: Json
  readonly dangerous: Json
  readonly key: Json
}

/**
 * The suggested key is derived from the trace of the incomplete call, so no other call has it, and the suggested call
 * acts once.
 */
export function suggestMissingConfirmationArguments(
  { intent, dangerous, key }: GivenClaims,
  traceId: string,
): JsonObject {
  return {
    ...(intent === null ? { intent: 'MUTATE' } : {}),
    ...(dangerous === null ? { allow_dangerous: true } : {}),
    ...(typeof key === 'string' && key.trim() !== '' ? {} : { idempotency_key: traceId }),
  }
}
