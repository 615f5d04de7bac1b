/**
 * Record field: reads one member of an untrusted object. HomeSeer writes lower snake case; older code and the fakes of
 * other clients write PascalCase. So each reader is given the names it accepts, the real one first.
 *
 * A member of the wrong type reads as absent: one odd device must not hide two thousand good ones.
 *
 *   /Date(1613971427719-0500)/   HS4: milliseconds since 1970 in UTC; the zone is only how the owner would read it
 *   /Date(1410193983884)/        HS3
 *   /Date(-62135596800000)/      never
 *
 * `JSON.parse` accepts values that cannot be serialised again: numbers that become Infinity, nesting that overflows the
 * stack, a key `__proto__`. One such member of one device would make the whole list unusable, so such a value is read
 * as `null`.
 */
import { isJsonObject } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'

export function readRecordField(record: JsonObject, ...names: readonly string[]): Json | undefined {
  for (const name of names) if (Object.hasOwn(record, name)) return record[name]
  return undefined
}

export function readRecordText(record: JsonObject, ...names: readonly string[]): string | undefined {
  const value = readRecordField(record, ...names)
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : undefined
}

/** The limit for names, which are longer than any real one; a longer name would fill every list. */
const MAX_NAME = 512
/** The limit for status texts: some plug-ins show a small page. */
const MAX_STATUS = 4_096
/** The limit for any other text of a record: longer than a note or a script in an event. */
const MAX_TEXT = 65_536

export function readRecordNameOrEmpty(record: JsonObject, ...names: readonly string[]): string {
  return cut(readRecordText(record, ...names) ?? '', MAX_NAME)
}

export function readRecordStatusText(record: JsonObject, ...names: readonly string[]): string {
  return cut(readRecordText(record, ...names) ?? '', MAX_STATUS)
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`
}

/** Also takes numbers in quotes, which some replies use; `''` and `'None'` are not numbers. */
export function readRecordNumber(record: JsonObject, ...names: readonly string[]): number | undefined {
  return toNumber(readRecordField(record, ...names))
}

export function readRecordBoolean(record: JsonObject, ...names: readonly string[]): boolean | undefined {
  const value = readRecordField(record, ...names)
  if (typeof value === 'boolean') return value
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true'
  return undefined
}

export function readRecordObject(record: JsonObject, ...names: readonly string[]): JsonObject | undefined {
  const value = readRecordField(record, ...names)
  return isJsonObject(value) ? value : undefined
}

/** The objects of a list; other members are left out. */
export function readRecordObjects(record: JsonObject, ...names: readonly string[]): readonly JsonObject[] | undefined {
  const value = readRecordField(record, ...names)
  return Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : undefined
}

export function readRecordNumbers(record: JsonObject, ...names: readonly string[]): readonly number[] {
  const value = readRecordField(record, ...names)
  const items = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? (value as readonly Json[]) : []
  return items.map(toNumber).filter((item) => item !== undefined)
}

export function readRecordTexts(record: JsonObject, ...names: readonly string[]): readonly string[] {
  const value = readRecordField(record, ...names)
  return Array.isArray(value) ? (value as readonly Json[]).filter((item) => typeof item === 'string') : []
}

function toNumber(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

const WIRE_DATE = /^\/Date\((-?\d{1,16})([+-]\d{4})?\)\/$/
const NEVER_MS = -62_135_596_800_000

/** Milliseconds since 1970, or `undefined` for never and for an invalid date. */
export function decodeWireDate(text: string | undefined): number | undefined {
  const digits = WIRE_DATE.exec(text ?? '')?.[1]
  const ms = digits === undefined ? NEVER_MS : Number(digits)
  // Year 1, in any time zone, means never.
  return Math.abs(ms - NEVER_MS) <= 86_400_000 || Math.abs(ms) > 8.64e15 ? undefined : ms
}

export function encodeWireDate(ms: number | undefined, zone = '+0000'): string {
  return ms === undefined ? `/Date(${NEVER_MS})/` : `/Date(${Math.round(ms)}${zone})/`
}

/** HomeSeer's events nest to about ten. */
const MAX_DEPTH = 24

/** Returns the same object if all of it can be serialised, which is nearly always so. */
export function limitJsonDepthAndText(value: Json, left = MAX_DEPTH): Json {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'string') return cut(value, MAX_TEXT)
  if (typeof value !== 'object' || value === null) return value
  if (left === 0) return null
  if (isJsonObject(value)) {
    const members = Object.entries(value)
    const carried = members
      .filter(([name]) => name !== '__proto__')
      .map(([name, member]) => [name, limitJsonDepthAndText(member, left - 1)] as const)
    const isSame = carried.length === members.length && carried.every(([, member], at) => member === members[at]?.[1])
    return isSame ? value : Object.fromEntries(carried)
  }
  const carried = value.map((member) => limitJsonDepthAndText(member, left - 1))
  return carried.every((member, at) => member === value[at]) ? value : carried
}
