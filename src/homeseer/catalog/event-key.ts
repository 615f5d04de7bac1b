/**
 * Event key: how .NET writes lists in HomeSeer's event file, as objects with members `K0`, `K1`, …
 */
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { readRecordNumber } from '../wire/field.ts'

/** In the order of their numbers; `$type` and its like are not members. */
export function listKeyedMembers(group: JsonObject | undefined): readonly (readonly [string, JsonObject])[] {
  return Object.entries(group ?? {})
    .filter((entry): entry is [string, JsonObject] => parseKeyNumber(entry[0]) !== undefined && isJsonObject(entry[1]))
    .sort(([left], [right]) => (parseKeyNumber(left) ?? 0) - (parseKeyNumber(right) ?? 0))
}

export function parseKeyNumber(key: string): number | undefined {
  return /^K\d{1,12}$/.test(key) ? Number(key.slice(1)) : undefined
}

export function readRefField(record: JsonObject, name: string): number | undefined {
  const ref = readRecordNumber(record, name)
  return ref !== undefined && Number.isSafeInteger(ref) && ref > 0 ? ref : undefined
}
