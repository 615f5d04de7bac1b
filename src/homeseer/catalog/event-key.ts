/**
 * Event key: how .NET writes lists in HomeSeer's event file, as objects with members `K0`, `K1`, …
 *
 * Pure.
 */
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { numberField } from '../wire/field.ts'

/** In the order of their numbers; `$type` and its like are not members. */
export function keyedMembers(group: JsonObject | undefined): readonly (readonly [string, JsonObject])[] {
  return Object.entries(group ?? {})
    .filter((entry): entry is [string, JsonObject] => keyNumber(entry[0]) !== undefined && isJsonObject(entry[1]))
    .sort(([left], [right]) => (keyNumber(left) ?? 0) - (keyNumber(right) ?? 0))
}

export function keyNumber(key: string): number | undefined {
  return /^K\d{1,12}$/.test(key) ? Number(key.slice(1)) : undefined
}

export function refField(record: JsonObject, name: string): number | undefined {
  const ref = numberField(record, name)
  return ref !== undefined && Number.isSafeInteger(ref) && ref > 0 ? ref : undefined
}
