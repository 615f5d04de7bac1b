/**
 * Refused params: params that another node said it cannot serve. Whether an instance serves what a caller asks for may
 * be decided by a function on its own node (spec 2 § 5.5): this node only learns of it when a call is refused.
 */
import type { Fault } from '../core/fault.ts'
import { canonicalJson } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import type { CapabilityEntry } from './capability-entry.ts'

/** Params change when a model is loaded or a document arrives: a refusal is only remembered for a minute. */
const REMEMBERED_MS = 60_000
const MAX_REMEMBERED = 64

export function rememberRefusedParams(
  entry: CapabilityEntry,
  fault: Fault,
  about: { body: JsonObject; nowMs: number },
): void {
  if (entry.isLocal || fault.kind !== 'not-found' || fault.details?.['reason'] !== 'params') return
  const refused = (entry.refusedParams ??= new Map())
  const key = paramsKey(about.body)
  refused.delete(key)
  refused.set(key, about.nowMs + REMEMBERED_MS)
  if (refused.size > MAX_REMEMBERED) refused.delete(refused.keys().next().value ?? key)
}

export function hasRefusedParams({ refusedParams }: CapabilityEntry, body: JsonObject, nowMs: number): boolean {
  return refusedParams !== undefined && (refusedParams.get(paramsKey(body)) ?? 0) > nowMs
}

function paramsKey(body: JsonObject): string {
  return canonicalJson(body['params'] ?? null)
}
