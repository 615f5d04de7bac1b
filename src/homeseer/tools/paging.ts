/**
 * Paging: a place in a list ordered by number, as an opaque word that a caller hands back.
 *
 *   base64url( ["devices:1f0c9a…", 412] )     the list with its filters, then the last number seen
 *
 * The next page starts behind that number, so that what comes or goes meanwhile neither repeats nor hides anything.
 *
 * Pure.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { base64url, fromBase64url, fromUtf8, utf8 } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import { canonicalJson, jsonIn } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { badArgument } from './faults.ts'

export const cursorArgument = z
  .string()
  .min(1)
  .max(200)
  .exactOptional()
  .describe('`nextCursor` of the page before, with the same filters; goes before `offset`.')

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly offset: number
  readonly nextCursor: string | null
}

interface Asked {
  readonly list: string
  readonly filters: unknown
  readonly limit: number
  readonly offset: number
  readonly cursor?: string | undefined
}

/** `items` are in the order of their numbers. */
export function pageOf<Item>(
  items: readonly Item[],
  numberOf: (item: Item) => number,
  asked: Asked,
): Result<Page<Item>, Fault> {
  const scope = scopeOf(asked.list, asked.filters)
  const start = startOf(items, numberOf, { ...asked, scope })
  if (!start.ok) return start
  const offset = start.value
  const found = items.slice(offset, offset + asked.limit)
  const last = found.at(-1)
  const more = last !== undefined && offset + found.length < items.length
  return ok({ items: found, offset, nextCursor: more ? encodeCursor(scope, numberOf(last)) : null })
}

function startOf<Item>(
  items: readonly Item[],
  numberOf: (item: Item) => number,
  { cursor, scope, offset }: Asked & { readonly scope: string },
): Result<number, Fault> {
  if (cursor === undefined) return ok(offset)
  const after = numberIn(cursor, scope)
  if (!after.ok) return after
  // Behind the number, not at a position: devices that came or went meanwhile shift nothing.
  const next = items.findIndex((item) => numberOf(item) > after.value)
  return ok(next < 0 ? items.length : next)
}

/** A cursor belongs to its list and filters. 64 bits are enough to notice a mistake; it is no secret. */
export function scopeOf(list: string, filters: unknown): string {
  return `${list}:${hash('sha256', canonicalJson(filters)).slice(0, 16)}`
}

/** The last number seen. */
export function numberIn(cursor: string, scope: string): Result<number, Fault> {
  const [owner, number] = decodeCursor(cursor)
  if (typeof number !== 'number') return fail(badArgument('cursor', 'is no cursor of this server'))
  if (owner !== scope) return fail(badArgument('cursor', 'belongs to another list or to other filters'))
  return ok(number)
}

export function encodeCursor(scope: string, number: number): string {
  return base64url(utf8(JSON.stringify([scope, number])))
}

function decodeCursor(cursor: string): readonly unknown[] {
  const bytes = fromBase64url(cursor)
  const value: unknown = jsonIn(bytes && fromUtf8(bytes))
  return Array.isArray(value) ? value : []
}
