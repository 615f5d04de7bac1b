/**
 * Times: when what a tool answered was true.
 *
 * Pure, but for the clock where an answer says nothing.
 */
import { gatewayMs } from './clock.ts'
import { stringAt } from './json.ts'
import type { Json } from './json.ts'

export interface Times {
  /** Where the family says so; as a whole an answer is as old as the oldest part of it. */
  readonly atMs: number
  /** Of one field, by its path; of the whole where nothing is said about that field. */
  readonly fieldAtMs: (path: string) => number
}

export function timesOf(structured: Json): Times {
  const parsed = (...path: readonly string[]): number | undefined => {
    const ms = Date.parse(stringAt(structured, 'meta', ...path) ?? '')
    return Number.isFinite(ms) ? ms : undefined
  }
  // When it was measured counts; when it was put together comes second.
  const atMs = parsed('freshness', 'observed_at') ?? parsed('data_timestamp') ?? gatewayMs()
  return { atMs, fieldAtMs: (path) => parsed('freshness', 'fields', path, 'observed_at') ?? atMs }
}
