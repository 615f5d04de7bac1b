/**
 * Paging: pages of a list that is ordered by number, with a cursor or an offset.
 */
import { z } from 'zod'
import type { Fault } from '../../core/fault.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { formatCursorScope, decodeCursor, encodeCursor } from '../../toolbox/cursor.ts'
import { createHomeseerArgumentFault } from './faults.ts'

export const pageCursorArgument = z
  .string()
  .min(1)
  .max(200)
  .exactOptional()
  .describe('`nextCursor` of the page before, with the same filters; goes before `offset`.')

export interface OffsetPage<Item> {
  readonly items: readonly Item[]
  readonly offset: number
  readonly nextCursor: string | null
}

interface PageRequest {
  readonly list: string
  readonly filters: unknown
  readonly limit: number
  readonly offset: number
  readonly cursor?: string | undefined
}

/** `items` are in the order of their numbers. */
export function cutPageByItemNumber<Item>(
  items: readonly Item[],
  numberOf: (item: Item) => number,
  request: PageRequest,
): Result<OffsetPage<Item>, Fault> {
  const scope = formatCursorScope(request.list, request.filters)
  const start = startOf(items, numberOf, { ...request, scope })
  if (!start.ok) return start
  const offset = start.value
  const found = items.slice(offset, offset + request.limit)
  const last = found.at(-1)
  const more = last !== undefined && offset + found.length < items.length
  return ok({ items: found, offset, nextCursor: more ? encodeCursor(scope, [numberOf(last)]) : null })
}

function startOf<Item>(
  items: readonly Item[],
  numberOf: (item: Item) => number,
  { cursor, scope, offset }: PageRequest & { readonly scope: string },
): Result<number, Fault> {
  if (cursor === undefined) return ok(offset)
  const after = decodeNumberCursor(cursor, scope)
  if (!after.ok) return after
  // The page begins after the number, not at a position, so that devices that come or go do not shift it.
  const next = items.findIndex((item) => numberOf(item) > after.value)
  return ok(next < 0 ? items.length : next)
}

/** The last number seen. */
export function decodeNumberCursor(cursor: string, scope: string): Result<number, Fault> {
  const key = decodeCursor<readonly [number]>(cursor, scope, 1)
  return key.ok ? ok(key.value?.[0] ?? 0) : fail(createHomeseerArgumentFault('cursor', key.fault))
}
