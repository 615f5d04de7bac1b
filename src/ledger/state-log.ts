/**
 * State log: the ledger as a module needs it that decides from what it recorded: it appends, its state follows, and it
 * reads the words again when it shows them.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { LedgerEvent } from './entry.ts'
import type { BodyState } from './ledger.ts'
import type { ProjectionSet } from './projection.ts'

/** `appendIn` belongs inside a work given to `Database.commit`. */
export interface ProjectionLog {
  readonly appendIn: (event: LedgerEvent, body?: Json) => { readonly seq: number }
  readonly body: (seq: number) => BodyState
  readonly projections: ProjectionSet
}

/** The words of an entry; `undefined` when they were erased, or are not those that the entry commits to. */
export function readEntryWords(log: Pick<ProjectionLog, 'body'>, seq: number | undefined): JsonObject | undefined {
  const state = seq === undefined ? undefined : log.body(seq)
  return state?.kind === 'kept' && isJsonObject(state.body) ? state.body : undefined
}

/** What is shown in the place of words that were erased. */
export const ERASED = '[erased]'

export function readErasableText(words: JsonObject | undefined, field: string): string {
  const text = words?.[field]
  return typeof text === 'string' ? text : ERASED
}

/** A time as entries spell it. */
export function formatEntryTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
