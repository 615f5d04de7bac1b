/**
 * Event file keys: .NET writes lists in HomeSeer's event file as objects with members `K0`, `K1`, …
 */
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { readRecordNumber } from '../wire/record-field.ts'

/** The members in the order of their numbers; `$type` and similar names are left out. */
export function listNumberedMembers(group: JsonObject | undefined): readonly (readonly [string, JsonObject])[] {
  return Object.entries(group ?? {})
    .filter(
      (entry): entry is [string, JsonObject] => parseMemberNumber(entry[0]) !== undefined && isJsonObject(entry[1]),
    )
    .sort(([left], [right]) => (parseMemberNumber(left) ?? 0) - (parseMemberNumber(right) ?? 0))
}

export function parseMemberNumber(key: string): number | undefined {
  return /^K\d{1,12}$/.test(key) ? Number(key.slice(1)) : undefined
}

export function readDeviceRefField(record: JsonObject, name: string): number | undefined {
  const ref = readRecordNumber(record, name)
  return ref !== undefined && Number.isSafeInteger(ref) && ref > 0 ? ref : undefined
}
