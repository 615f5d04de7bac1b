/**
 * Paging: a place in an ordered list, as an opaque word that a caller hands back.
 *
 *   base64url( ["tasks:1f0c9a…", 2, 41] )      the list and its filters, then the sort key of the last row seen
 *
 * The next page starts after that key, so rows that come or go in the meantime neither repeat nor hide another.
 *
 * Pure.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { base64url, fromBase64url, fromUtf8, utf8 } from '../core/bytes.ts'
import type { Fault } from '../core/fault.ts'
import { canonicalJson, jsonIn } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { badArgument } from './faults.ts'

/** What a model can read at once; of records with long texts fewer fit, and their lists cut by size as well. */
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
  // Ours have fewer than a hundred characters; the bound keeps anybody from having megabytes decoded.
  .max(512)
  .exactOptional()
  .describe('`next_cursor` of the page before, with the same filters.')

/** Names a list together with its filters: a cursor of one list says nothing about another. */
export function listScope(list: string, filters: unknown): string {
  // 64 bits: enough to notice a mistake. A cursor is no secret and grants nothing that its list would not.
  return `${list}:${hash('sha256', canonicalJson(filters)).slice(0, 16)}`
}

export function encodeCursor(scope: string, key: readonly number[]): string {
  return base64url(utf8(JSON.stringify([scope, ...key])))
}

/** The sort key to continue after, `undefined` for the first page. */
export function decodeCursor<Key extends readonly number[]>(
  cursor: string | undefined,
  scope: string,
  length: Key['length'],
): Result<Key | undefined, Fault> {
  if (cursor === undefined) return ok(undefined)
  // Whatever stands in it came from outside: it is only ever compared with, never put into SQL as text.
  const [owner, ...key] = parse(cursor)
  if (key.length !== length || !key.every((part) => Number.isSafeInteger(part)))
    return fail(badArgument('cursor', 'is not a cursor of this server'))
  if (owner !== scope) return fail(badArgument('cursor', 'belongs to another list or to other filters'))
  return ok(key as unknown as Key)
}

/** One more row than the page tells whether there is a next page. */
export function page<Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (last: Row) => string,
): { readonly rows: readonly Row[]; readonly next_cursor?: string } {
  const last = rows[limit - 1]
  if (rows.length <= limit || last === undefined) return { rows }
  return { rows: rows.slice(0, limit), next_cursor: cursorOf(last) }
}

function parse(cursor: string): readonly unknown[] {
  const bytes = fromBase64url(cursor)
  const value: unknown = jsonIn(bytes && fromUtf8(bytes))
  return Array.isArray(value) ? value : []
}
