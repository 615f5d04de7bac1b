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
import { mistake } from './stage.ts'
import type { Report, Stage } from './stage.ts'

export type ValidateRequest = (offer: Offer, body: JsonObject) => Result<JsonObject, Fault>

export function schemaValidate(validateRequest: ValidateRequest, report: Report): Stage {
  return async (passage, next) => {
    const { call, offer, refusal } = passage
    if (offer === undefined || refusal !== undefined) return next(passage)
    let accepted: Result<JsonObject, Fault>
    try {
      accepted = validateRequest(offer, call.body)
    } catch (error) {
      report(error, `the arguments of ${call.capability} could not be checked`)
      return next({ ...passage, refusal: mistake(call) })
    }
    if (!accepted.ok) return next({ ...passage, refusal: accepted.fault })
    return next({ ...passage, call: { ...call, body: accepted.value } })
  }
}
