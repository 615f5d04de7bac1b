/** Paging: the arguments for paging through a long list, and the page that is returned. */
import { z } from 'zod'
import type { Fault } from '../core/fault.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { decodeCursor, MAX_CURSOR_CHARACTERS } from '../toolbox/cursor.ts'
import { createRuntimeArgumentFault } from './faults.ts'

/** As much as a model can read at once; lists of records with long texts are also limited by size. */
const MAX_PAGE = 200
const DEFAULT_PAGE = 50

export const limitArgument = z
  .int()
  .min(1)
  .max(MAX_PAGE)
  .default(DEFAULT_PAGE)
  .describe(`How many at most, 1 to ${MAX_PAGE}; ${DEFAULT_PAGE} unless told.`)

export const cursorArgument = z
  .string()
  .min(1)
  .max(MAX_CURSOR_CHARACTERS)
  .exactOptional()
  .describe('`next_cursor` of the page before, with the same filters.')

/** The sort key to continue after, `undefined` for the first page. */
export function readCursor<Key extends readonly number[]>(
  cursor: string | undefined,
  scope: string,
  length: Key['length'],
): Result<Key | undefined, Fault> {
  const key = decodeCursor<Key>(cursor, scope, length)
  return key.ok ? key : fail(createRuntimeArgumentFault('cursor', key.fault))
}

/** How many of these rows with long texts fit on a page; at least one, so that paging makes progress. */
export function countFittingRows<Row>(
  rows: readonly Row[],
  { limit, maxCharacters }: { readonly limit: number; readonly maxCharacters: number },
  lengthOf: (row: Row) => number,
): number {
  let characters = 0
  const tooMuch = rows.findIndex((row) => (characters += lengthOf(row)) > maxCharacters)
  return tooMuch === -1 ? limit : Math.max(1, Math.min(limit, tooMuch))
}

/** One row more than the page shows whether there is a next page. */
export function cutPage<Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (last: Row) => string,
): { readonly rows: readonly Row[]; readonly next_cursor?: string } {
  const last = rows[limit - 1]
  if (rows.length <= limit || last === undefined) return { rows }
  return { rows: rows.slice(0, limit), next_cursor: cursorOf(last) }
}
