/**
 * Gate: what the contract asks of a change beside what is changed (spec 1: MUTATE, allow_dangerous, idempotency_key).
 * Whoever leaves one of them out has made a mistake and is told the whole call (docs/adr/0280).
 */
import type { PolicyReason } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { CallAssessment } from '../../bus/capability.ts'

export const NO_INTENT: PolicyReason = { rule: 'intent', message: 'A write needs intent: MUTATE.', argument: 'intent' }

/** Said in so many words it is the caller's own ban; left out it is a mistake. */
export const NOT_DANGEROUS: PolicyReason = { rule: 'allow-dangerous', message: 'MUTATE needs allow_dangerous: true.' }
export const NO_DANGEROUS: PolicyReason = { ...NOT_DANGEROUS, argument: 'allow_dangerous' }

export const NO_KEY: PolicyReason = {
  rule: 'idempotency-key',
  message:
    'MUTATE needs an idempotency_key: a new one for each change, the same one only to repeat a call whose answer was lost.',
  argument: 'idempotency_key',
}

/** What the guard is told of a change beside what is changed. */
export function createClaims({
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

/** The key is the name of the call that lacked it: nobody else has it, and the call that is printed acts once. */
export function completeEbusClaims({ intent, dangerous, key }: GivenClaims, traceId: string): JsonObject {
  return {
    ...(intent === null ? { intent: 'MUTATE' } : {}),
    ...(dangerous === null ? { allow_dangerous: true } : {}),
    ...(typeof key === 'string' && key.trim() !== '' ? {} : { idempotency_key: traceId }),
  }
}
