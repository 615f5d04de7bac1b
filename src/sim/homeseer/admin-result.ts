/**
 * Admin result: what an operation of the admin adapter answers.
 */
import type { JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { AdapterCode } from '../../homeseer/wire/admin-adapter.ts'
import type { SimulatedWorld } from './world.ts'

interface Refusal {
  readonly code: AdapterCode
  readonly message: string
}

export type OperationResult = Result<JsonObject, Refusal>
/** Refuses before it changes anything. */
type Operation = (world: SimulatedWorld, args: JsonObject, nowMs: number) => OperationResult
export type Operations = Readonly<Record<string, Operation>>

/** Every write says what it found and what it left; `null` where there was or is nothing. */
export function changedResult(before: object | null, after: object | null): OperationResult {
  // Spread, because an interface of plain members is JSON only to a reader.
  return ok({ before: before === null ? null : { ...before }, after: after === null ? null : { ...after } })
}

export function refusedResult(code: AdapterCode, message: string): OperationResult {
  return fail({ code, message })
}
