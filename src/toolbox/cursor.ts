/**
 * Cursor: a position in an ordered list, as an opaque text that a caller sends back.
 *
 *   base64url( ["tasks:1f0c9a…", 2, 41] )      the list and its filters, then the sort key of the last row seen
 *
 * The next page starts after that key, so rows that come or go in the meantime neither repeat nor hide another.
 */
import { hash } from 'node:crypto'
import { toBase64url, fromBase64url, fromUtf8, toUtf8 } from '../core/bytes.ts'
import { canonicalJson, parseJsonOrUndefined } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'

/** Ours have fewer than a hundred characters; the limit keeps a caller from having megabytes decoded. */
export const MAX_CURSOR_CHARACTERS = 512

/** Identifies a list together with its filters: a cursor of one list is not valid for another. */
export function formatCursorScope(list: string, filters: unknown): string {
  // 64 bits are enough to detect a mistake. A cursor is not a secret and grants nothing that its list would not.
  return `${list}:${hash('sha256', canonicalJson(filters)).slice(0, 16)}`
}

export function encodeCursor(scope: string, key: readonly number[]): string {
  return toBase64url(toUtf8(JSON.stringify([scope, ...key])))
}

/** The sort key to continue after, `undefined` for the first page; the fault is a sentence about the argument. */
export function decodeCursor<Key extends readonly number[]>(
  cursor: string | undefined,
  scope: string,
  length: Key['length'],
): Result<Key | undefined, string> {
  if (cursor === undefined) return ok(undefined)
  // Its content is untrusted: it is only compared with, never put into SQL as text.
  const [owner, ...key] = parseCursor(cursor)
  if (key.length !== length || !key.every((part) => Number.isSafeInteger(part)))
    return fail('is not a cursor of this server')
  if (owner !== scope) return fail('belongs to another list or to other filters')
  return ok(key as unknown as Key)
}

function parseCursor(cursor: string): readonly unknown[] {
  const bytes = fromBase64url(cursor)
  const value: unknown = parseJsonOrUndefined(bytes && fromUtf8(bytes))
  return Array.isArray(value) ? value : []
}
