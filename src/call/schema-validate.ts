/**
 * Schema validate: stage 2. Only arguments that fit the offer's schema get further; what gets further is the parsed
 * form, with defaults filled in.
 *
 * Pure.
 */
import type { Issue, Offer } from '../bus/capability.ts'
import type { JsonObject } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import type { Fault } from '../core/fault.ts'
import type { Stage } from './stage.ts'

export type ValidateRequest = (offer: Offer, body: JsonObject) => Result<JsonObject, readonly Issue[]>

const MAX_ISSUES = 20

export function schemaValidate(validateRequest: ValidateRequest): Stage {
  return async (passage, next) => {
    const { call, offer, refusal } = passage
    if (offer === undefined || refusal !== undefined) return next(passage)
    const accepted = validateRequest(offer, call.body)
    if (!accepted.ok) return next({ ...passage, refusal: toFault(call.capability, accepted.fault) })
    return next({ ...passage, call: { ...call, body: accepted.value } })
  }
}

function toFault(name: string, issues: readonly Issue[]): Fault {
  const shown = issues.slice(0, MAX_ISSUES)
  const sentences = shown.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
  return {
    kind: 'invalid-arguments',
    message: `The arguments of ${name} do not fit: ${sentences.join('; ')}`,
    details: { issues: shown.map(({ path, message, code }) => ({ path: [...path], message, code })) },
  }
}
