/**
 * Schema validate: stage 2. Only arguments that fit the offer's schema get further; what gets further is the parsed
 * form, with defaults filled in.
 *
 * Pure.
 */
import type { Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import { mistake } from './context.ts'
import type { Report, Stage } from './context.ts'

export type ValidateRequest = (offer: Offer, body: JsonObject) => Result<JsonObject, Fault>

export function schemaValidate(validateRequest: ValidateRequest, report: Report): Stage {
  return async (context, next) => {
    const { call, offer, refusal } = context
    if (offer === undefined || refusal !== undefined) return next(context)
    let accepted: Result<JsonObject, Fault>
    try {
      accepted = validateRequest(offer, call.body)
    } catch (error) {
      report(error, `the arguments of ${call.capability} could not be checked`)
      return next({ ...context, refusal: mistake(call) })
    }
    if (!accepted.ok) return next({ ...context, refusal: accepted.fault })
    return next({ ...context, call: { ...call, body: accepted.value } })
  }
}
