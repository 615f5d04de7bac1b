/**
 * Projection log: the ledger as used by a module that decides from its own records: it appends, its state follows, and
 * it reads bodies again when it shows them.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { LedgerEvent } from './entry.ts'
import type { BodyState } from './ledger-reader.ts'
import type { ProjectionSet } from './projection.ts'

/** Call `appendIn` inside a work given to `Database.commit`. */
export interface ProjectionLogWriter {
  readonly appendIn: (event: LedgerEvent, body?: Json) => { readonly seq: number }
  readonly body: (seq: number) => BodyState
  readonly projections: ProjectionSet
}

/** The fields of an entry's body; `undefined` when it was erased, or is not the one that the entry commits to. */
export function readEntryBodyFields(
  log: Pick<ProjectionLogWriter, 'body'>,
  seq: number | undefined,
): JsonObject | undefined {
  const state = seq === undefined ? undefined : log.body(seq)
  return state?.kind === 'kept' && isJsonObject(state.body) ? state.body : undefined
}

/** Shown in place of a text that was erased. */
export const ERASED_PLACEHOLDER = '[erased]'

export function readErasableText(words: JsonObject | undefined, field: string): string {
  const text = words?.[field]
  return typeof text === 'string' ? text : ERASED_PLACEHOLDER
}

/** A time as entries format it. */
export function formatEntryTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
