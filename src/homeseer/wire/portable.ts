/**
 * Portable: a stranger's JSON as everybody behind us can carry it.
 *
 * `JSON.parse` takes what nobody can write out again: numbers that become Infinity, nesting that overflows the stack of
 * whoever writes it, a key `__proto__`. One such member of one device would be in the way of the whole list that shows
 * its record, so what cannot be carried is read as `null`.
 *
 * Pure.
 */
import { isJsonObject, type Json } from '../../core/json.ts'

/** HomeSeer's events nest to about ten. */
const MAX_DEPTH = 24

/** The very same value where all of it can be carried, which is nearly always. */
export function portable(value: Json, left = MAX_DEPTH): Json {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'object' || value === null) return value
  if (left === 0) return null
  if (isJsonObject(value)) {
    const members = Object.entries(value)
    const carried = members
      .filter(([name]) => name !== '__proto__')
      .map(([name, member]) => [name, portable(member, left - 1)] as const)
    const isSame = carried.length === members.length && carried.every(([, member], at) => member === members[at]?.[1])
    return isSame ? value : Object.fromEntries(carried)
  }
  const carried = value.map((member) => portable(member, left - 1))
  return carried.every((member, at) => member === value[at]) ? value : carried
}
