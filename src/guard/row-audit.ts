/**
 * Row audit: what the audits of the guard's tables have in common: until when a row has to be there, and how columns
 * are held against entries. What they look for is a permission in the tables that nobody gave.
 *
 * Pure.
 */
import { canonicalJson } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import type { Told } from '../ledger/row-audit.ts'

export interface ToldForAWhile extends Told {
  /** Until when the row has to be there: what is over is not kept for ever. */
  readonly keptUntilMs: number
}

/** What an entry does not say, because it is older than that field, contradicts nothing. */
export function agrees(said: Json | undefined, kept: Json | undefined): boolean {
  return said === undefined || isSame(said, kept)
}

/** `null` and what is not there are the same: a column has no other way to say so. */
export function isSame(said: Json | undefined, kept: Json | undefined): boolean {
  return canonicalJson(said ?? null) === canonicalJson(kept ?? null)
}

/** The JSON that a column holds; `undefined` for none, and for what nobody of ours wrote. */
export function parsed(column: unknown): Json | undefined {
  if (typeof column !== 'string') return undefined
  try {
    const value = JSON.parse(column) as Json
    // What has no canonical form could not be compared.
    canonicalJson(value)
    return value
  } catch {
    return undefined
  }
}

/** A time of an entry as a column has it. */
export function millis(time: Json | undefined): number | undefined {
  return typeof time === 'string' ? Date.parse(time) : undefined
}
