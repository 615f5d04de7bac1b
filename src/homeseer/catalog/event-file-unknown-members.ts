/**
 * Unknown members of event files: whether every member of a record in HomeSeer's event file is known. HomeSeer does
 * not document them, and newer versions add some; an unknown member may contain a further action.
 *
 * An empty member has no effect: null, false, zero, an empty text or list.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'

/** Members that .NET adds by itself. */
const MARKS: ReadonlySet<string> = new Set(['$type', '$id'])

/** Names of members that have content and are not known here. */
export function listUnknownMembers(record: JsonObject, known: ReadonlySet<string>): readonly string[] {
  return Object.entries(record)
    .filter(([name, value]) => !known.has(name) && !MARKS.has(name) && !isEmpty(value))
    .map(([name]) => name)
}

/**
 * Whether a member is a flag, which is true or false. A member with a flag's name and other content may be an action.
 */
export function isFlagMember(name: string, value: Json | undefined): boolean {
  return (
    /^flag_?/i.test(name) &&
    (value === true || value === 1 || (typeof value === 'string' && /^(true|false)$/i.test(value)))
  )
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return true
  if (Array.isArray(value)) return value.every(isEmpty)
  if (!isJsonObject(value)) return false
  return Object.entries(value).every(([name, member]) => name === '$type' || name === '$id' || isEmpty(member))
}

/** Whole numbers anywhere inside that could be a device's ref or an event's id. */
export function collectPossibleIds(value: Json | undefined, found: Set<number> = new Set()): ReadonlySet<number> {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) found.add(value)
  if (typeof value === 'string') for (const [digits] of value.matchAll(/\d{1,12}/g)) found.add(Number(digits))
  if (Array.isArray(value)) for (const item of value as readonly Json[]) collectPossibleIds(item, found)
  if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) {
      const key = /^K(\d{1,12})$/.exec(name)?.[1]
      if (key !== undefined) found.add(Number(key))
      if (name !== '$type') collectPossibleIds(member, found)
    }
  return found
}
