/**
 * Admin result: the answers of the admin adapter's operations.
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

/** Every write returns the state before and after; `null` where there is none. */
export function createBeforeAfterResult(before: object | undefined, after: object | undefined): SimulatedAdminResult {
  // Spread, because an interface of plain members is JSON only to a reader.
  return ok({ before: before === undefined ? null : { ...before }, after: after === undefined ? null : { ...after } })
}

/** The list with one item replaced, or removed if there is no replacement. */
export function replaceOrRemoveItem<Item>(
  items: readonly Item[],
  before: Item,
  after: Item | undefined,
): readonly Item[] {
  return items.flatMap((one) => (one === before ? (after ?? []) : one))
}

export function createRefusedResult(code: AdminAdapterErrorCode, message: string): SimulatedAdminResult {
  return fail({ code, message })
}
