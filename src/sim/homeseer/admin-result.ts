/**
 * Admin result: what an operation of the admin adapter answers.
 */
import type { JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { AdminAdapterErrorCode } from '../../homeseer/wire/admin-adapter.ts'
import type { SimulatedWorld } from './simulated-world.ts'

interface Refusal {
  readonly code: AdminAdapterErrorCode
  readonly message: string
}

export type SimulatedAdminResult = Result<JsonObject, Refusal>
/** Refuses before it changes anything. */
type Operation = (world: SimulatedWorld, args: JsonObject, nowMs: number) => SimulatedAdminResult
export type SimulatedAdminOperations = Readonly<Record<string, Operation>>

/** Every write says what it found and what it left; `null` where there was or is nothing. */
export function createChangedResult(before: object | null, after: object | null): SimulatedAdminResult {
  // Spread, because an interface of plain members is JSON only to a reader.
  return ok({ before: before === null ? null : { ...before }, after: after === null ? null : { ...after } })
}

export function createRefusedResult(code: AdminAdapterErrorCode, message: string): SimulatedAdminResult {
  return fail({ code, message })
}
